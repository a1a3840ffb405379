"""
Kinds of ros2_control's controllers, by their plugin names, each with the reader of its settings.

A new kind is a record in `controller_settings`, a reader here, and its program in `ros.command`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import math
from typing import Any, TYPE_CHECKING

from sim_bridge.description.controller_settings import (
    ControllerSettings,
    EFFORT,
    ForwardSettings,
    GripperSettings,
    JointStateSettings,
    PidGains,
    PidSettings,
    POSITION,
    QUANTITIES,
    SensorBroadcasterSettings,
    TrajectorySettings,
    VELOCITY,
)
from sim_bridge.description.model import ONE_AXIS
from sim_bridge.description.report import Findings, unknown

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.ros2_control import ControllerDescription
    from sim_bridge.description.yaml.section import Section

Reader = Callable[['Section'], ControllerSettings]

# keys of every controller without an effect on its motion
_COMMON = ('type', 'update_rate', 'use_sim_time', 'is_async', 'params_file')
_GAINS = (
    'antiwindup_strategy',
    'antiwindup',
    'tracking_time_constant',
    'error_deadband',
    'save_i_term',
    'activate_state_publisher',
)
# keys with an effect that is not simulated, by their defaults; other values are warnings
_TRAJECTORY_DEFAULTS = {'command_joints': None, 'allow_integration_in_goal_trajectories': False}


def read_settings(
    controller: ControllerDescription,
    section: Section,
    description: RobotDescription,
    findings: Findings,
) -> ControllerSettings | None:
    """
    Return the settings of a controller; None, with an error noted, for defective ones.

    section: the controller's parameters. findings: those of the section.
    """
    for key in _COMMON:
        section.knows(key)
    settings = READERS[controller.type](section)
    for joint in (*settings.joints, *getattr(settings, 'sources', ())):
        _check_joint(joint, section, description)
    if isinstance(settings, SensorBroadcasterSettings):
        sensors = {sensor.name: sensor for sensor in description.sensors}
        if settings.sensor and settings.sensor not in sensors:
            message = unknown('sensor', settings.sensor, sensors)
            section.error('sensor_name', settings.sensor, message)
    section.ignore_unread()
    return None if findings.report('').errors else settings


def _check_joint(joint: str, section: Section, description: RobotDescription) -> None:
    found = description.joints.get(joint)
    if found is None:
        names = [name for name, each in description.joints.items() if each.type in ONE_AXIS]
        section.error('joints', joint, unknown('joint', joint, names))
    elif found.type not in ONE_AXIS:
        section.error('joints', joint, f'is a {found.type.value} joint, without one coordinate')
    elif found.mimic is not None:
        section.error('joints', joint, f'mimics {found.mimic.joint!r}; command that joint')


# --- trajectories --------------------------------------------------------------------------------


def _trajectory(section: Section) -> TrajectorySettings:
    joints = _joints(section, 'joints')
    section.knows('state_interfaces')
    # the motion starts from the desired state in any case, and joints hold a trajectory's end
    for key in (
        'cmd_timeout',
        'open_loop_control',
        'interpolate_from_desired_state',
        'set_last_command_interface_value_as_state_on_activation',
    ):
        section.knows(key)
    for key, default in _TRAJECTORY_DEFAULTS.items():
        _is_default(section, key, default)
    quantities = (POSITION, VELOCITY, EFFORT, 'acceleration')
    interfaces = _interfaces(section, 'command_interfaces', quantities)
    method = section.choice('interpolation_method', ('splines', 'none'), 'splines')
    constraints = section.section('constraints')
    decelerations = {} if constraints is None else _decelerations(constraints, joints)
    goal_time, stopped, tolerances = (
        (0.0, 0.01, {}) if constraints is None else _constraints(constraints, joints)
    )
    return TrajectorySettings(
        joints,
        interfaces,
        tolerances,
        goal_time,
        stopped,
        _gains_by_joint(section, joints, 'ff_velocity_scale'),
        monitor_rate=_at_least(section, 'action_monitor_rate', 20.0, 0.1),
        state_rate=_at_least(section, 'state_publish_rate', 0.0),
        allows_part=section.flag('allow_partial_joints_goal', False),
        allows_moving_end=section.flag('allow_nonzero_velocity_at_trajectory_end', False),
        interpolates=method == 'splines',
        decelerations=decelerations,
        speed=_speed(section, interfaces),
    )


def _speed(section: Section, interfaces: tuple[str, ...]) -> float | None:
    """Return the initial speed factor; None if the speed cannot be scaled."""
    factor, inner = 1.0, section.section('speed_scaling')
    # the simulated hardware moves with the factor of the controller's topic
    section.knows('speed_scaling_interface_name')
    if inner is not None:
        factor = _at_least(inner, 'initial_scaling_factor', 1.0)
        for key in ('state_interface', 'command_interface'):
            inner.knows(key)
        inner.ignore_unread()
    if interfaces == (POSITION,):
        return factor
    if inner is not None and factor != 1.0:
        section.findings.warning(
            'not-simulated',
            inner.place('initial_scaling_factor'),
            'has no effect, as in ros2_control: position must be the only command interface',
            'initial_scaling_factor',
            f'{factor:g}',
        )
    return None


def _decelerations(section: Section, joints: tuple[str, ...]) -> dict[str, float]:
    """Return decelerations for canceled trajectories, by joint; {} for stops at once."""
    if not section.flag('decelerate_on_cancel', False):
        return {}
    found = {}
    for joint in joints:
        inner = section.section(joint)
        found[joint] = (
            0.0 if inner is None else _at_least(inner, 'max_deceleration_on_cancel', 0.0)
        )
    lacking = [joint for joint, most in found.items() if not most > 0.0]
    if lacking:
        section.findings.warning(
            'not-simulated',
            section.place('decelerate_on_cancel'),
            'has no effect, as in ros2_control: max_deceleration_on_cancel is missing for '
            + ', '.join(lacking),
            'decelerate_on_cancel',
            'true',
        )
        return {}
    return found


def _constraints(
    section: Section, joints: tuple[str, ...]
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Return goal time, velocity at the goal, and tolerances by joint."""
    tolerances = {}
    for joint in joints:
        inner = section.section(joint)
        if inner is not None:
            tolerances[joint] = tuple(_at_least(inner, key, 0.0) for key in ('trajectory', 'goal'))
            inner.knows('max_deceleration_on_cancel')
            inner.ignore_unread()
    found = (
        _at_least(section, 'goal_time', 0.0),
        _at_least(section, 'stopped_velocity_tolerance', 0.01),
        tolerances,
    )
    section.ignore_unread()
    return found  # type: ignore[return-value]


# --- forwarding ----------------------------------------------------------------------------------


def _forward(section: Section) -> ForwardSettings:
    joints = _joints(section, 'joints')
    (quantity,) = _interfaces(section, 'interface_name', QUANTITIES)
    return ForwardSettings(tuple((joint, quantity) for joint in joints))


def _multi_interface(section: Section) -> ForwardSettings:
    joint = section.text('joint', '', required=True)
    quantities = _interfaces(section, 'interface_names', QUANTITIES)
    return ForwardSettings(tuple((joint, quantity) for quantity in quantities))


def _group(quantity: str, section: Section) -> ForwardSettings:
    section.knows('interface_name')
    return ForwardSettings(tuple((joint, quantity) for joint in _joints(section, 'joints')))


# --- grippers ------------------------------------------------------------------------------------


def _gripper(quantity: str, section: Section) -> GripperSettings:
    joint = section.text('joint', '', required=True)
    gains = section.section('gains')
    inner = None if gains is None else gains.section(joint)
    return GripperSettings(
        joint,
        quantity,
        PidGains() if inner is None else _gains(inner, '', 0.0),
        max_effort=_at_least(section, 'max_effort', 0.0),
        **_gripper_limits(section),
    )


def _parallel_gripper(section: Section) -> GripperSettings:
    section.knows('state_interfaces')
    for key in ('max_effort_interface', 'max_velocity_interface'):
        _is_default(section, key, '')
    section.knows('max_velocity')
    return GripperSettings(
        section.text('joint', '', required=True),
        max_effort=_at_least(section, 'max_effort', 10.0),
        is_parallel=True,
        **_gripper_limits(section),
    )


def _gripper_limits(section: Section) -> dict[str, Any]:
    return {
        'goal_tolerance': _at_least(section, 'goal_tolerance', 0.01),
        'allows_stalling': section.flag('allow_stalling', False),
        'stall_velocity': section.number('stall_velocity_threshold', 0.001),
        'stall_timeout': section.number('stall_timeout', 1.0),
        'monitor_rate': _at_least(section, 'action_monitor_rate', 20.0, 0.1),
    }


# --- PID -----------------------------------------------------------------------------------------


def _pid(section: Section) -> PidSettings:
    joints = _joints(section, 'dof_names')
    sources = section.texts('reference_and_state_dof_names') or joints
    if len(sources) != len(joints):
        expected = f'must be a list of {len(joints)} texts, one for each of dof_names'
        section.error('reference_and_state_dof_names', list(sources), expected)
    (command,) = _interfaces(section, 'command_interface', QUANTITIES)
    reference = _interfaces(section, 'reference_and_state_interfaces', QUANTITIES)
    if len(reference) > 1 and reference != (POSITION, VELOCITY):
        expected = 'must be one quantity, or position and velocity'
        section.error('reference_and_state_interfaces', list(reference), expected)
    section.knows('set_current_state_as_first_setpoint')
    return PidSettings(
        joints,
        sources,
        command,
        reference[0],
        len(reference) > 1,
        _gains_by_joint(section, joints, 'feedforward_gain'),
        section.flag('use_external_measured_states', False),
        section.flag('enable_feedforward', False),
    )


# --- broadcasters --------------------------------------------------------------------------------


def _joint_states(section: Section) -> JointStateSettings:
    for key in ('use_urdf_to_filter', 'frame_id'):
        section.knows(key)
    _is_default(section, 'extra_joints', None)
    names = section.section('map_interface_to_joint_state')
    if names is not None:
        for quantity in QUANTITIES:
            _is_default(names, quantity, quantity)
    joints, quantities = section.texts('joints') or (), section.texts('interfaces') or ()
    # ros2_control takes either only with the other
    states = tuple((joint, quantities) for joint in joints) if quantities else ()
    return JointStateSettings(
        section.flag('use_local_topics', False),
        states,
        section.flag('publish_dynamic_joint_states', True),
    )


def _imu(section: Section) -> SensorBroadcasterSettings:
    for quantity in ('orientation', 'angular_velocity', 'linear_acceleration'):
        _is_default(section, f'static_covariance_{quantity}', [0.0] * 9)
    return _sensor(section, section.text('sensor_name', ''))


def _wrench(section: Section) -> SensorBroadcasterSettings:
    name = section.text('sensor_name', '')
    interfaces = section.mapping('interface_names')
    given = [
        each
        for part in interfaces.values()
        for each in (part.values() if isinstance(part, Mapping) else ())
        if isinstance(each, str) and '/' in each
    ]
    for key, default in (('offset', 0.0), ('multiplier', 1.0)):
        _check_axes(section.section(key), default)
    return _sensor(section, name or (given[0].partition('/')[0] if given else ''))


def _fix(section: Section) -> SensorBroadcasterSettings:
    # the covariance follows from the declared noise
    section.knows('read_covariance_from_interface')
    _is_default(section, 'static_position_covariance', [0.0] * 9)
    return _sensor(section, section.text('sensor_name', ''))


def _check_axes(section: Section | None, default: float) -> None:
    """Warn about numbers for single axes other than the default."""
    parts = () if section is None else [section.section(part) for part in section.names()]
    for inner in parts:
        if inner is not None:
            for axis in inner.names():
                _is_default(inner, axis, default)


def _sensor(section: Section, name: str) -> SensorBroadcasterSettings:
    if not name:
        section.error('sensor_name', '', 'missing')
    return SensorBroadcasterSettings(name, section.text('frame_id', ''))


# --- parts ---------------------------------------------------------------------------------------


def _joints(section: Section, key: str) -> tuple[str, ...]:
    names = section.texts(key) or ()
    if not names or len(set(names)) != len(names):
        section.error(key, list(names), 'must be a list of joints, each once')
    return names


def _interfaces(section: Section, key: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return quantities: one text, or a list of texts."""
    value = section.peek(key)
    is_one = key.endswith(('interface', 'name'))
    names = (value,) if is_one and isinstance(value, str) else section.texts(key) or ()
    section.knows(key)
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        section.error(key, value, f'must be {"one" if is_one else "some"} of {", ".join(known)}')
        return (known[0],)
    # accelerations follow from the positions or velocities
    rest = tuple(name for name in names if name in QUANTITIES)
    if not rest:
        section.error(key, value, 'needs position, velocity or effort besides')
    return rest or (known[0],)


def _gains_by_joint(
    section: Section, joints: tuple[str, ...], feedforward: str
) -> Mapping[str, PidGains]:
    outer = section.section('gains')
    if outer is None:
        return {}
    found = {}
    for joint in joints:
        inner = outer.section(joint)
        if inner is not None:
            found[joint] = _gains(inner, feedforward)
    outer.ignore_unread()
    return found


def _gains(section: Section, feedforward: str, clamp: float = math.inf) -> PidGains:
    """Return gains; feedforward: its key, '' for none. clamp: default integral limit."""
    given = section.number('i_clamp', clamp)
    # 0 stands for no limit, as in control_toolbox before i_clamp_max
    most = given if given or not math.isinf(clamp) else math.inf
    gains = PidGains(
        section.number('p', 0.0),
        section.number('i', 0.0),
        section.number('d', 0.0),
        section.number('i_clamp_min', -most),
        section.number('i_clamp_max', most),
        section.number('u_clamp_min', -math.inf),
        section.number('u_clamp_max', math.inf),
        section.number(feedforward, None) if feedforward else None,
        section.flag('angle_wraparound', False),
    )
    for key in _GAINS:
        section.knows(key)
    for low, high in (('i_clamp_min', 'i_clamp_max'), ('u_clamp_min', 'u_clamp_max')):
        if section.number(low, -math.inf) > section.number(high, math.inf):
            section.error(low, section.peek(low), f'must be at most {high}')
    section.ignore_unread()
    return gains


def _at_least(section: Section, key: str, default: float, least: float = 0.0) -> float:
    number = section.number(key, default)
    if not number >= least or math.isinf(number):
        section.error(key, number, f'must be a finite number of at least {least:g}')
        return default
    return number


def _is_default(section: Section, key: str, default: Any) -> None:
    """Warn unless a parameter without effect here has its default value."""
    section.knows(key)
    value = section.peek(key)
    if value not in (None, default, '', []):
        section.ignore(key)


IMU = 'imu_sensor_broadcaster/IMUSensorBroadcaster'
FORCE_TORQUE = 'force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster'
READERS: Mapping[str, Reader] = {
    'joint_trajectory_controller/JointTrajectoryController': _trajectory,
    # the same with the speed of Universal Robots' hardware
    'ur_controllers/ScaledJointTrajectoryController': _trajectory,
    'forward_command_controller/ForwardCommandController': _forward,
    'forward_command_controller/MultiInterfaceForwardCommandController': _multi_interface,
    **{
        f'{quantity}_controllers/JointGroup{quantity.title()}Controller': partial(_group, quantity)
        for quantity in QUANTITIES
    },
    'position_controllers/GripperActionController': partial(_gripper, POSITION),
    'effort_controllers/GripperActionController': partial(_gripper, EFFORT),
    'parallel_gripper_action_controller/GripperActionController': _parallel_gripper,
    'pid_controller/PidController': _pid,
    'joint_state_broadcaster/JointStateBroadcaster': _joint_states,
    # its name before ROS 2 Galactic
    'joint_state_controller/JointStateController': _joint_states,
    IMU: _imu,
    FORCE_TORQUE: _wrench,
    'gps_sensor_broadcaster/GPSSensorBroadcaster': _fix,
}
"""Readers of settings by controller type."""
