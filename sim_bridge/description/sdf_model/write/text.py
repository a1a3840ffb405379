"""Elements with numbers and poses in SDF."""

from __future__ import annotations

from collections.abc import Iterable
import math
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.model import Pose
from sim_bridge.foundation.rotation import quaternion_from_matrix


def number(value: float) -> str:
    """Return a number as text; reading it gives the same bits."""
    return 'inf' if value == math.inf else '-inf' if value == -math.inf else repr(float(value))


def numbers(values: Iterable[float]) -> str:
    """Return numbers separated by spaces."""
    return ' '.join(map(number, values))


def add(parent: Element, tag: str, value: float | str) -> Element:
    """Add an element with a number or a text."""
    element = SubElement(parent, tag)
    element.text = value if isinstance(value, str) else number(value)
    return element


def add_pose(parent: Element, pose: Pose, relative_to: str = '') -> None:
    """Add a pose, left out at SDF's default; relative_to: a frame's name."""
    if pose.is_identity and not relative_to:
        return
    element = SubElement(parent, 'pose', rotation_format='quat_xyzw')
    if relative_to:
        element.set('relative_to', relative_to)
    quaternion = quaternion_from_matrix(pose.rotation)
    element.text = numbers((*pose.position, *quaternion))
