"""Frames of a description: from URDF's `origin` to `Pose`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.foundation.rotation import matrix_from_quaternion, matrix_from_rpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.description.report import Findings, Place
    from sim_bridge.description.urdf.document import Element

# beyond the rounding of values printed with four digits
NORM_TOLERANCE = 1e-3


def read_only(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the values as a float array that cannot be written to."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


def read_origin(
    parsed: object | None, origin: Element | None, place: Place, findings: Findings
) -> Pose:
    """
    Return the pose of an `origin` element.

    parsed: urdf-parser-py's object, None for the identity. origin: the checked element, for URDF
    1.2's `quat_xyzw`, which urdf-parser-py does not know. place: of the element around it.
    """
    if parsed is None or origin is None:
        return Pose(read_only(np.zeros(3)), read_only(np.eye(3)))
    quaternion = origin.get('quat_xyzw')
    if quaternion is None:
        return Pose(read_only(parsed.xyz), read_only(matrix_from_rpy(parsed.rpy)))
    place = place.child('origin', origin.line)
    if 'rpy' in origin.attrib:
        findings.error(
            'two-rotations',
            place,
            'both rpy and quat_xyzw are given; keep one',
            'quat_xyzw',
            quaternion,
        )
    rotation = read_quaternion(quaternion, place, findings, 'quat_xyzw')
    return Pose(read_only(parsed.xyz), rotation)


def read_quaternion(text: str, place: Place, findings: Findings, attribute: str) -> np.ndarray:
    """Return the rotation of four numbers x y z w that were checked to be numbers."""
    xyzw = [float(word) for word in text.split()]
    norm = math.hypot(*xyzw)
    if norm == 0.0:
        findings.error(
            'zero-quaternion', place, 'the zero quaternion is no rotation', attribute, text
        )
        return read_only(np.eye(3))
    if abs(norm - 1.0) > NORM_TOLERANCE:
        findings.warning(
            'not-normalised', place, f'of length {norm:.6g}; normalised', attribute, text
        )
    return read_only(matrix_from_quaternion(xyzw))
