"""Link attributes that describe its kinematic tree and the joint to its parent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import ReadOnly, Settable
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.owners import Link


def joint_above(link: Link) -> Joint:
    """Return the joint to the parent; raise StateError for a root link."""
    if link.joint is None:
        raise StateError(
            f'robot {link.robot.name!r}, link {link.name!r} is the root of its tree: '
            'it has no joint to a parent'
        )
    return link.joint


def of_joint(name: str, doc: str) -> Settable[Coordinates, Number | Vector]:
    """Return a property from the joint to the parent; it raises StateError for a root link."""
    return Settable(
        lambda link: getattr(joint_above(link), name),
        lambda link, value: setattr(joint_above(link), name, value),
        doc=doc,
    )


def limit_of_joint(name: str, sign: float, doc: str) -> ReadOnly[float]:
    """Return a one-axis joint's limit property; for other joints `sign` times infinity."""

    def read(link: Link) -> float:
        axis = _only_axis(link)
        return sign * math.inf if axis is None else float(getattr(axis, name))

    return ReadOnly(read, doc)


def sibling_of(link: Link) -> Link | None:
    """Return the parent's next child; None for the last child."""
    if link.parent is None:
        return None
    among = link.parent.children
    place = among.index(link)
    return among[place + 1] if place + 1 < len(among) else None


def joint_number(link: Link) -> int:
    """Return the index among the robot's one-axis joints; -1 for other joints and roots."""
    names = link.robot.joint_names
    if link.joint is None or _only_axis(link) is None or link.joint.name not in names:
        return -1
    return names.index(link.joint.name)


def joint_type_of(link: Link) -> JointType:
    """Return the parent joint's type; for a root FIXED or FLOATING, by its base."""
    if link.joint is not None:
        return JointType(link.joint.type)
    return JointType.FIXED if link.robot.fixed_base else JointType.FLOATING


def joint_axis(link: Link) -> FloatArray:
    """Return the unit vector (3,) along a one-axis joint, link axes; zeros for other joints."""
    if link.joint is None or _only_axis(link) is None:
        return np.zeros(3)
    return np.array(link.joint.description.axis, float)


def joint_offset(link: Link) -> FloatArray:
    """Return the joint position in the parent's frame (3,) [m]; zeros for a root."""
    if link.joint is None:
        return np.zeros(3)
    return np.array(link.joint.description.origin.position, float)


def joints_of(link: Link) -> list[Joint | ConstraintJoint]:
    """Return joints in its robot and world with this link as first or second link."""
    everyone = {id(each): each for each in (*link.robot.joints, *link.robot.world.joints.values())}
    return [joint for joint in everyone.values() if joint.link1 is link or joint.link2 is link]


def _only_axis(link: Link) -> Any:
    """Return a one-axis joint's axis; None for other joints."""
    axes = () if link.joint is None else link.joint.axes
    return axes[0] if len(axes) == 1 else None
