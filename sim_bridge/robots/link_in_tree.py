"""What links say of their place in the tree, and of the joint to the parent; as Choreonoid's."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.owners import Link, Robot
from sim_bridge.shapes.shapes import Shape

_ROTATIONAL = (JointType.REVOLUTE, JointType.CONTINUOUS)


def _of_joint(name: str, doc: str) -> Settable[Coordinates, Number | Vector]:
    """Return the property of the joint to the parent; raises StateError where there is none."""
    return Settable(
        lambda link: getattr(link._own_joint, name),
        lambda link, value: setattr(link._own_joint, name, value), doc=doc)


def _limit(name: str, sign: float, free: float, doc: str) -> ReadOnly[float]:
    """Return the property of a limit of the joint; free: what a link without an axis has."""
    def read(link: Any) -> float:
        axis = _only_axis(link)
        return free if axis is None else sign * float(getattr(axis, name))

    return ReadOnly(read, doc)


class LinkInTree(DeclaredAttributes):
    """The part of links that is about the tree they are in; see `Link`."""

    __slots__ = ()

    if TYPE_CHECKING:
        # the link's own
        @property
        def robot(self) -> Robot: ...
        parent: Link | None
        children: list[Link]
        joint: Joint | None
        geometries: list[Geometry]

    q = _of_joint('q', 'Position of the joint to its parent [rad or m]; as `Joint.q`.')
    dq = _of_joint('dq', 'Velocity of that joint [rad/s or m/s].')
    u = _of_joint('u', 'Applied effort of that joint [N m or N].')

    @property
    def ddq(self) -> Coordinates:
        """Acceleration of the joint to its parent [rad/s² or m/s²]; a copy."""
        return self._own_joint.ddq

    q_lower = _limit('lower', 1.0, -math.inf, 'Lower position limit [rad or m]; -inf for none.')
    q_upper = _limit('upper', 1.0, math.inf, 'Upper position limit [rad or m]; inf for none.')
    dq_lower = _limit(
        'velocity_limit', -1.0, -math.inf, 'The velocity limit backwards [rad/s or m/s].')
    dq_upper = _limit('velocity_limit', 1.0, math.inf, 'The velocity limit [rad/s or m/s].')

    @property
    def is_root(self) -> bool:
        """Whether it is the root of its robot's tree."""
        return self.parent is None

    @property
    def child(self) -> Link | None:
        """The first of its children, None for a leaf."""
        return self.children[0] if self.children else None

    @property
    def sibling(self) -> Link | None:
        """The next child of its parent, None for the last one."""
        if self.parent is None:
            return None
        among = self.parent.children
        place = among.index(self)  # type: ignore[arg-type]
        return among[place + 1] if place + 1 < len(among) else None

    @property
    def joint_id(self) -> int:
        """
        Number of the joint to its parent, which `Robot.joint` and arrays as q go by.

        -1 if that has not one axis, and for a root.
        """
        if _only_axis(self) is None:
            return -1
        names = self.robot.joint_names
        name = self._own_joint.name
        return names.index(name) if name in names else -1

    @property
    def joint_type(self) -> JointType:
        """Type of the joint to its parent; of a root FIXED or FLOATING, as its base is."""
        if self.joint is not None:
            return JointType(self.joint.type)
        return JointType.FIXED if self.robot.fixed_base else JointType.FLOATING

    is_fixed_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FIXED, 'Whether nothing moves at the joint.')
    is_free_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.FLOATING, 'Whether all directions are free.')
    is_rotational_joint = ReadOnly[bool](
        lambda link: link.joint_type in _ROTATIONAL, 'Whether the joint turns about one axis.')
    is_slide_joint = ReadOnly[bool](
        lambda link: link.joint_type is JointType.PRISMATIC, 'Whether it slides along one.')

    @property
    def a(self) -> FloatArray:
        """(3,) unit vector of the joint's axis, link axes; zero if it has not one axis."""
        if _only_axis(self) is None:
            return np.zeros(3)
        return np.array(self._own_joint.description.axis, float)

    d = ReadOnly[FloatArray]('a', '(3,) likewise, of a joint that slides.')

    @property
    def b(self) -> FloatArray:
        """(3,) position of its joint in the parent's frame [m]; zero for a root."""
        if self.joint is None:
            return np.zeros(3)
        return np.array(self.joint.description.origin.position, float)

    attitude = ReadOnly[FloatArray](
        'R', '(3, 3) rotation of the frame: the same as R, as frames are those of the file.')

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The shapes of its collision geometries."""
        return tuple(geometry.shape for geometry in self.geometries)

    @property
    def joints(self) -> list[Joint | ConstraintJoint]:
        """
        All joints that it is the first or second link of; ODE's dBodyGetJoint.

        Those of its robot's tree, those of `World.add_joint`, motors, and broken ones.
        """
        everyone = {id(each): each for each in (
            *self.robot.joints, *self.robot.world.joints.values())}
        return [joint for joint in everyone.values()
                if joint.link1 is self or joint.link2 is self]

    @property
    def _own_joint(self) -> Joint:
        if self.joint is None:
            raise StateError(f'{self._place} is the root of its tree: no joint leads to it')
        return self.joint

    @property
    def _place(self) -> str:
        raise NotImplementedError


def _only_axis(link: LinkInTree) -> Any:
    """Return the axis of a joint that has one; else None."""
    axes = () if link.joint is None else link.joint.axes
    return axes[0] if len(axes) == 1 else None
