"""
Drives from the parameters of ros2_control's controllers.

    diff_drive_controller:
      type: diff_drive_controller/DiffDriveController    # or differential
      left_wheel_names: [left_wheel_joint]
      right_wheel_names: [right_wheel_joint]
      wheel_separation: 0.4        # m; a missing dimension is taken from the robot
      wheel_radius: 0.1            # m
      linear: {x: {max_velocity: 1.0, max_acceleration: 2.0, max_jerk: 10.0}}

docs/drives.md lists the types and their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import math

from sim_bridge.description.drives import DriveDescription, ODOMETRY_COVARIANCE, SpeedLimits
from sim_bridge.description.mechanism.drives import (
    check_drives,
    differential,
    distance_across,
    distance_along,
    mecanum,
    omni,
    steered,
    wheel_radius,
)
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import DescriptionError, Findings, Report
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.errors import close_match

# controller keys without a meaning here, or simulated only with their default
_WITHOUT_EFFECT = (
    'type',
    'update_rate',
    'use_sim_time',
    'interface_name',
    'state_interface_name',
    'is_async',
    'tf_frame_prefix',
    'tf_frame_prefix_enable',
    'wheels_per_side',
    'allow_multiple_cmd_vel_publishers',
    'traction_joints_state_names',
    'steering_joints_state_names',
    'in_chained_mode',
    'front_left_wheel_state_joint_name',
    'front_right_wheel_state_joint_name',
    'rear_left_wheel_state_joint_name',
    'rear_right_wheel_state_joint_name',
)
# bounds for lengths, times and factors; values beyond are mistakes
_SMALLEST, _LARGEST = 1e-6, 1e6
_AXES = (('linear', 'x'), ('linear', 'y'), ('angular', 'z'))


def drives_from_mapping(
    mapping: Mapping[str, object],
    description: RobotDescription,
    all_joints: Sequence[str] = (),
    place: str = 'drives',
) -> tuple[DriveDescription, ...]:
    """
    Return the drives in a mapping from name to parameters.

    all_joints: joint names for all robots. A drive is skipped if all its joints belong to other
    robots. Raises DescriptionError, with every defect, if a key or a value is wrong. place: origin
    of the mapping, for messages.
    """
    findings = Findings()
    outer = Section({'drives': mapping}, '', findings)
    read = []
    for section in outer.sections('drives'):
        drive = read_drive(section, section.text('type', '', required=True), description, findings)
        if drive is None:
            continue
        own = set(drive.joints) & description.joints.keys()
        if own or not set(drive.joints) <= set(all_joints):
            read.append((drive, section.place()))
    drives = check_drives(read, description, findings)
    report = findings.report(place)
    if not report.ok:
        raise DescriptionError(report)
    return drives


def check_drive_values(mapping: Mapping[str, object], place: str = 'drives') -> None:
    """
    Raise DescriptionError, with every defect, for wrong keys or values, without a robot.

    Joint names, and dimensions that follow from a robot, are not checked. place: origin of the
    mapping, for messages.
    """
    findings = Findings()
    nothing = RobotDescription('', '', {}, {}, (), Report(place, ()))
    for section in Section({'drives': mapping}, '', findings).sections('drives'):
        read_drive(section, section.text('type', '', required=True), nothing, findings)
    report = findings.report(place)
    if not report.ok:
        raise DescriptionError(report)


def read_drive(
    section: Section, kind: str, description: RobotDescription, findings: Findings
) -> DriveDescription | None:
    """
    Return the drive described by a controller's parameters.

    kind: controller type, or its short word. Returns None, with an error noted, for another type
    or a missing dimension.
    """
    if kind not in TYPES:
        if kind:
            close = close_match(kind, TYPES)
            hint = f'; did you mean {close!r}?' if close else ''
            section.error('type', kind, f'must be one of {", ".join(TYPES)}{hint}')
        return None
    for key in _WITHOUT_EFFECT:
        section.knows(key)
    before = len(findings.report('').errors)
    drive = TYPES[kind](section, description)
    drive = _with_settings(drive, section)
    section.ignore_unread()
    return drive if len(findings.report('').errors) == before else None


def _differential(section: Section, description: RobotDescription) -> DriveDescription:
    left, right = _names(section, 'left_wheel_names'), _names(section, 'right_wheel_names')
    separation = _size(section, 'wheel_separation', distance_across(description, left, right))
    radius = _size(section, 'wheel_radius', wheel_radius(description, [*left, *right]))
    wheels = differential(
        left,
        right,
        separation,
        radius * _factor(section, 'left_wheel_radius_multiplier'),
        radius * _factor(section, 'right_wheel_radius_multiplier'),
    )
    return DriveDescription(
        section.name,
        'differential',
        wheels,
        separation_multiplier=_factor(section, 'wheel_separation_multiplier'),
    )


def _mecanum(section: Section, description: RobotDescription) -> DriveDescription:
    ends = ('front_left', 'front_right', 'rear_right', 'rear_left')
    if section.has('wheel_names'):
        joints = _names(section, 'wheel_names', 4)
    else:
        joints = [
            section.text(f'{end}_wheel_command_joint_name', '', required=True) for end in ends
        ]
    inner = section.section('kinematics') or section
    across = distance_across(description, [joints[0], joints[3]], joints[1:3])
    along = distance_along(description, joints[:2], joints[2:])
    own = None if across is None or along is None else 0.5 * (across + along)
    offset = inner.section('base_frame_offset')
    x, y, yaw = (
        (0.0, 0.0, 0.0)
        if offset is None
        else (_number(offset, key, 0.0, -_LARGEST, _LARGEST, '') for key in ('x', 'y', 'theta'))
    )
    total = _size(inner, 'sum_of_robot_center_projection_on_X_Y_axis', own)
    radius = _size(inner, 'wheels_radius', wheel_radius(description, joints))
    # only the sum matters; if the robot's dimensions are known, their ratio is kept
    share = 0.5 if across is None or along is None else along / (along + across)
    wheels = mecanum(joints, 2.0 * total * share, 2.0 * total * (1.0 - share), radius, (x, y, yaw))
    return DriveDescription(section.name, 'mecanum', wheels)


def _omni(section: Section, description: RobotDescription) -> DriveDescription:
    joints = _names(section, 'wheel_names')
    radius = _size(section, 'wheel_radius', wheel_radius(description, joints))
    wheels = omni(
        joints,
        _size(section, 'robot_radius', None),
        _number(section, 'wheel_offset', 0.0, -_LARGEST, _LARGEST, ' [rad]'),
        radius,
    )
    return DriveDescription(section.name, 'omni', wheels)


def _steering(kind: str) -> Callable[[Section, RobotDescription], DriveDescription]:
    """Return the reader for a car, tricycle or bicycle, which accepts the old key names too."""

    def read(section: Section, description: RobotDescription) -> DriveDescription:
        is_in_front = section.flag('front_steering', True)
        old = ('rear_wheels_names', 'front_wheels_names')
        traction_key, steering_key = ('traction_joints_names', 'steering_joints_names')
        if section.has(old[0]) or section.has(old[1]):
            traction_key, steering_key = old if is_in_front else old[::-1]
        # these controllers list right before left
        traction = _names(section, traction_key, *((1,) if kind == 'bicycle' else (2, 1)))[::-1]
        steering = _names(section, steering_key, 2 if kind == 'ackermann' else 1)[::-1]
        front, rear = (steering, traction) if is_in_front else (traction, steering)
        wheelbase = _size(section, 'wheelbase', distance_along(description, front, rear))
        ends = ('front', 'rear') if is_in_front else ('rear', 'front')
        tracks = [
            1.0
            if len(joints) < 2
            else _size(
                section,
                _first(section, keys),
                distance_across(description, joints[:1], joints[1:]),
            )
            for joints, keys in (
                (traction, ('traction_track_width', f'{ends[1]}_wheel_track', 'wheel_track')),
                (steering, ('steering_track_width', f'{ends[0]}_wheel_track')),
            )
        ]
        radius = _size(
            section,
            _first(
                section,
                (
                    'traction_wheels_radius',
                    'traction_wheel_radius',
                    f'{ends[1]}_wheels_radius',
                    f'{ends[1]}_wheel_radius',
                ),
            ),
            wheel_radius(description, traction),
        )
        for key in (f'{ends[0]}_wheels_radius', f'{ends[0]}_wheel_radius', 'steering_track_width'):
            section.knows(key)
        wheels, axles = steered(
            traction,
            steering,
            wheelbase if is_in_front else -wheelbase,
            (tracks[0], tracks[1]),
            radius,
            'fixed',
        )
        return DriveDescription(
            section.name,
            kind,
            wheels,
            axles,
            steering_limit=_number(section, 'steering_limit', math.inf, 1e-6, math.inf, ' [rad]'),
        )

    return read


def _tricycle_controller(section: Section, description: RobotDescription) -> DriveDescription:
    """Return a tricycle whose steered wheel is driven, from tricycle_controller's parameters."""
    traction = section.text('traction_joint_name', '', required=True)
    steering = section.text('steering_joint_name', '', required=True)
    radius = _size(section, 'wheel_radius', wheel_radius(description, [traction]))
    wheelbase = _size(section, 'wheelbase', None)
    wheels, axles = steered([traction], [steering], wheelbase, (1.0, 1.0), radius, 'steered')
    inner, along = section.section('steering'), section.section('traction')
    most = None if inner is None else _given(inner, 'max_position')
    for key in ('odom_only_twist', 'publish_ackermann_command'):
        if section.flag(key, False):
            section.ignore(key)
    limits = SpeedLimits() if along is None else _traction_limits(along, radius)
    for part in filter(None, (inner, along)):
        for key in part.unread():
            if _given(part, key) is not None:
                part.ignore(key)
    return DriveDescription(
        section.name,
        'tricycle',
        wheels,
        axles,
        limits=(limits, SpeedLimits(), SpeedLimits()),
        # this controller alone has milliseconds
        timeout=1e-3 * _number(section, 'cmd_vel_timeout', 500.0, 0.0, _LARGEST, ' ms'),
        steering_limit=math.inf if most is None else abs(most),
        waits_for_steering=True,
    )


def _traction_limits(section: Section, radius: float) -> SpeedLimits:
    """Return limits for the forward velocity from limits for the wheel's; radius: its own [m]."""
    velocity, rising, falling, jerk = (
        math.inf if number is None else abs(number) * radius
        for number in (
            _given(section, f'max_{quantity}')
            for quantity in ('velocity', 'acceleration', 'deceleration', 'jerk')
        )
    )
    return SpeedLimits(-velocity, velocity, rising, falling, rising, falling, jerk, jerk)


def _given(section: Section, key: str) -> float | None:
    """Return a number; None if it is absent or NaN, which controllers write for no limit."""
    number = section.number(key, None)
    return None if number is None or math.isnan(number) else number


# readers by a short word for the drive, then by controller type in ros2_controllers
_READERS: dict[str, Callable[[Section, RobotDescription], DriveDescription]] = {
    'differential': _differential,
    'mecanum': _mecanum,
    'omni': _omni,
    'ackermann': _steering('ackermann'),
    'tricycle': _steering('tricycle'),
    'bicycle': _steering('bicycle'),
}
TYPES = {
    'diff_drive_controller/DiffDriveController': _READERS['differential'],
    'mecanum_drive_controller/MecanumDriveController': _READERS['mecanum'],
    'omni_wheel_drive_controller/OmniWheelDriveController': _READERS['omni'],
    'ackermann_steering_controller/AckermannSteeringController': _READERS['ackermann'],
    'tricycle_steering_controller/TricycleSteeringController': _READERS['tricycle'],
    'bicycle_steering_controller/BicycleSteeringController': _READERS['bicycle'],
    'tricycle_controller/TricycleController': _tricycle_controller,
    **_READERS,
}


def _with_settings(drive: DriveDescription, section: Section) -> DriveDescription:
    """Return a drive with the settings common to all controllers."""
    key = _first(section, ('cmd_vel_timeout', 'reference_timeout'))
    timeout = drive.timeout
    if timeout is None and section.has(key):
        timeout = _number(section, key, 0.0, 0.0, _LARGEST, ' [s]')
    if section.flag('publish_limited_velocity', False):
        section.error('publish_limited_velocity', True, 'is not simulated; set it to false')
    window = _number(section, 'velocity_rolling_window_size', 1.0, 1.0, _LARGEST, ' steps')
    if window % 1.0:
        section.error('velocity_rolling_window_size', window, 'must be a whole number')
    rate = _number(section, 'publish_rate', 0.0, 0.0, _LARGEST, ' Hz')
    inner = section.section('diagonal_covariance')
    pose, twist = (
        _covariance(section, f'{quantity}_covariance_diagonal')
        if inner is None
        else _covariance(inner, quantity)
        for quantity in ('pose', 'twist')
    )
    x, y, yaw = (
        _limits(section, *axis, own) for axis, own in zip(_AXES, drive.limits, strict=True)
    )
    return replace(
        drive,
        limits=(x, y, yaw),
        timeout=timeout,
        open_loop=section.flag('open_loop', False),
        position_feedback=section.flag('position_feedback', True),
        velocity_window=int(window),
        rate=rate,
        pose_covariance=pose,
        twist_covariance=twist,
        provides_tf=section.flag(_first(section, ('enable_odom_tf', 'publish_odom_tf')), False),
        odom_frame=section.text('odom_frame_id', ''),
        base_frame=section.text('base_frame_id', ''),
        is_stamped=section.flag('use_stamped_vel', None),
        line=section.line,
    )


def _limits(section: Section, outer: str, axis: str, own: SpeedLimits) -> SpeedLimits:
    """Return a twist component's limits; the drive's own without a block for it."""
    middle = section.section(outer)
    inner = None if middle is None else middle.section(axis)
    if inner is None:
        return own

    def value(key: str, switch: str) -> float | None:
        number = inner.number(key, None)
        # the controllers write NaN for no limit
        is_given = number is not None and not math.isnan(number)
        return number if is_given and inner.flag(switch, True) else None

    velocity, acceleration, jerk = (
        f'has_{quantity}_limits' for quantity in ('velocity', 'acceleration', 'jerk')
    )
    most = value('max_velocity', velocity)
    least = value('min_velocity', velocity)
    rising = value('max_acceleration', acceleration)
    falling = value('max_deceleration', acceleration)
    if falling is None:
        falling = value('min_acceleration', acceleration)
    limits = {
        'max_velocity': most,
        'min_velocity': -most if least is None and most is not None else least,
        'max_acceleration': rising,
        'max_deceleration': rising if falling is None else abs(falling),
        'max_acceleration_reverse': value('max_acceleration_reverse', acceleration),
        'max_deceleration_reverse': value('max_deceleration_reverse', acceleration),
        'max_jerk': value('max_jerk', jerk),
        'min_jerk': value('min_jerk', jerk),
    }
    for key, other in (
        ('max_acceleration_reverse', 'max_acceleration'),
        ('max_deceleration_reverse', 'max_deceleration'),
        ('min_jerk', 'max_jerk'),
    ):
        given = limits[key]
        limits[key] = limits[other] if given is None else abs(given)
    given_limits = {key: number for key, number in limits.items() if number is not None}
    for key, number in given_limits.items():
        if key != 'min_velocity' and not number >= 0.0 or key == 'min_velocity' and number > 0.0:
            inner.error(
                key,
                number,
                'must be at most 0' if key == 'min_velocity' else ('must be at least 0'),
            )
    return SpeedLimits(**given_limits)


def _covariance(section: Section, key: str) -> tuple[float, ...]:
    diagonal = section.vector(key, 6, ODOMETRY_COVARIANCE)
    if not min(diagonal) >= 0.0:
        section.error(key, diagonal, 'must be at least 0')
    return diagonal


def _names(section: Section, key: str, *counts: int) -> list[str]:
    """Return joint names; counts: allowed name counts, () for any number."""
    names = section.texts(key)
    if not names:
        section.error(key, section.peek(key), 'must be a list of joints')
    elif counts and len(names) not in counts:
        numbers = ' or '.join(map(str, counts))
        section.error(key, list(names), f'must be a list of {numbers} joints')
    elif len(set(names)) == len(names):
        return list(names)
    else:
        section.error(key, list(names), 'must name each joint once')
    return [''] * (counts[0] if counts else 1)


def _size(section: Section, key: str, own: float | None) -> float:
    """Return a dimension [m]: the given one, or the robot's own; NaN marks unknown joints."""
    given = section.number(key, None)
    if given is None and own is not None and math.isnan(own):
        # unknown joints are reported elsewhere, and another robot may have them
        return 1.0
    size = own if given is None else given
    if size is None:
        section.error(key, None, 'missing, and it does not follow from the robot')
    elif not _SMALLEST <= size <= _LARGEST:
        section.error(key, size, f'must be {_SMALLEST:g} to {_LARGEST:g} m')
    else:
        return size
    return 1.0


def _factor(section: Section, key: str) -> float:
    return _number(section, key, 1.0, _SMALLEST, _LARGEST, '')


def _number(
    section: Section, key: str, default: float, least: float, most: float, unit: str
) -> float:
    """Return a number within bounds; the default, with an error noted, for any other."""
    number = section.number(key, default)
    if least <= number <= most:
        return number
    section.error(key, number, f'must be {least:g} to {most:g}{unit}')
    return default


def _first(section: Section, keys: Sequence[str]) -> str:
    """Return the first given key; mark all as known."""
    for key in keys:
        section.knows(key)
    return next((key for key in keys if section.has(key)), keys[0])
