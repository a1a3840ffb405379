"""
What a robot description says, as plain immutable data: no XML above this line, no engine below it.

Names and meanings follow the URDF specification; SI units and radians throughout. Poses are those
of the described frame in its parent's: `position` (3,) in m and `rotation` (3, 3), `p_parent =
position + rotation @ p_child`. Every element keeps the `line` of the file it was read from (0
where there is none).
"""

from __future__ import annotations

from collections.abc import Mapping
import copyreg
from dataclasses import dataclass, field
import enum
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.compliance import Compliance
from sim_bridge.description.drives import DriveDescription
from sim_bridge.description.report import Report
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.names import counted
from sim_bridge.shapes.mesh_files import MeshArrays


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


# descriptions hold read-only mappings, which Python itself neither pickles nor copies
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


class JointType(enum.Enum):
    """
    The joint types of the URDF specification, and ODE's that it lacks.

    BALL: turns about its origin. UNIVERSAL: turns about `axis`, fixed on the parent link, then
    about `axis2`, fixed on the child. HINGE2: likewise, and where it has a suspension slides along
    `axis` too: a wheel that is steered. PISTON: slides along `axis`, and turns about it.
    """

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'
    FLOATING = 'floating'
    PLANAR = 'planar'
    BALL = 'ball'
    UNIVERSAL = 'universal'
    PISTON = 'piston'
    HINGE2 = 'hinge2'


# joints of one coordinate, which may have limits, dynamics and a mimic rule
ONE_AXIS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


class ConstraintType(enum.Enum):
    """
    What two links that a loop joint connects can still do to each other; ODE's names of joints.

    BALL: turn about the anchor. HINGE: turn about the axis. SLIDER: slide along it. UNIVERSAL:
    turn about an axis of each link, at right angles. HINGE2: likewise, at any angle, like a
    steered wheel. FIXED: nothing. PISTON: slide along the axis and turn about it (Choreonoid's
    fourth, beside ball, hinge and fixed). PLANAR: slide in the plane that is normal to the axis
    and turn in it. DISTANCE: everything that keeps the anchors as far apart (ODE: DBall).
    HINGE_MOTOR, SLIDER_MOTOR: everything: it is another motor, with limits, friction, a spring and
    a damper, on what a hinge or a slider leaves free. TILT_MOTOR: likewise about an axis across
    that which a joint keeps, on the angle of the normal; of joints with play, not of files.
    """

    BALL = 'ball'
    HINGE = 'hinge'
    SLIDER = 'slider'
    UNIVERSAL = 'universal'
    HINGE2 = 'hinge2'
    FIXED = 'fixed'
    PISTON = 'piston'
    PLANAR = 'planar'
    DISTANCE = 'distance'
    HINGE_MOTOR = 'hinge_motor'
    SLIDER_MOTOR = 'slider_motor'
    TILT_MOTOR = 'tilt_motor'


class SensorKind(enum.Enum):
    """The kinds of sensors that are simulated."""

    FORCE_TORQUE = 'force_torque'
    GYRO = 'gyro'
    ACCELEROMETER = 'accelerometer'
    IMU = 'imu'
    RANGE = 'range'
    LIDAR = 'lidar'
    CONTACT = 'contact'
    MAGNETOMETER = 'magnetometer'
    ALTIMETER = 'altimeter'
    AIR_PRESSURE = 'air_pressure'
    POSE = 'pose'


SCANNING = frozenset({SensorKind.RANGE, SensorKind.LIDAR})
"""Kinds that measure by rays."""
# what a range sensor sends out, as sensor_msgs/Range counts
RADIATIONS = ('ultrasound', 'infrared')

# the frames and the directions that a force-torque sensor's wrench may have
WRENCH_FRAMES = ('sensor', 'child', 'parent')
WRENCH_DIRECTIONS = ('child_to_parent', 'parent_to_child')
# how a body of a scene moves
MOTIONS = ('dynamic', 'static', 'kinematic')


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in its parent frame."""

    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))

    @property
    def is_identity(self) -> bool:
        """Whether both frames coincide exactly."""
        return not self.position.any() and np.array_equal(self.rotation, np.eye(3))

    @property
    def inverse(self) -> Pose:
        """The parent frame in this one."""
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, other: Pose) -> Pose:
        """Return a frame that is given in this one, in the parent of this one."""
        return Pose(self.position + self.rotation @ other.position, self.rotation @ other.rotation)


@dataclass(frozen=True, eq=False)
class Inertial:
    """
    Mass properties of a link.

    mass: kg. pose: the inertial frame in the link frame, its origin at the centre of mass.
    inertia: (3, 3) about the centre of mass, in the axes of the inertial frame [kg m²].
    """

    mass: float
    pose: Pose
    inertia: FloatArray
    line: int = 0


@dataclass(frozen=True, eq=False)
class GeometryDescription:
    """
    One visual or collision element.

    kind: 'box' (size: x y z), 'sphere' (size: radius), 'cylinder' (size: radius, length along z),
    'capsule' (likewise), 'cone' (likewise, its apex at +z) or 'mesh' (size: scale x y z,
    `filename` as written in the file, `path` where it is, '' if it is not found, and then
    `searched`, where it was looked for; `part`: the name of what is taken of it, '' for all).
    surface: of a mesh that is in the description itself; it is scaled already. is_terrain: whether
    it is never replaced by its convex hull. color: red, green, blue, opacity, 0 to 1, None where
    the file gives none. texture: the picture on it as written in the file, `texture_path` where
    it is; '' for none.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose
    name: str = ''
    filename: str = ''
    path: str = ''
    searched: tuple[str, ...] = ()
    part: str = ''
    surface: MeshArrays | None = None
    is_terrain: bool = False
    color: tuple[float, float, float, float] | None = None
    texture: str = ''
    texture_path: str = ''
    line: int = 0


@dataclass(frozen=True)
class ContactDescription:
    """
    Contact parameters of a link from Gazebo's tags; None where not given.

    friction, friction2: mu1, mu2. direction: fdir1, in the axes of the link direction_link, or of
    the collision shapes if that is ''.
    stiffness: kp [N/m]. damping: kd [N s/m]. max_velocity: maxVel [m/s]. layer: minDepth [m].
    self_collide: selfCollide.
    """

    friction: float | None = None
    friction2: float | None = None
    direction: tuple[float, float, float] | None = None
    direction_link: str = ''
    stiffness: float | None = None
    damping: float | None = None
    max_velocity: float | None = None
    layer: float | None = None
    self_collide: bool | None = None


@dataclass(frozen=True, eq=False)
class LinkDescription:
    """
    A link. gravity: whether it acts on the link.

    material: the name of its contact material; '' for none.
    """

    name: str
    inertial: Inertial | None = None
    visuals: tuple[GeometryDescription, ...] = ()
    collisions: tuple[GeometryDescription, ...] = ()
    contact: ContactDescription = ContactDescription()
    gravity: bool = True
    material: str = ''
    line: int = 0


@dataclass(frozen=True)
class JointLimits:
    """
    Limits of a one-axis joint, infinite where there is none.

    Positions in rad or m, effort in N m or N, velocity in rad/s or m/s. lower_effort: the least
    effort, not above 0; None: that opposite to `effort`.
    """

    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf
    lower_effort: float | None = None

    @property
    def efforts(self) -> tuple[float, float]:
        """The least and the greatest effort."""
        return -self.effort if self.lower_effort is None else self.lower_effort, self.effort


@dataclass(frozen=True)
class JointDynamics:
    """
    Passive properties of a one-axis joint.

    damping: N m s/rad or N s/m. friction: Coulomb, N m or N. armature: rotor inertia seen at the
    joint, kg m² or kg.
    stiffness: N m/rad or N/m, about the position `reference`. back_friction: against motion
    backwards; as `friction` if None. bearing: how much both grow per force that the joint bears
    [m or 1]; of joints that close loops.
    """

    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    reference: float = 0.0
    back_friction: float | None = None
    bearing: float = 0.0

    @property
    def frictions(self) -> tuple[float, float]:
        """Coulomb friction against motion forwards and backwards [N m or N]."""
        back = self.back_friction
        return self.friction, self.friction if back is None else back


@dataclass(frozen=True)
class Mimic:
    """`position = multiplier * position of joint + offset`."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def position(self, followed: float) -> float:
        """Return the position at a position of the followed joint."""
        return self.multiplier * followed + self.offset

    def range_of_followed(self, lower: float, upper: float) -> tuple[float, float]:
        """
        Return the positions of the followed joint at which the follower is within lower and upper.

        As (least, greatest); (inf, -inf) where there are none.
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
    A joint.

    origin: the joint frame in the parent link's frame.
    child_pose: the child link's frame, at position 0, in the joint frame; in URDF the same.
    axis: (3,) unit vector in the joint frame; for planar joints the normal of the plane.
    limits, dynamics: of the coordinate along or about `axis`, a piston's along it; those of ball
    joints, damping and armature only, hold in all directions.
    axis2: (3,) the other axis of a universal or hinge2 joint, not along the first; at position 0.
    limits2, dynamics2: about it, and of a piston's turns.
    suspension: of a hinge2 joint's slide along `axis`; None: it does not slide.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose
    axis: FloatArray
    child_pose: Pose = Pose()
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    mimic: Mimic | None = None
    safety: SafetyLimits | None = None
    axis2: FloatArray | None = None
    limits2: JointLimits = JointLimits()
    dynamics2: JointDynamics = JointDynamics()
    suspension: JointDynamics | None = None
    line: int = 0


@dataclass(frozen=True, eq=False)
class ConstraintDescription:
    """
    A joint between two links that the tree does not have: it closes a loop.

    link1, link2: names; link2 is '' for the world. position1, position2: (3,) the anchor in each
    link's frame [m]; position2 None: where position1 is when the robot is put together.
    axis: (3,) unit vector in the frame of link1, where the type has one. axis2: likewise in that
    of link2 (universal, hinge2), else None.
    rotation: (3, 3) the orientation of link2's frame in link1's where the joint's coordinates are
    0: what a fixed joint, a slider and the like keep, and where a hinge begins to count. None: as
    when the robot is put together.
    distance: of the anchors [m], for a distance joint. None: as when the robot is put together.
    limits, dynamics: of the coordinate of link2 against link1: a hinge's angle about the axis,
    what a slider or a piston has slid along it. Of a hinge2, dynamics are those of its suspension
    along the axis, which is rigid without stiffness. Other types have none.
    erp, cfm: ODE's error reduction (0 to 1) and constraint force mixing [m/s per N, or rad/s per
    N m]; None: rigid. compliance: another way to say it, by direction; None where erp and cfm do.
    toughness: force [N] and torque [N m] at which it breaks, and the same of each direction of a
    compliance, six, in which it breaks alone; None: never. loose: numbers of such directions that
    it leaves free though its type does not.
    normal: (3,) unit vector in the frame of link1, at right angles to the axis: x of the joint's
    axes, where the compliance depends on it. A fixed or ball joint has an axis with it, for z.
    None: any.
    """

    name: str
    type: ConstraintType
    link1: str
    link2: str
    position1: FloatArray
    position2: FloatArray | None = None
    axis: FloatArray | None = None
    axis2: FloatArray | None = None
    rotation: FloatArray | None = None
    distance: float | None = None
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    erp: float | None = None
    cfm: float | None = None
    compliance: Compliance | None = None
    toughness: tuple[float, ...] | None = None
    loose: frozenset[int] = frozenset()
    normal: FloatArray | None = None
    line: int = 0


@dataclass(frozen=True, eq=False)
class CrawlerDescription:
    """
    A link whose surface runs around it: a continuous track, or a belt.

    name: of the joint through which its speed [m/s] is commanded: the fixed one that carries the
    link, or a name of its own.
    axis: (3,) unit vector in the link's frame, about which the surface runs: where the outward
    normal of a contact is n, along axis × n (Choreonoid's pseudo continuous track). With y for the
    axis of a vehicle that looks along x, positive speeds drive it forwards.
    """

    name: str
    link: str
    axis: FloatArray
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


@dataclass(frozen=True)
class ScanDescription:
    """
    The rays of a range sensor or a lidar, in its frame: x ahead, z up.

    samples: rays in each row, from min_angle to max_angle about z, from x [rad]. vertical_samples:
    rows, from min_elevation to max_elevation above the x-y plane [rad]. A single one is in the
    middle. minimum, maximum: of a distance [m]. resolution: what measured distances are multiples
    of [m]; 0: of nothing. radiation: of RADIATIONS.
    """

    samples: int = 1
    min_angle: float = 0.0
    max_angle: float = 0.0
    vertical_samples: int = 1
    min_elevation: float = 0.0
    max_elevation: float = 0.0
    minimum: float = 0.0
    maximum: float = math.inf
    resolution: float = 0.0
    radiation: str = 'infrared'

    @property
    def count(self) -> int:
        """Number of rays."""
        return self.samples * self.vertical_samples


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
    'range'; absent: none. scan: of range sensors and lidars, their rays. collisions: of contact
    sensors, the names of those of the link that they watch; () for all. magnetic_field: of
    magnetometers, that of the world [T], world axes; as Gazebo has it by default.
    reference_altitude: of air pressure sensors, that of the world's origin above the sea [m].
    frame_id, topic: ROS overrides, '' for the defaults. truth: also publish the noise-free twin.
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
    scan: ScanDescription = ScanDescription()
    collisions: tuple[str, ...] = ()
    magnetic_field: tuple[float, float, float] = (5.5645e-6, 22.8758e-6, -42.3884e-6)
    reference_altitude: float = 0.0
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
    constraints: joints that close loops of the tree. crawlers: links that are continuous tracks.
    drives: of wheels; the drive of tracks follows from the crawlers. controller_files: paths of
    the files of ros2_control's controllers, by how the description names them.
    is_welded: whether the file fixes the root link to the world. base_pose: of the root link in
    the world, where the file gives one. positions: of one-axis joints at the start, by name [rad
    or m]; those that the file gives. files: that it was read from, by full path. joint_ids: of
    the joints that Choreonoid's files number, by name.
    """

    name: str
    root: str
    links: Mapping[str, LinkDescription]
    joints: Mapping[str, JointDescription]
    sensors: tuple[SensorDescription, ...]
    report: Report
    source: str = '<string>'
    xml: str = ''
    constraints: tuple[ConstraintDescription, ...] = ()
    crawlers: tuple[CrawlerDescription, ...] = ()
    drives: tuple[DriveDescription, ...] = ()
    controller_files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_welded: bool = False
    base_pose: Pose = Pose()
    positions: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    files: tuple[str, ...] = ()
    joint_ids: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is fixed to the world, if nothing else is said."""
        return self.is_welded or self.root == 'world'

    def __repr__(self) -> str:
        """Show the name, the source and the sizes."""
        sizes = ', '.join(
            counted(len(things), thing)
            for things, thing in (
                (self.links, 'link'),
                (self.joints, 'joint'),
                (self.sensors, 'sensor'),
            )
        )
        return f'<RobotDescription {self.name!r} from {self.source!r}: {sizes}>'
