"""Command topics from Gazebo's plugins, as plain data; messages as in ros_gz_bridge."""

from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class RotorInput:
    """
    Rotor speed in an actuator message.

    topic: without a prefix unless it starts with a slash. joint: velocity command, the rotor speed
    [rad/s] times `factor`. number: index in the message. limit: greatest rotor speed [rad/s].
    """

    topic: str
    joint: str
    number: int
    factor: float = 1.0
    limit: float = math.inf
    line: int = 0


@dataclass(frozen=True)
class ThrusterInput:
    """
    Thrust [N] or propeller speed [rad/s].

    field: its `RobotField`, by name. is_speed: whether commands are speeds. lower, upper: command
    limits. deadband: thrust below which nothing moves [N]. feedback_topic: published speed, or
    thrust if commands are speeds. deadband_topic: switches the deadband.
    """

    topic: str
    joint: str
    field: str
    is_speed: bool = False
    lower: float = -1000.0
    upper: float = 1000.0
    deadband: float = 0.0
    feedback_topic: str = ''
    deadband_topic: str = ''
    line: int = 0


@dataclass(frozen=True)
class CurrentInput:
    """Water velocity [m/s, world axes] around hulls. field: its `RobotField`, by name."""

    topic: str
    field: str
    line: int = 0


@dataclass(frozen=True)
class JointInput:
    """
    Joint positions or velocities, all equal.

    quantity: 'position' or 'velocity'. gains: for a position servo [N m/rad and N m s/rad, or
    N/m and N s/m]; None: the joint keeps its targets exactly, within its limits. initial: target
    before the first message.
    """

    topic: str
    joints: tuple[str, ...]
    quantity: str
    gains: tuple[float, float] | None = None
    initial: float = 0.0
    line: int = 0


@dataclass(frozen=True)
class FlightRotor:
    """Rotor as velocity control sees it: constants as for `Rotor`, direction 1 or -1."""

    joint: str
    thrust_constant: float
    moment_constant: float
    direction: int


@dataclass(frozen=True)
class FlightInput:
    """
    Twist for a multicopter, in the axes of its link.

    enable_topic: switches the control. rotors: in the order of their numbers in `RotorInput`.
    Gains: (3,) [N s/m; N m/rad; N m s/rad]. max_acceleration: (3,) [m/s²]. max_velocity: (3,)
    [m/s]. max_yaw_rate: [rad/s].
    """

    topic: str
    enable_topic: str
    link: str
    rotors: tuple[FlightRotor, ...]
    velocity_gain: tuple[float, ...]
    attitude_gain: tuple[float, ...]
    rate_gain: tuple[float, ...]
    max_acceleration: tuple[float, ...]
    max_velocity: tuple[float, ...]
    max_yaw_rate: float
    line: int = 0


@dataclass(frozen=True)
class LinkWrenchInput:
    """Force and torque on a link until the next message. field: its `RobotField`, by name."""

    topic: str
    field: str
    line: int = 0


@dataclass(frozen=True)
class EntityWrenchInput:
    """
    Wrenches on links or robots by name, at the link's origin, in world axes.

    topic: for one step. persistent_topic: adds lasting ones. clear_topic: ends a link's.
    fields: link and `RobotField`, by name.
    """

    topic: str
    persistent_topic: str
    clear_topic: str
    fields: tuple[tuple[str, str], ...]
    line: int = 0


@dataclass(frozen=True)
class DetachInput:
    """
    Fixed joint between links, also to another robot, closed and opened by messages.

    state_topic: published after each change. child_robot: '' for the same robot.
    """

    topic: str
    attach_topic: str
    state_topic: str
    parent_link: str
    child_robot: str
    child_link: str
    line: int = 0


@dataclass(frozen=True)
class TouchInput:
    """
    Message after an uninterrupted touch.

    topic: published once. enable_topic: starts and stops watching. target: part of the full names
    of touched geometries, robot::link::geometry. seconds: time of the touch. watched: link and
    collision names. is_enabled: whether watching starts at once.
    """

    topic: str
    enable_topic: str
    target: str
    seconds: float
    watched: tuple[tuple[str, str], ...]
    is_enabled: bool = False
    line: int = 0


@dataclass(frozen=True)
class BuoyancyEngineInput:
    """
    Bladder volume [m³].

    field: its `RobotField`, by name. state_topic: published volume. lower, upper: command limits.
    """

    topic: str
    state_topic: str
    field: str
    lower: float
    upper: float
    line: int = 0


@dataclass(frozen=True)
class WindInput:
    """Velocity of the wind [m/s, world axes]. field: its `RobotField`, by name."""

    topic: str
    state_topic: str
    field: str
    line: int = 0


@dataclass(frozen=True)
class WaypointInput:
    """
    Force and torque that lead a link over waypoints on the ground.

    topic: pauses. field: its `RobotField`, by name. waypoints: x and y [m], from `origin`:
    'world', or the link's first 'position', or its first 'pose'. force: along the link's x [N].
    torque: about its z, up to the bearing [N m]. tolerance: distance of a reached waypoint [m].
    bearing_tolerance: [rad]. stops_turning: whether the angular velocity is 0 within half of it.
    """

    topic: str
    link: str
    field: str
    waypoints: tuple[tuple[float, float], ...]
    origin: str = 'world'
    loops: bool = False
    force: float = 60.0
    torque: float = 50.0
    tolerance: float = 0.5
    bearing_tolerance: float = math.radians(2.0)
    stops_turning: bool = False
    line: int = 0


PluginInput = (
    RotorInput
    | ThrusterInput
    | CurrentInput
    | JointInput
    | FlightInput
    | LinkWrenchInput
    | EntityWrenchInput
    | DetachInput
    | TouchInput
    | BuoyancyEngineInput
    | WindInput
    | WaypointInput
)
