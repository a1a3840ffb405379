"""Poses and truth values in SDF element text."""

from __future__ import annotations

import math

from sim_bridge.description.model import Pose
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only, read_quaternion
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text
from sim_bridge.foundation.rotation import matrix_from_rpy

_TRUE = ('true', '1')
_FORMATS = ('euler_rpy', 'quat_xyzw')


def read_pose(node: Element, place: Place, findings: Findings) -> Pose:
    """Read SDF's `<pose>`: x y z roll pitch yaw, also in degrees or with a quaternion."""
    words = node.get('rotation_format') or _FORMATS[0]
    if words not in _FORMATS:
        message = f'must be {" or ".join(_FORMATS)}'
        findings.error('bad-value', place, message, 'rotation_format', words)
    quaternion = words == _FORMATS[1]
    numbers = Numbers(7, '0 0 0 0 0 0 1') if quaternion else Numbers(6)
    values = parse_numbers(element_text(node), numbers, place, findings, '')
    if values is None:
        return Pose()
    position, angles = read_only(values[:3]), values[3:]
    degrees = is_true(node.get('degrees', 'false'))
    if quaternion:
        if degrees:
            message = 'has no effect on a quaternion'
            findings.warning('no-effect', place, message, 'degrees', node.get('degrees'))
        return Pose(position, read_quaternion(' '.join(map(repr, angles)), place, findings, ''))
    if degrees:
        angles = [math.radians(angle) for angle in angles]
    return Pose(position, read_only(matrix_from_rpy(angles)))


def is_true(text: str) -> bool:
    """Return whether a text is SDF's true."""
    return text.strip().lower() in _TRUE
