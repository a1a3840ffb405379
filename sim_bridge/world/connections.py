"""Search for joints between links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sim_bridge.description.model import JointType
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import name_set
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.spec import TREE_TYPES
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot


def are_connected(world: World, a: object, b: object, excluding: Iterable[str]) -> bool:
    """Return whether a joint connects two links or robots; see `World.are_connected`."""
    place = 'are_connected'
    left_out = name_set('excluding', excluding, place)
    first = _links_of('a', a, world)
    second = {None} if b is None else set(_links_of('b', b, world))
    for link in first:
        for joint in link.joints:
            other = joint.link2 if joint.link1 is link else joint.link1
            is_gone = isinstance(joint, ConstraintJoint) and joint.is_broken
            is_other = other in second and other is not link
            if is_other and not is_gone and not left_out & _kinds(joint):
                return True
    return False


def _kinds(joint: Joint | ConstraintJoint) -> set[str]:
    """Return the names of a joint's type, in `joint.type` and in `World.add_joint`."""
    if not isinstance(joint.type, JointType):
        return {joint.type}
    return {joint.type.value, *(kind for kind, own in TREE_TYPES.items() if own is joint.type)}


def _links_of(what: str, given: object, world: World) -> list[Link]:
    """Return a link, or all links of a robot; raise InvalidValueError for other objects."""
    links: list[Any] = list(given.links) if isinstance(given, Robot) else [given]
    if any(not isinstance(link, Link) or link.robot.world is not world for link in links):
        raise InvalidValueError(what, given, 'a link or a robot of this world', 'are_connected')
    return links
