"""Positions and rotations read from files."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.rotation import matrix_from_quaternion

# larger than the rounding of values printed with four digits
NORM_TOLERANCE = 1e-3
# sine of the angle from the vertical, below which a direction counts as vertical
_VERTICAL = 1e-9


def read_only(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the values as a read-only float array."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


def read_quaternion(text: str, place: Place, findings: Findings, attribute: str) -> np.ndarray:
    """Return the rotation (3, 3) of a quaternion x y z w, whose text was checked before."""
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


def facing(ahead: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) with x along a vector (3,), and z as far up as can be."""
    x = ahead / np.linalg.norm(ahead)
    left = np.cross([0.0, 0.0, 1.0], x)
    length = float(np.linalg.norm(left))
    # straight up or down, y stays: z is then -x or x of the frame outside
    y = left / length if length > _VERTICAL else np.array([0.0, 1.0, 0.0])
    return np.column_stack([x, y, np.cross(x, y)])
