"""
What a robot description says, as plain immutable data: no XML above this line, no engine below it.

Names and meanings follow the URDF specification; SI units and radians throughout. Poses are those
of the described frame in its parent's: `position` (3,) in m and `rotation` (3, 3), `p_parent =
position + rotation @ p_child`. Every element keeps the `line` of the file it was read from (0
where there is none).
"""

from __future__ import annotations

from dataclasses import dataclass, field
import enum
import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sim_bridge.description.report import Report


class JointType(enum.Enum):
    """The joint types of the URDF specification."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'
    FLOATING = 'floating'
    PLANAR = 'planar'


class SensorKind(enum.Enum):
    """The devices the simulator offers."""

    FORCE_TORQUE = 'force_torque'
    GYRO = 'gyro'
    ACCELEROMETER = 'accelerometer'
    IMU = 'imu'


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in its parent frame."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))

    @property
    def is_identity(self) -> bool:
        """Whether both frames coincide exactly."""
        return not self.position.any() and np.array_equal(self.rotation, np.eye(3))


@dataclass(frozen=True, eq=False)
class Inertial:
    """
    Mass properties of a link.

    mass: kg. pose: the inertial frame in the link frame, its origin at the centre of mass.
    inertia: (3, 3) about the centre of mass, in the axes of the inertial frame [kg m²].
    """

    mass: float
    pose: Pose
    inertia: np.ndarray
    line: int = 0


@dataclass(frozen=True, eq=False)
class Geometry:
    """
    One visual or collision element.

    kind: 'box' (size: x y z), 'sphere' (size: radius), 'cylinder' (size: radius, length along z),
    'capsule' (likewise) or 'mesh' (size: scale x y z, `filename` as written in the file, `path`
    where it is, '' if it is not found, and then `searched`, where it was looked for).
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose
    name: str = ''
    filename: str = ''
    path: str = ''
    searched: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class ContactDescription:
    """
    What Gazebo's tags say about contact with a link; None where they are silent.

    friction, friction2: mu1, mu2. direction: fdir1, in the axes of the collision shapes.
    stiffness: kp [N/m]. damping: kd [N s/m]. max_velocity: maxVel [m/s]. layer: minDepth [m].
    self_collide: selfCollide.
    """

    friction: float | None = None
    friction2: float | None = None
    direction: tuple[float, float, float] | None = None
    stiffness: float | None = None
    damping: float | None = None
    max_velocity: float | None = None
    layer: float | None = None
    self_collide: bool | None = None


@dataclass(frozen=True, eq=False)
class LinkDescription:
    """A URDF link."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    contact: ContactDescription = ContactDescription()
    line: int = 0


@dataclass(frozen=True)
class JointLimits:
    """
    Limits of a one-axis joint, infinite where there is none.

    Positions in rad or m, effort in N m or N, velocity in rad/s or m/s.
    """

    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf


@dataclass(frozen=True)
class JointDynamics:
    """
    Passive properties of a one-axis joint.

    damping: N m s/rad or N s/m. friction: Coulomb, N m or N. armature: rotor inertia seen at the
    joint, kg m² or kg.
    stiffness: N m/rad or N/m, about the position `reference`.
    """

    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    reference: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """`position = multiplier * position of joint + offset`."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def range_of_followed(self, lower: float, upper: float) -> tuple[float, float]:
        """
        Give the positions of the followed joint at which the follower is within lower and upper.

        From the least to the greatest; inf, -inf where there are none.
        """
        if self.multiplier == 0.0:
            is_within = lower <= self.offset <= upper
            return (-math.inf, math.inf) if is_within else (math.inf, -math.inf)
        first, last = ((end - self.offset) / self.multiplier for end in (lower, upper))
        return min(first, last), max(first, last)


@dataclass(frozen=True)
class SafetyLimits:
    """
    The URDF's `safety_controller` element.

    Soft position limits and the gains of ros_control's safety law.
    """

    lower: float = 0.0
    upper: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class JointDescription:
    """
    A URDF joint.

    origin: the joint frame, which is the child link's frame at position 0, in the parent link's
    frame.
    axis: (3,) unit vector in the joint frame; for planar joints the normal of the plane.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose
    axis: np.ndarray
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    mimic: Mimic | None = None
    safety: SafetyLimits | None = None
    line: int = 0


@dataclass(frozen=True)
class NoiseDescription:
    """
    SDF's noise model of one channel (sdformat 1.11, noise.sdf), in the unit of the channel.

    kind: 'none', 'gaussian' or 'gaussian_quantized'. stddev is per sample; `density` (unit per
    sqrt(Hz)) is this project's addition and, when positive, replaces stddev by density *
    sqrt(sample rate).
    """

    kind: str = 'none'
    mean: float = 0.0
    stddev: float = 0.0
    bias_mean: float = 0.0
    bias_stddev: float = 0.0
    dynamic_bias_stddev: float = 0.0
    dynamic_bias_correlation_time: float = 0.0
    precision: float = 0.0
    density: float = 0.0


@dataclass(frozen=True, eq=False)
class SensorDescription:
    """
    A device on a robot, wherever it was declared.

    name: unique on the robot. link: the link that carries it; a force-torque sensor's is the child
    link of `joint`.
    pose: the sensor frame in that link's frame.
    update_rate: Hz, 0 for every step.
    frame: force-torque only, the axes of the measured wrench: 'sensor' (the default; about the
    sensor's origin), 'child' or 'parent' (SDF; about the joint's origin). measure_direction:
    'child_to_parent' or 'parent_to_child'.
    noise: by channel: 'force.x' … 'torque.z', 'angular_velocity.x' …, 'linear_acceleration.x' …;
    absent: none. frame_id, topic: ROS overrides, '' for the defaults. truth: also publish the
    noise-free twin.
    """

    name: str
    kind: SensorKind
    link: str
    joint: str = ''
    pose: Pose = Pose()
    update_rate: float = 0.0
    frame: str = 'sensor'
    measure_direction: str = 'child_to_parent'
    noise: Mapping[str, NoiseDescription] = field(default_factory=lambda: MappingProxyType({}))
    enable_orientation: bool = True
    frame_id: str = ''
    topic: str = ''
    truth: bool = False
    line: int = 0


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """
    A checked robot description: a tree, in the order of the file.

    links, joints: by name, in file order; root: the name of the one link that is no joint's child.
    source: the file's path, or '<string>'. xml: the URDF text as the robot_description topic
    publishes it (after xacro). report: what was wrong and could be lived with.
    """

    name: str
    root: str
    links: Mapping[str, LinkDescription]
    joints: Mapping[str, JointDescription]
    sensors: tuple[SensorDescription, ...]
    report: Report
    source: str = '<string>'
    xml: str = ''
