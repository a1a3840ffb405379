"""OpenPLX scene contents as plain data for a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from types import MappingProxyType

import numpy as np

from sim_bridge.description.gravity import Gravity
from sim_bridge.description.model import (
    ConstraintDescription,
    JointDynamics,
    JointLimits,
    Pose,
    RobotDescription,
)
from sim_bridge.description.openplx.snap import SnapResult
from sim_bridge.description.report import Report
from sim_bridge.shapes.material import ContactMaterial, Material
from sim_bridge.shapes.placed import Placed


@dataclass(frozen=True)
class Motor:
    """
    Servo on an axis: kp (target_position - q) + kd (target_velocity - dq), with limited effort.

    kp: N m/rad or N/m. kd: N m s/rad or N s/m. lower, upper: least and greatest effort [N m or N].
    source: path of the interaction. gain: kd of a velocity motor while it moves. hold: kp and kd
    with which a velocity motor holds its position at zero target speed, None if it does not.
    """

    source: str
    kp: float = 0.0
    kd: float = 0.0
    target_position: float = 0.0
    target_velocity: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    gain: float = 0.0
    hold: tuple[float, float] | None = None


@dataclass(frozen=True)
class AxisSettings:
    """
    Effects along an axis.

    limits: position limits. dynamics: spring, damper and friction. stop: stiffness and damping of
    elastic stops [N/m, N s/m or N m/rad, N m s/rad], None for rigid stops. motors: at most one for
    a robot axis; further motors are joints without constraints. effort: constant effort of all
    torque and force motors [N m or N]. efforts: path, least and greatest effort of each of these
    motors. begin: initial angle about the axis of a loop joint, from which turns are counted
    [rad]. springs: path, stiffness and damping of each spring contained in `dynamics`. ranges:
    paths of the ranges contained in `limits`.
    """

    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    stop: tuple[float, float] | None = None
    motors: tuple[Motor, ...] = ()
    effort: float = 0.0
    efforts: tuple[tuple[str, float, float], ...] = ()
    begin: float = 0.0
    springs: tuple[tuple[str, float, float], ...] = ()
    ranges: tuple[str, ...] = ()


@dataclass(frozen=True)
class AxisOf:
    """
    Axis for an interaction, whose coordinate is sign * (q - offset).

    joint: joint name in the scene. number: axis index.
    """

    joint: str
    number: int
    sign: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Frame:
    """Connector with its pose on a body. body: its path, '' for the world."""

    body: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class Signal:
    """
    Input or output.

    name: its path, or its name in an interface, with / for dots. path: from the root. kind: model
    name in the bundles without namespace, such as 'AngleOutput'. source: path of the measured or
    driven object. model: model name of the source. enabled: whether an output is sent; True for
    inputs. frames: the source connector and the one it is relative to, or a mate's two connectors.
    """

    name: str
    path: str
    kind: str
    is_input: bool
    source: str
    model: str
    enabled: bool = True
    frames: tuple[Frame, ...] = ()
    line: int = 0


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """
    Initial body velocity, in the axes of the scene's world.

    linear: (3,) at the centre of mass [m/s]. angular: (3,) [rad/s].
    """

    linear: np.ndarray
    angular: np.ndarray


@dataclass(frozen=True, eq=False)
class MappedRobot:
    """
    Bodies connected by mates, or a single body.

    label: the enclosing system's name; '' for the scene itself. pose: root link pose in the
    scene's world. is_kinematic: whether the base moves as commanded. shapes: by link. apart: pairs
    of links without collision. positions: initial joint coordinates. axes: settings for each axis,
    by joint. motions: by link.
    """

    label: str
    description: RobotDescription
    pose: Pose
    is_kinematic: bool = False
    shapes: tuple[tuple[str, Placed], ...] = ()
    apart: frozenset[frozenset[str]] = frozenset()
    positions: Mapping[str, tuple[float, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    axes: Mapping[str, tuple[AxisSettings, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    motions: Mapping[str, BodyMotion] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, eq=False)
class CrossJoint:
    """
    Joint between links in two robots in the scene, with the effects along its axes.

    separates: whether it disables collision between the links.
    """

    constraint: ConstraintDescription
    axes: tuple[AxisSettings, ...]
    separates: bool = True


@dataclass(frozen=True, eq=False)
class MappedScene:
    """
    Mapped scene.

    name: name of the root model. robots: in definition order. cross_joints: joints between robots.
    materials, contact_materials: the latter with the two materials' names. apart: pairs of
    collision groups that do not collide. gravity: in the scene's world, None if not given. links:
    link names by body path; other paths, such as an imported robot's, are missing. joints: joint
    names by mate path. interactions: axes by interaction path. signals: in definition order.
    disabled: model names, as in `Signal`, by path, for initially disabled mates and interactions.
    snap: SNAP's result. poses: for systems and bodies in the scene's world, by path. report:
    warnings. files: SHA-256 of each file read, by path, without the bundles installed by pip.
    bundles: version of those bundles, '' if none was read.
    """

    name: str
    robots: tuple[MappedRobot, ...]
    report: Report
    snap: SnapResult
    poses: Mapping[str, Pose]
    cross_joints: tuple[CrossJoint, ...] = ()
    materials: tuple[Material, ...] = ()
    contact_materials: tuple[tuple[str, str, ContactMaterial], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    gravity: Gravity | None = None
    links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    joints: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    interactions: Mapping[str, AxisOf] = field(default_factory=lambda: MappingProxyType({}))
    signals: tuple[Signal, ...] = ()
    disabled: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    bundles: str = ''
