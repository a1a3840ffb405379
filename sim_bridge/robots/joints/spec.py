"""Joint specification between two links in a world, before a backend is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sim_bridge.description.compliance import Compliance
from sim_bridge.description.model import (
    ConstraintDescription,
    JointDescription,
    JointDynamics,
    JointType,
    Pose,
)
from sim_bridge.description.stages import axis_frame
from sim_bridge.engine.data.loops import ROWS_OF_TYPE
from sim_bridge.robots.joints.frame import JointFrame, JointFrames
from sim_bridge.robots.owners import Link

# tree joint types by kind; all other kinds are always constraints
TREE_TYPES = {
    'ball': JointType.BALL,
    'hinge': JointType.REVOLUTE,
    'slider': JointType.PRISMATIC,
    'universal': JointType.UNIVERSAL,
    'hinge2': JointType.HINGE2,
    'fixed': JointType.FIXED,
    'piston': JointType.PISTON,
    'planar': JointType.PLANAR,
}
# joints without constraint rows: one axis for motors, springs, friction and stops
MOTOR_TYPES = ('hinge_motor', 'slider_motor')
# joints with some constraint rows from other kinds: building blocks for new joints
PARTIAL_TYPES = ('inline', 'parallel', 'perpendicular')
TYPES = (*TREE_TYPES, 'distance', *PARTIAL_TYPES, *MOTOR_TYPES)
WITH_AXIS = (
    'hinge',
    'slider',
    'universal',
    'hinge2',
    'piston',
    'planar',
    *PARTIAL_TYPES,
    *MOTOR_TYPES,
)
WITH_AXIS2 = ('universal', 'hinge2', 'perpendicular')
# kinds whose coordinates stay if the links are exchanged and the axis is reversed
SYMMETRIC = ('hinge', 'slider', 'fixed', 'piston')

_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class JointSpec:
    """
    Joint specification between two links, or a link and the world.

    first, second: joint frames on the links; they coincide at zero coordinates; z is the axis.
    axis2: (3,) second axis in the second frame, fixed to the second link, in the x-z plane.
    distance: between the origins [m]. erp, cfm, compliance: None for a rigid joint; erp and cfm
    have one value for all rows, or one per row. suspension: spring and damper for a hinge-2.
    toughness: force and torque at which the joint breaks, then one value per direction; None if it
    never breaks. loose: directions left free in addition to the type's, numbered as in a
    compliance. gapes: whether the origins are apart, so the joint has a gap to close. gathers:
    whether the first step moves links that start apart together at once. axes, vectors: angular
    motors only, as in the engine's LoopJoint.
    """

    name: str
    type: str
    first: JointFrame
    second: JointFrame
    axis2: np.ndarray | None = None
    distance: float = 0.0
    erp: float | tuple[float, ...] | None = None
    cfm: float | tuple[float, ...] | None = None
    compliance: Compliance | None = None
    suspension: JointDynamics | None = None
    toughness: tuple[float, ...] | None = None
    loose: frozenset[int] = frozenset()
    gapes: bool = False
    gathers: bool = False
    axes: tuple[tuple[int, int], ...] | None = None
    vectors: np.ndarray | None = None

    @property
    def yields(self) -> bool:
        """Whether the joint is compliant."""
        if self.compliance is not None:
            return self.compliance.yields
        return self.cfm is not None and bool(np.any(self.cfm))

    @property
    def holds(self) -> bool:
        """Whether the joint has constraint rows; otherwise it only acts along free axes."""
        return bool(ROWS_OF_TYPE[self.type])

    @property
    def frames(self) -> JointFrames:
        """Both joint frames, and the axes in them."""
        return JointFrames(self.first, self.second, _Z, _Z if self.axis2 is None else self.axis2)

    @property
    def constraint_frames(self) -> JointFrames:
        """Constraint row frames A and B; B's z is the second axis, if there is one."""
        second = self.second
        if self.axis2 is not None:
            z = self.axis2
            x = np.array([0.0, 0.0, 1.0]) - z[2] * z
            x /= np.linalg.norm(x)
            turn = np.array([x, np.cross(z, x), z]).T
            second = second._replace(rotation=second.rotation @ turn)
        return JointFrames(self.first, second, _Z, _Z)

    def sides(self, by_second: bool) -> tuple[Link | None, Link]:
        """Return the parent link (None for the world) and the child link."""
        carrier, own = self.first.link, self.second.link
        if not by_second:
            carrier, own = own, carrier
        if own is None:
            raise ValueError('the world has no parent: only a link can be the child')
        return carrier, own

    def mount(self, by_second: bool) -> JointDescription:
        """Return a robot's base joint; by_second: the second link's robot is the child."""
        carrier, own, axis = self.first, self.second, np.array([0.0, 0.0, 1.0])
        if not by_second:
            carrier, own, axis = own, carrier, -axis
        _, link = self.sides(by_second)
        # the root link's frame, also when the joint's link is another link on the same body
        root = link.robot.root_link.slot.placement
        place = link.slot.placement.placement_of(own.rotation, own.position)
        child = Pose(place.position, place.rotation).inverse @ Pose(root.position, root.rotation)
        origin = Pose(carrier.position, carrier.rotation)
        if carrier.link is not None:
            place = carrier.link.slot.placement.placement_of(carrier.rotation, carrier.position)
            origin = Pose(place.position, place.rotation)
        return JointDescription(
            name=self.name,
            type=TREE_TYPES[self.type],
            parent='',
            child='',
            origin=origin,
            axis=axis,
            child_pose=child,
            axis2=self.axis2,
            suspension=self.suspension,
        )


def spec_at(
    name: str,
    kind: str,
    links: tuple[Link | None, Link | None],
    anchors: tuple[np.ndarray, np.ndarray],
    axis: np.ndarray,
    axis2: np.ndarray | None = None,
    normal: np.ndarray | None = None,
) -> JointSpec:
    """
    Return a specification with joint coordinates 0 at the links' current poses.

    anchors: (3,) joint position on each link [m]. axis, axis2: (3,) unit vectors. normal: (3,)
    the joint frame's x direction; if None, axis2 or an arbitrary direction. All in the world.
    """
    rotation = axis_frame(axis)
    toward = axis2 if normal is None else normal
    if toward is not None:
        x = toward - (toward @ axis) * axis
        x /= np.linalg.norm(x)
        rotation = np.array([x, np.cross(axis, x), axis]).T
    if axis2 is not None:
        axis2 = rotation.T @ axis2
    frames = []
    for link, anchor in zip(links, anchors, strict=True):
        if link is None:
            frames.append(JointFrame(None, rotation, anchor))
        else:
            R = link.R
            own = _orthonormal(R.T @ rotation)
            frames.append(JointFrame(link, own, R.T @ (anchor - link.p)))
    return JointSpec(name, kind, frames[0], frames[1], axis2)


def spec_of(constraint: ConstraintDescription, links: Mapping[str, Link]) -> JointSpec:
    """
    Return a described constraint joint's specification; links: by name.

    If the description has no second anchor, or no relative rotation at zero coordinates, they
    follow from the links' current poses.
    """
    one, other = links[constraint.link1], links.get(constraint.link2)
    anchor = one.p + one.R @ constraint.position1
    axis = np.array([0.0, 0.0, 1.0]) if constraint.axis is None else one.R @ constraint.axis
    R_other, p_other = (np.eye(3), np.zeros(3)) if other is None else (other.R, other.p)
    turned = np.eye(3)
    if constraint.rotation is not None:
        # takes the second link and its axis to zero coordinates
        turned = one.R @ constraint.rotation @ R_other.T
    axis2 = None if constraint.axis2 is None else turned @ R_other @ constraint.axis2
    normal = None if constraint.normal is None else one.R @ constraint.normal
    spec = spec_at(
        constraint.name, constraint.type.value, (one, other), (anchor, anchor), axis, axis2, normal
    )
    position2, rotation2 = constraint.position2, spec.second.rotation
    if position2 is None:
        position2 = R_other.T @ (anchor - p_other)
    if constraint.rotation is not None:
        rotation2 = constraint.rotation.T @ spec.first.rotation
    distance = constraint.distance
    if distance is None:
        distance = float(np.linalg.norm(p_other + R_other @ position2 - anchor))
    suspension = None
    if constraint.type.value == 'hinge2' and constraint.dynamics.stiffness > 0.0:
        suspension = constraint.dynamics
    return replace(
        spec,
        second=JointFrame(other, rotation2, np.array(position2)),
        distance=distance,
        erp=constraint.erp,
        cfm=constraint.cfm,
        compliance=constraint.compliance,
        suspension=suspension,
        toughness=constraint.toughness,
        loose=constraint.loose,
    )


def _orthonormal(rotation: np.ndarray) -> np.ndarray:
    """Return the nearest rotation: rounding errors would grow along a long link chain."""
    left, _, right = np.linalg.svd(rotation)
    return left @ right
