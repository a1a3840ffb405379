"""All parameters of the `sim_bridge` node, defined only here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math
from typing import Any

from sim_bridge.description.gravity import GREATEST_GRAVITY
from sim_bridge.description.mechanism.base import BASES
from sim_bridge.description.scene.changes import changes_from_text
from sim_bridge.description.scene.fields import fields_from_text
from sim_bridge.description.scene.origin import origin_from_mapping
from sim_bridge.description.sensor_kinds import KINDS
from sim_bridge.description.yaml.drives import check_drive_values
from sim_bridge.description.yaml.sensors import sensors_from_mapping
from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import one_of
from sim_bridge.ros.params.control_values import control_of, gain_of
from sim_bridge.ros.params.frame_prefix import AUTO, frame_prefix_in
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.params.parameter_text import flattened
from sim_bridge.ros.params.robot_parameters import DEFAULT_ROBOT
from sim_bridge.ros.params.topic_pattern import topic_pattern
from sim_bridge.ros.params.trajectory_controllers import controller_values

NANOSECONDS = 1_000_000_000

# values of the parameter `self_collision` -> self_collision of World.load_urdf
SELF_COLLISION = {'auto': None, 'enabled': True, 'disabled': False}


# Bounds for times other than 0 [s], and for rates [Hz]: 1 ns to about 31 years, as the node counts
# whole nanoseconds.
_LEAST, _MOST = 1e-9, 1e9


def _time(default: float, description: str) -> Any:
    """Return a parameter for a time; 0 is accepted too."""
    return parameter(default, description, unit='s', low=0.0, least=_LEAST, high=_MOST)


def _rate(default: float, description: str) -> Any:
    """Return a parameter for a rate; 0 is accepted too."""
    return parameter(default, description, unit='Hz', low=0.0, least=_LEAST, high=_MOST)


def _topic_rate(of: str, default: float = 0.0) -> Any:
    """Return a topic's rate parameter."""
    return _rate(default, f'Rate of {of} in simulated time; 0 for every control step')


def _check_quaternion(name: str, value: tuple[float, ...]) -> None:
    norm = math.hypot(*value)
    if abs(norm - 1.0) > 1e-3:
        expected = f'a unit quaternion x y z w; the norm of this one is {norm:.6g}'
        raise InvalidValueError(f'parameter {name!r}', value, expected)


def _check_xacro_arguments(name: str, values: tuple[str, ...]) -> None:
    for argument in values:
        if ':=' not in argument:
            expected = "texts of the form 'name:=value'"
            raise InvalidValueError(f'parameter {name!r}', argument, expected)


def _check_events(name: str, values: tuple[str, ...]) -> None:
    for event in values:
        one_of(f'parameter {name!r}', event, ('begin', 'persist', 'end'))


def _check_force_fields(name: str, text: str) -> None:
    if text:
        fields_from_text(text, f'parameter {name!r}')


def _check_changes(name: str, text: str) -> None:
    if text:
        changes_from_text(text, f'parameter {name!r}')


def _check_world_values(name: str, text: str) -> None:
    if text:
        # imported here to save start-up time
        from sim_bridge.description.scene.scene import check_values

        check_values(text)


def _check_sensors(name: str, block: Mapping[str, Any]) -> None:
    sensors_from_mapping(block)


def _check_origin(name: str, block: Mapping[str, Any]) -> None:
    # a world file needs the package paths, another parameter
    if not block.get('file'):
        origin_from_mapping(block, f'parameter {name!r}')


def _check_controls(name: str, block: Mapping[str, Any]) -> None:
    for member, value in flattened(block, f'{name}.'):
        control_of(member, value)


def _check_gains(name: str, block: Mapping[str, Any]) -> None:
    for member, value in flattened(block, f'{name}.'):
        gain_of(member, value)


def _check_drives(name: str, block: Mapping[str, Any]) -> None:
    check_drive_values(block, f'parameter {name!r}')


def _check_trajectory_controllers(name: str, block: Mapping[str, Any]) -> None:
    controller_values(block)


def _check_patterns(name: str, expressions: tuple[str, ...]) -> None:
    for each in expressions:
        topic_pattern(name, each)


@dataclass(frozen=True)
class SimulatorParameters:
    """Values for all parameters of the `sim_bridge` node, in SI units."""

    # simulated world and robots
    world: str = parameter(
        '',
        'Scene file (YAML) to simulate: ground, objects, materials and robots, each with a '
        'namespace of its own; or gallery/NAME; see docs/scenes.md. Empty for none',
    )
    world_values: str = parameter(
        '',
        'Values that replace those in the scene file `world`, as YAML, by their paths under the '
        'key world: {objects.ball.mass: 0.2, robots.left.position[2]: 0.1}; see docs/scenes.md',
        validate=_check_world_values,
    )
    robot: str = parameter(
        '',
        'Robot to simulate: a shipped one by its name, a URDF, xacro, SDF, MJCF, USD or OpenPLX '
        f'file by its path or as package://. Empty for {DEFAULT_ROBOT!r}; with a `world`, empty '
        "for no robot besides the world's",
    )
    model: str = parameter(
        '',
        'Model in the file `robot`: in OpenPLX empty for the last one, in SDF, MJCF and USD for '
        'the only one',
    )
    openplx_model: str = parameter('', 'Former name of `model`')
    robot_description: str = parameter(
        '', 'URDF text to simulate instead of `robot`, as for robot_state_publisher'
    )
    robot_name: str = parameter('', "Name of the robot; empty for the description's own")
    package_paths: tuple[str, ...] = parameter(
        (), 'Folders searched for package:// before the ament index'
    )
    strict: bool = parameter(
        False,
        'Refuse a robot with a defect in a sensor, drive, controller or collision, instead of '
        'leaving out this part with a warning',
    )
    xacro_args: tuple[str, ...] = parameter(
        (), "Arguments of a xacro file, each 'name:=value'", validate=_check_xacro_arguments
    )
    base: str = parameter(
        'auto',
        "Root link: 'fixed', 'free', 'file': fixed if the URDF roots it in a link named world, or "
        "'auto': also if it carries an arm or a gripper, but nothing that stands or rolls",
        choices=BASES,
    )
    position: tuple[float, ...] = parameter(
        (),
        'Start position of the root link, in world axes. Empty for the origin, where a robot with '
        'a free base is raised or lowered so that it just touches the ground',
        unit='m',
        sizes=(0, 3),
    )
    orientation: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 1.0),
        'Start orientation of the root link, quaternion x y z w',
        sizes=(4,),
        validate=_check_quaternion,
    )
    joints: tuple[str, ...] = parameter(
        (),
        "Joints of effort_controller/commands and initial_positions, in order; [''] for all "
        'except mimic joints, in URDF order',
    )
    initial_positions: tuple[float, ...] = parameter(
        (),
        'Start position of each of `joints`; empty for the initial_value in ros2_control, else 0 '
        'or the limit nearest to 0',
        unit='rad or m',
    )
    extra_joints: str = parameter(
        '',
        'YAML file with loop-closing joints, in addition to the joints of the description; see '
        'docs/closed_loops.md. Empty for none',
    )
    sensors: dict[str, Any] = parameter(
        {},
        f'Further sensors by name, each {{type: {" | ".join(KINDS)}, link or joint, position, '
        'update_rate, noise, ...}; see sim_bridge/description/sensor_kinds.py',
        validate=_check_sensors,
    )

    # collisions and contacts
    ground: bool = parameter(
        True,
        'Add ground at height 0 under a robot with a free base; a `world` defines its own ground',
    )
    friction: float = parameter(
        1.0,
        "Friction coefficient of the material 'default', used for geometries without a material",
        low=0.0,
    )
    restitution: float = parameter(
        0.0, "Restitution coefficient of the material 'default'", low=0.0, high=1.0
    )
    collisions: str = parameter(
        'hull',
        "Shape of collision meshes: 'hull', the convex hull; 'hulls', several convex hulls, from "
        "a decomposition that takes seconds to minutes the first time; 'mesh', the triangles; "
        "'none': the robot collides with nothing",
        choices=('hull', 'hulls', 'mesh', 'none'),
    )
    missing_meshes: str = parameter(
        'auto',
        "Missing collision mesh: 'error', or 'warning' and the mesh is ignored; 'auto': ignored "
        'if another mesh of the robot is found, else the package path is wrong: an error',
        choices=('auto', 'error', 'warning'),
    )
    self_collision: str = parameter(
        'auto',
        'Collisions between links of the robot, except links connected by a joint or overlapping '
        "at the start; 'auto': according to the description's selfCollide, if present",
        choices=tuple(SELF_COLLISION),
    )
    solver: str = parameter(
        'direct',
        "Contact solver: 'direct', exact; 'iterative', by sweeps, for piles of hundreds of "
        "objects; 'split', normal forces exact and friction by sweeps; unless a `world` sets its "
        'own',
        choices=('direct', 'iterative', 'split'),
        read_only=False,
    )
    sleep: bool = parameter(
        False,
        'Let objects at rest sleep until something wakes them, unless a `world` sets its own',
        read_only=False,
    )

    # physics
    rate: float = parameter(
        1000.0,
        'Control steps per simulated second: commands in, states out',
        unit='Hz',
        low=1.0,
        high=20000.0,
    )
    substeps: int = parameter(1, 'Physics steps in a control step', low=1, high=1000)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        'Gravity, in world axes, unless a `world` sets its own; setting it at run time replaces '
        'either',
        unit='m/s^2',
        low=-GREATEST_GRAVITY,
        high=GREATEST_GRAVITY,
        sizes=(3,),
        read_only=False,
    )
    origin: dict[str, Any] = parameter(
        {},
        "Place of the world's origin on the Earth (WGS 84), for sensors of position and magnetic "
        'field: {latitude, longitude, elevation, heading, year}, in degrees, metres and years, or '
        '{file}, a Gazebo world with spherical_coordinates; it replaces that of a `world`. Empty: '
        'that of `world`, else not known; see docs/places.md',
        validate=_check_origin,
    )
    force_fields: str = parameter(
        '',
        'Force fields by name, as YAML: {wind: {type: drag, linear: 0.5, wind: [3, 0, 0]}}; see '
        'docs/force_fields.md. They replace all present fields; {} removes all fields. Empty: '
        'fields of `world`',
        read_only=False,
        validate=_check_force_fields,
    )
    changes: str = parameter(
        '',
        'Changes to entities by name, as YAML, made by ~/apply_changes: {crate: {mass: 3, '
        'disabled: true}}; see docs/services.md',
        read_only=False,
        validate=_check_changes,
    )
    integrator: str = parameter(
        'midpoint',
        "Integrator: 'midpoint', second order with one evaluation of the dynamics; 'momentum', "
        "the same with the momentum of free robots conserved to rounding; 'rk5', fifth order with "
        'six evaluations in steps without friction, stops, holds and contacts; unless a `world` '
        'sets its own',
        choices=('midpoint', 'momentum', 'rk5'),
        read_only=False,
    )
    seed: int = parameter(0, 'Seed of all sensor noise', low=0)

    # time
    real_time_factor: float = parameter(
        1.0,
        'Simulated seconds per second; 0 for as fast as possible',
        low=0.0,
        least=1e-6,
        high=1000.0,
        read_only=False,
    )
    paused: bool = parameter(False, 'Start paused; ~/pause changes it')
    step_count: int = parameter(
        1, 'Control steps taken by one ~/step while paused', low=1, high=1_000_000, read_only=False
    )
    reset_clock: bool = parameter(
        False,
        'Whether resets set /clock back to 0, and restored snapshots set it to their time; tf2 '
        'and most controllers fail then. If false, /clock goes on, and all else is reset',
        read_only=False,
    )
    snapshot: str = parameter(
        'default',
        'Name of the snapshot for ~/save_snapshot and ~/restore_snapshot',
        read_only=False,
    )
    realtime_priority: int = parameter(
        50,
        'SCHED_FIFO priority of the physics thread, if the system permits it and '
        'real_time_factor leaves the thread time to sleep; 0 for ordinary scheduling',
        low=0,
        high=99,
    )

    # commands
    control: dict[str, Any] = parameter(
        {},
        "Control mode of joint axes, by name: 'effort' (the default), 'velocity', 'position', or "
        "'servo', which needs gains; for example control.elbow: servo. In a `world` the "
        'namespace of the robot comes first: control.left.elbow',
        read_only=False,
        validate=_check_controls,
    )
    gains: dict[str, Any] = parameter(
        {},
        "Gains of 'servo', by joint name; for example gains.elbow: {p: 100.0, d: 10.0} [N m/rad "
        'or N/m; N m s/rad or N s/m]',
        read_only=False,
        validate=_check_gains,
    )
    lockstep: tuple[str, ...] = parameter(
        (),
        "Command sources awaited by each control step: 'joint_commands', or "
        "'joint_commands:name' for messages with that header.frame_id. Their messages must carry "
        "the stamp of the joint_states that they answer; see docs/lockstep.md. [''] for none",
    )
    lockstep_timeout: float = _time(
        0.0,
        'Wall time after which a control step is taken without the missing answers; /diagnostics '
        'counts these steps; 0 for never',
    )
    hold_until_first_command: bool = parameter(
        True, 'Lock all joints until the first command, at start and after ~/reset'
    )
    command_timeout: float = _time(
        0.5,
        'Simulated time without a command after which command_timeout_policy applies. It also '
        'applies when the last publisher of joint commands has left; 0 for never',
    )
    command_timeout_policy: str = parameter(
        'hold',
        "Behaviour of a robot without commands: 'hold', all joints lock at their positions; "
        "'zero', efforts are 0, and motors hold their joints' positions; 'last', the last command "
        'stays in effect',
        choices=('zero', 'hold', 'last'),
    )

    drives: dict[str, Any] = parameter(
        {},
        "Wheel drives by name, with the parameters of ros2_control's drive controllers: "
        '{base_controller: {type: diff_drive_controller/DiffDriveController, left_wheel_names: '
        '[...], right_wheel_names: [...], ...}}; see docs/drives.md. In addition to the drives of '
        'the description',
        validate=_check_drives,
    )
    cmd_vel_stamped: bool = parameter(
        False,
        'Whether drives take geometry_msgs/TwistStamped on cmd_vel rather than Twist, unless a '
        'drive sets its own use_stamped_vel',
    )
    track_separation_multiplier: float = parameter(
        1.0,
        'Factor on the speed difference between the tracks in a curve, relative to wheels in '
        'their places, for commands on cmd_vel, since long tracks scrub sideways in a curve',
        low=0.0,
        above=True,
    )
    command_rate: float = _rate(
        0.0,
        'Rate at which commands are expected, in simulated time. /diagnostics counts periods '
        'without a command as missed, and commands with a stamp older than a period as late. 0: '
        'none are missed, and commands older than command_timeout are late',
    )
    trajectory_controllers: dict[str, Any] = parameter(
        {},
        "Trajectory controllers by name, with parameters of ros2_control's "
        'joint_trajectory_controller: {arm_controller: {joints: [...], constraints: {...}, ...}}; '
        'see docs/trajectories.md. If none: one joint_trajectory_controller for all `joints`',
        validate=_check_trajectory_controllers,
    )
    start_controllers: bool = parameter(
        True,
        "Whether the controllers of a robot's controller file are active from the start. False: "
        'none is loaded until a spawner of controller_manager asks for it; see '
        'docs/controllers.md',
    )

    # topics
    joint_state_rate: float = _topic_rate('joint_states, and of multi_dof_joint_states,')
    clock_rate: float = _topic_rate('/clock', 200.0)
    contact_rate: float = _topic_rate('contacts')
    contact_events: tuple[str, ...] = parameter(
        ('begin', 'end'),
        "Events on contacts/events in each step: 'begin', a pair of geometries begins to touch; "
        "'persist', it still touches; 'end', it no longer touches",
        validate=_check_events,
    )
    object_state_rate: float = _topic_rate('object_states', 100.0)
    odom_rate: float = _topic_rate('odom, of robots with a free base,')
    odom_frame: str = parameter(
        'odom', 'Parent frame of the base of a robot on odom and /tf; it coincides with world'
    )
    odom_pose_covariance_diagonal: tuple[float, ...] = parameter(
        (0.0,) * 6,
        'Variances of the pose on odom: x, y, z [m^2], and rotations about these axes [rad^2]; 0 '
        'for exact values, or the variances that a localizer should assume. No noise is added',
        low=0.0,
        sizes=(6,),
    )
    odom_twist_covariance_diagonal: tuple[float, ...] = parameter(
        (0.0,) * 6,
        'Variances of the twist on odom, likewise [m^2/s^2, rad^2/s^2]',
        low=0.0,
        sizes=(6,),
    )
    frame_prefix: str = parameter(
        AUTO,
        'Prefix of all frames of robots, as in robot_state_publisher; for robots of a `world`, '
        "their namespace and a slash follow. 'auto': the node's namespace and a slash, since all "
        "simulators share /tf; '' for none",
    )
    publish_tf: bool = parameter(
        False,
        'Publish odom -> base of free robots, and world -> objects and fixed robots, on /tf and '
        '/tf_static; needs tf2_msgs, generated by `sim_bridge interfaces` beside the wheels. If '
        'false, /tf has odom -> base of robots whose file asks for it',
    )
    publish_link_tf: bool = parameter(
        False,
        'With publish_tf, also publish all links of robots; then do not run a '
        'robot_state_publisher',
    )
    publish_world_tf: bool = parameter(
        True,
        'With publish_tf, publish world -> odom on /tf_static; switch off if another node, such '
        'as a localizer, publishes the parent of odom',
    )
    tf_rate: float = _topic_rate('/tf', 100.0)
    marker_rate: float = _rate(
        30.0, 'Rate of the RViz markers of contacts and objects, in simulated time; 0 for none'
    )
    marker_force_scale: float = parameter(
        0.005, 'Length of the contact force arrows', unit='m/N', low=0.0
    )
    publish_truth: bool = parameter(
        False, 'Publish every sensor also without noise, on <topic>/truth'
    )
    imu_data_topics: bool = parameter(
        False,
        'Publish IMUs also under the names of REP 145: <sensor>/data_raw, and <sensor>/data if '
        'they measure orientation',
    )
    sensor_qos: str = parameter(
        'reliable',
        "QoS of sensor topics: 'reliable', or 'sensor_data', best effort; reliable subscribers, "
        'such as `ros2 bag record` beside other publishers, then receive nothing',
        choices=('reliable', 'sensor_data'),
    )
    cameras_wait: str = parameter(
        'auto',
        "Whether a step waits until its pictures are sent: 'always', 'never', or 'auto', in "
        'lockstep, as fast as possible and while recording; otherwise old pictures are dropped',
        choices=('auto', 'always', 'never'),
    )
    publish_robot_description: bool = parameter(
        True,
        'Publish the URDF on robot_description; switch off if robot_state_publisher publishes it',
    )
    diagnostics_rate: float = parameter(
        1.0,
        'Rate of /diagnostics in real time; 0 for none',
        unit='Hz',
        low=0.0,
        least=_LEAST,
        high=100.0,
    )
    view: bool = parameter(
        False,
        'Open the live page and print its address, valid only on this machine and with its token. '
        'See docs/view_node.md',
    )
    view_port: int = parameter(
        0, 'Port of the live page on this machine; 0 for any free port', low=0, high=65535
    )

    # recording
    record: str = parameter(
        '',
        'Folder of a bag (rosbag2, MCAP) for recording all topics and commands; if it exists, '
        'NAME_2 and so on beside it. Empty for none; see docs/recording.md',
    )
    record_topics: tuple[str, ...] = parameter(
        (),
        "Regular expressions; a topic is recorded if one of them is found in its full name; [''] "
        'for all',
        validate=_check_patterns,
    )
    record_exclude: tuple[str, ...] = parameter(
        (),
        'Regular expressions; a topic is not recorded if one of them is found in its full name, '
        "also if record_topics selects it; [''] for none",
        validate=_check_patterns,
    )
    record_epoch: str = parameter(
        'simulated',
        "Origin of message times in the bag: 'simulated', the start of the simulation; 'wall', "
        '1970 as in rosbag2, for merging with other bags. Stamps in messages stay simulated',
        choices=('simulated', 'wall'),
    )
    record_compression: str = parameter(
        'none',
        "Compression of the bag's chunks: 'none' or 'zstd'; see docs/recording.md",
        choices=('none', 'zstd'),
    )
    record_split_size: int = parameter(
        0,
        'Size at which a file of the bag ends and the next one begins; 0 for no limit',
        unit='bytes',
        low=0,
    )
    record_split_duration: float = _time(
        0.0, 'Time in the bag after which a file ends and the next one begins; 0 for no limit'
    )
    record_hash_period: float = parameter(
        1.0,
        'Simulated time between two state hashes in the bag, compared by `sim_bridge replay`; '
        'each takes about 0.2 ms',
        unit='s',
        low=0.001,
        high=_MOST,
    )
    record_images: bool = parameter(
        False,
        "Hashes of all cameras' pictures in the bag, compared by `sim_bridge replay --images`; "
        'each picture is rendered, and its step waits for it',
    )

    def __post_init__(self) -> None:
        """Check constraints between several values."""
        if self.world_values and not self.world:
            raise InvalidValueError(
                "parameter 'world_values'", self.world_values, 'none without a `world`'
            )

    def in_namespace(self, namespace: str) -> SimulatorParameters:
        """Return the parameters for a node in a namespace, with its frame prefix."""
        return replace(self, frame_prefix=frame_prefix_in(self.frame_prefix, namespace))

    @property
    def time_step_ns(self) -> int:
        """Physics step [ns]."""
        return round(NANOSECONDS / (self.rate * self.substeps))

    @property
    def tick_ns(self) -> int:
        """Control step [ns of simulated time]."""
        return self.time_step_ns * self.substeps

    @property
    def own_robot(self) -> str:
        """Description, name or file of the robot besides those in `world`; '' for none."""
        return self.robot_description or self.robot or ('' if self.world else DEFAULT_ROBOT)

    @property
    def chosen_model(self) -> str:
        """Model in the file `robot`; '' for the file's own choice."""
        if self.openplx_model:
            warn_renamed("parameter 'openplx_model'", "'model'")
        return self.model or self.openplx_model

    @property
    def mesh_severity(self) -> str:
        """`missing_meshes` for `World.load_urdf`; strict nodes leave out nothing."""
        is_strict = self.strict and self.missing_meshes == 'auto'
        return 'error' if is_strict else self.missing_meshes
