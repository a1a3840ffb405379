"""
Robot description as plain immutable data, independent of the file format and the engine.

Names and meanings follow the URDF specification. Units are SI units and radians. A pose places the
described frame in its parent frame: `position` (3,) in m and `rotation` (3, 3), with
`p_parent = position + rotation @ p_child`. Every element keeps the `line` of its file (0 if it
was not read from a file).
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

from sim_bridge.description.actuators import ActuatorDescription, CouplingDescription
from sim_bridge.description.batteries import BatteryDescription
from sim_bridge.description.compliance import Compliance
from sim_bridge.description.drives import DriveDescription
from sim_bridge.description.force_fields import RobotField
from sim_bridge.description.formats import URDF
from sim_bridge.description.keyframes import KeyframeDescription
from sim_bridge.description.plugin_inputs import PluginInput
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.report import Report
from sim_bridge.description.ros2_control import ControllerManagerDescription
from sim_bridge.description.sensor_kinds import SensorKind, WrenchSettings
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.foundation.names import counted
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.mesh_files import MeshArrays


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


# descriptions hold read-only mappings; Python cannot pickle or copy them by itself
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


class JointType(enum.Enum):
    """
    Joint types in the URDF specification, and ODE joint types missing there.

    BALL: turns about its origin. UNIVERSAL: turns about `axis`, fixed on the parent link, then
    about `axis2`, fixed on the child. HINGE2: a steered wheel; turns like UNIVERSAL and, with a
    suspension, also slides along `axis`. PISTON: slides along `axis` and turns about it.
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


# joints with one coordinate; they may have limits, dynamics and a mimic rule
ONE_AXIS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


class ConstraintType(enum.Enum):
    """
    Loop joint types, by their free motions; the names are ODE's.

    BALL: turns about the anchor. HINGE: turns about the axis. SLIDER: slides along the axis.
    UNIVERSAL: turns about one axis on each link, at right angles. HINGE2: turns likewise, at any
    angle between the axes, like a steered wheel. FIXED: no motion. PISTON: slides along the axis
    and turns about it (Choreonoid's fourth type, beside ball, hinge and fixed). PLANAR: slides in
    the plane normal to the axis and turns in it. DISTANCE: any motion at a constant distance of
    the anchors (ODE: DBall). HINGE_MOTOR, SLIDER_MOTOR: any motion; a further motor, with limits,
    friction, a spring and a damper, on a hinge's or slider's free motion. TILT_MOTOR:
    likewise about an axis across a joint's kept axis, acting on the normal's angle;
    used for joints with play, not found in files.
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


# a body's motion types in a scene
MOTIONS = ('dynamic', 'static', 'kinematic')


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a frame in its parent frame."""

    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))

    @property
    def is_identity(self) -> bool:
        """Whether both frames coincide exactly."""
        return not self.position.any() and np.array_equal(self.rotation, np.eye(3))

    @property
    def inverse(self) -> Pose:
        """Pose of the parent frame in this frame."""
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, other: Pose) -> Pose:
        """Return a pose given in this frame (`other`) as a pose in this frame's parent."""
        return Pose(self.position + self.rotation @ other.position, self.rotation @ other.rotation)


@dataclass(frozen=True, eq=False)
class Inertial:
    """
    Mass properties of a link.

    mass: kg. pose: inertial frame in the link frame; its origin is the centre of mass. inertia:
    (3, 3) about the centre of mass, in the axes of the inertial frame [kg m²].
    """

    mass: float
    pose: Pose
    inertia: FloatArray
    line: int = 0


@dataclass(frozen=True)
class ContactDescription:
    """
    Contact parameters from Gazebo's tags, for a link or for one collision; None where not given.

    friction, friction2: mu1, mu2. direction: fdir1, in the axes of the link named direction_link;
    if direction_link is '', in the axes of each collision shape. stiffness: kp [N/m]. damping: kd
    [N s/m]. max_velocity: maxVel [m/s]. layer: minDepth [m]. self_collide: selfCollide.
    rolling_slip: see `Placed`. restitution: separation velocity relative to approach velocity.
    slip: creep velocity per friction force [m/(N s)]. spinning_friction: torque per normal force
    [m]. is_sensor, enabled: see `Placed`; collisions only.
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
    rolling_slip: tuple[float, float] = (0.0, 0.0)
    restitution: float | None = None
    slip: float | None = None
    spinning_friction: float | None = None
    is_sensor: bool = False
    enabled: bool = True


@dataclass(frozen=True, eq=False)
class GeometryDescription:
    """
    One visual or collision element.

    kind: 'box' (size: x y z), 'sphere' (size: radius), 'cylinder' (size: radius, length along z),
    'capsule' (size: radius, length along z), 'ellipsoid' (size: radii x y z), 'cone' (size:
    radius, length along z; apex at +z), 'plane' (no size; normal z; fixed links only), 'heightmap'
    (a picture; size: lengths along x and y, height for white; fixed links only) or 'mesh' (size:
    scale x y z). filename: mesh file or picture as written in the description. path: located mesh
    file, '' if not found. searched: searched paths, if the mesh file was not found. lacks_package:
    whether the missing mesh file's package is missing too. part: name of the used part of the mesh
    file, '' for the whole file. surface: triangles of a mesh contained in the description itself,
    scaled already. is_terrain: whether the mesh keeps its triangles and is never replaced by its
    convex hull. color: red, green, blue, opacity, 0 to 1, None if the file gives none. texture:
    image file as written in the description, '' for none. texture_path: located image file, '' for
    none. material: contact material for a collision element; None: the link's. groups: collision
    groups for a collision element. contact: parameters for a collision element; None: the link's.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose
    name: str = ''
    filename: str = ''
    path: str = ''
    searched: tuple[str, ...] = ()
    lacks_package: bool = False
    part: str = ''
    surface: MeshArrays | None = None
    is_terrain: bool = False
    color: tuple[float, float, float, float] | None = None
    texture: str = ''
    texture_path: str = ''
    material: Material | None = None
    groups: frozenset[str] = frozenset()
    contact: ContactDescription | None = None
    line: int = 0


@dataclass(frozen=True, eq=False)
class LinkDescription:
    """
    Robot link.

    gravity: whether gravity acts on the link. enable_wind: whether winds push it. material: name
    of its contact material, '' for none. label: semantic label of its visuals, 0 for background.
    """

    name: str
    inertial: Inertial | None = None
    visuals: tuple[GeometryDescription, ...] = ()
    collisions: tuple[GeometryDescription, ...] = ()
    contact: ContactDescription = ContactDescription()
    gravity: bool = True
    enable_wind: bool = False
    material: str = ''
    label: int = 0
    line: int = 0


@dataclass(frozen=True)
class JointLimits:
    """
    Limits for a one-axis joint; infinite for no limit.

    Positions in rad or m, effort in N m or N, velocity in rad/s or m/s. lower_effort: least
    effort, at most 0; None: -effort.
    """

    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf
    lower_effort: float | None = None

    @property
    def efforts(self) -> tuple[float, float]:
        """Least and greatest effort."""
        return -self.effort if self.lower_effort is None else self.lower_effort, self.effort


@dataclass(frozen=True)
class JointDynamics:
    """
    Passive properties of a one-axis joint.

    damping: N m s/rad or N s/m. friction: Coulomb friction, N m or N. armature: rotor inertia seen
    at the joint, kg m² or kg. stiffness: N m/rad or N/m, about the position `reference`.
    back_friction: Coulomb friction against backward motion; None: equal to `friction`. bearing:
    growth of both frictions per force that the joint transmits [m or 1]; loop joints only.
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
    """Mimic rule `position = multiplier * position of joint + offset`."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def position(self, followed: float) -> float:
        """Return the follower's position at a position of the followed joint."""
        return self.multiplier * followed + self.offset

    def range_of_followed(self, lower: float, upper: float) -> tuple[float, float]:
        """
        Return the followed joint's range (least, greatest) keeping the follower within limits.

        lower, upper: the follower's limits. The range is (inf, -inf) if it is empty.
        """
        if self.multiplier == 0.0:
            is_within = lower <= self.offset <= upper
            return (-math.inf, math.inf) if is_within else (math.inf, -math.inf)
        first, last = ((end - self.offset) / self.multiplier for end in (lower, upper))
        return min(first, last), max(first, last)


@dataclass(frozen=True)
class SafetyLimits:
    """
    URDF's `safety_controller` element.

    Soft position limits and the gains of ros_control's safety law.
    """

    lower: float = 0.0
    upper: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class JointDescription:
    """
    Tree joint.

    origin: joint frame pose in the parent link's frame. child_pose: child link frame pose in the
    joint frame at position 0; the identity in URDF. axis: (3,) unit vector in the joint frame; for
    planar joints the plane's normal. limits, dynamics: for the coordinate along or about `axis`;
    for a piston, along it. A ball joint's dynamics hold damping and armature only, equal in all
    directions. axis2: (3,) second axis of a universal or hinge2 joint at position 0, not parallel
    to `axis`. limits2, dynamics2: for the rotation about `axis2`, or for a piston's rotation.
    suspension: dynamics for a hinge2 joint's slide along `axis`; None: no slide.
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
    Loop joint: a joint between two links outside the tree.

    link1, link2: link names; link2 is '' for the world. position1, position2: (3,) anchor in each
    link's frame [m]; position2 None: at position1 in the robot's initial pose. axis: (3,) unit
    vector in link1's frame, None for types without axis. axis2: (3,) unit vector in link2's frame
    (universal, hinge2), else None. rotation: (3, 3) orientation of link2's frame in link1's frame
    at zero joint coordinates. A fixed joint, a slider and similar types keep it; a hinge counts
    its angle from it. None: the orientation in the robot's initial pose. distance: distance that a
    distance joint keeps between its anchors [m]. None: their distance in the initial pose. limits,
    dynamics: for the motion of link2 relative to link1: the angle of a hinge, the travel of a
    slider or piston. In a hinge2 joint the dynamics belong to the suspension along the axis, which
    is rigid without stiffness. Other types have no limits and dynamics. erp, cfm: ODE's error
    reduction (0 to 1) and constraint force mixing [m/s per N, or rad/s per N m]; None: rigid.
    compliance: springs and dampers by direction, an alternative to erp and cfm; None if erp and
    cfm are used. toughness: the joint's breaking force [N] and breaking torque [N m]; with a
    compliance optionally followed by six breaking forces and torques for single directions, each
    of which breaks alone. None: unbreakable. loose: indices of directions left free although the
    type constrains them. normal: (3,) unit vector in link1's frame, at right angles to the axis: x
    direction of the compliance, whose z is `axis`. A fixed or ball joint with a normal also has an
    axis. None: any direction.
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
    Link with a moving surface: a continuous track or a belt.

    name: joint that takes its speed commands [m/s]: the fixed joint carrying the link, or a
    separate name.
    axis: (3,) unit vector in the link's frame. The surface runs about it: at a contact with
    outward normal n the surface moves along axis × n (Choreonoid's pseudo continuous track). With
    the axis along y on a vehicle facing x, positive speeds drive the vehicle forwards.
    """

    name: str
    link: str
    axis: FloatArray
    line: int = 0


@dataclass(frozen=True)
class NoiseDescription:
    """
    SDF's noise model for one channel (sdformat 1.11, noise.sdf), in the channel's unit.

    kind: 'none', 'gaussian' or 'gaussian_quantized'. stddev is per sample. `density` (unit per
    sqrt(Hz)) is this project's addition; if positive, it replaces stddev by density *
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
    Sensor of a robot, whatever kind of file declares it.

    name: unique on the robot. kind: record in `sensor_kinds`. link: link that carries the sensor;
    for a kind on a joint the child link of `joint`. pose: sensor frame in that link's frame.
    update_rate: [Hz]; 0 for every step. noise: models by channel, such as 'force.x' or 'range';
    a channel without a model has no noise. settings: the kind's settings, an instance of
    `kind.settings`; None for the defaults. frame_id, topic: for ROS, '' for the defaults. truth:
    whether the noise-free twin is published too.
    """

    name: str
    kind: SensorKind
    link: str
    joint: str = ''
    pose: Pose = Pose()
    update_rate: float = 0.0
    noise: Mapping[str, NoiseDescription] = field(default_factory=lambda: MappingProxyType({}))
    settings: Any = None
    frame_id: str = ''
    topic: str = ''
    truth: bool = False
    line: int = 0

    def __post_init__(self) -> None:
        """Set the default settings of the kind where none are given."""
        if self.settings is None:
            object.__setattr__(self, 'settings', self.kind.settings())

    @property
    def frame(self) -> str:
        """Frame of the values: 'sensor', or 'child' or 'parent' for a wrench, as in SDF."""
        return self.settings.frame if isinstance(self.settings, WrenchSettings) else 'sensor'

    def __getattr__(self, name: str) -> Any:
        """Return a setting by its name before 0.2, such as `magnetic_field`, with a warning."""
        settings = self.__dict__.get('settings')
        if name == 'scan' and isinstance(settings, RaySettings):
            new, value = 'settings', settings
        elif not name.startswith('_') and hasattr(settings, name):
            new, value = f'settings.{name}', getattr(settings, name)
        else:
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')
        warn_renamed(f'SensorDescription.{name}', new)
        return value


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """
    Checked robot description: a link tree, in file order.

    links, joints: by name, in file order. root: the only link without a parent joint, by name.
    source: file path, or '<string>'. xml: URDF text for the robot_description topic (after xacro).
    report: warnings from the file. constraints: loop joints. crawlers: links acting as continuous
    tracks. drives: drives with wheels; the drive with tracks follows from `crawlers`.
    controller_files: paths of ros2_control's controller files, by their names in the description.
    controller_managers: controllers of ros2_control, by the plugin that runs them.
    is_welded: whether the file fixes the root link to the world. base_pose: root link pose in the
    world, the identity if the file gives none. positions: initial one-axis joint positions given
    by the file, by name [rad or m]. files: full paths to all read files. joint_ids: joint numbers
    in Choreonoid's files, by joint name. force_fields: fields acting on the robot. inputs:
    command topics for its joints and fields, from plugins. format: name of the file format.
    separated: link pairs without contact, where the file lists them all, parents and children
    too; None: pairs overlapping in the initial configuration. apart: pairs of collision groups
    without contact. actuators: in the order of their controls. keyframes: named states. couplings:
    linear couplings of its joints.
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
    controller_managers: tuple[ControllerManagerDescription, ...] = ()
    is_welded: bool = False
    base_pose: Pose = Pose()
    positions: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    files: tuple[str, ...] = ()
    joint_ids: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    force_fields: tuple[RobotField, ...] = ()
    inputs: tuple[PluginInput, ...] = ()
    batteries: tuple[BatteryDescription, ...] = ()
    format: str = URDF.name
    separated: frozenset[frozenset[str]] | None = None
    apart: tuple[tuple[str, str], ...] = ()
    actuators: tuple[ActuatorDescription, ...] = ()
    keyframes: tuple[KeyframeDescription, ...] = ()
    couplings: tuple[CouplingDescription, ...] = ()

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is fixed to the world unless the user says otherwise."""
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
