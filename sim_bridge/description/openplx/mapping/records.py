"""What an OpenPLX scene describes, as plain data: what a world adds."""

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
    A servo on an axis: kp (target_position - q) + kd (target_velocity - dq), within an effort.

    kp: N m/rad or N/m. kd: N m s/rad or N s/m. lower, upper: least and greatest effort [N m or N].
    source: path of the interaction that it stands for. gain: kd of a velocity motor. hold: kp and
    kd with which that holds its place while it is to stand, None if it does not.
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
    What acts along an axis.

    limits: its stops. dynamics: spring, damper and friction. stop: stiffness and damping of
    elastic stops [N/m, N s/m or N m/rad, N m s/rad], None for rigid ones. motors: of a robot's
    axis one at most; further ones are joints that hold nothing. effort: constant, of torque and
    force motors [N m or N]. efforts: path, and least and greatest effort, of each of these. begin:
    the angle of an axis that closes a loop at first, where it counts turns [rad]. springs: path,
    stiffness and damping of those that act as one. ranges: paths of those that make up the
    limits.
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
    The axis on which an interaction acts, whose coordinate is sign * (q - offset).

    joint: its name in the scene. number: of the axis.
    """

    joint: str
    number: int
    sign: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Frame:
    """A connector: where it is on a body. body: its path, '' for the world."""

    body: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class Signal:
    """
    An input or an output.

    name: the path, or the name in an interface, with / for dots. path: from the root. kind: the
    name of its model in the bundles without namespace, such as 'AngleOutput'. source: path of the
    object that it is of, model: of that. enabled: whether an output is sent; True for inputs.
    frames: the connector that it is of and the one that it is relative to, or a mate's two
    connectors.
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
    The velocity that a body begins with, in the axes of the scene's world.

    linear: (3,) of the centre of mass [m/s]. angular: (3,) [rad/s].
    """

    linear: np.ndarray
    angular: np.ndarray


@dataclass(frozen=True, eq=False)
class MappedRobot:
    """
    Bodies that mates connect, or a single body.

    label: the name of the system that they are in; '' for the scene itself. pose: of the root link
    in the world of the scene. is_kinematic: whether the base moves as it is told. shapes: by link.
    apart: pairs of links that do not collide. positions: the coordinates of joints at first.
    axes: by joint, one for each axis. motions: by link.
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
    A joint between links of two robots of the scene, and what acts along its axes.

    separates: whether the links do not collide.
    """

    constraint: ConstraintDescription
    axes: tuple[AxisSettings, ...]
    separates: bool = True


@dataclass(frozen=True, eq=False)
class MappedScene:
    """
    A scene.

    name: of its root model. robots: in order of definition. cross_joints: between them. materials,
    contact_materials: with the names of the two materials. apart: pairs of collision groups.
    gravity: in the world of the scene, None where the scene says nothing. links: names of links by
    path of the body; a path of a system or body that is not a link, such as an imported robot, is
    not there. joints: names by path of the mate. interactions: by path the axes on which they act.
    signals: in order of definition. disabled: paths of mates and of what acts along axes that are
    disabled at first, with the names of their models as `Signal` has them. snap: how the bodies
    were placed. poses: of systems and bodies in the world of the scene, by path. report: warnings.
    files: SHA-256, by path, of all that was read but the bundles that pip installs. bundles: the
    version of those, '' if none of them was read.
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
