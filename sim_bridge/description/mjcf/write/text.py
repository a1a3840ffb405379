"""Numbers, poses and names in MJCF."""

from __future__ import annotations

from collections.abc import Iterable
import math
from xml.etree.ElementTree import Element

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import quaternion_from_matrix

# MuJoCo needs both ends of a range, below 1e10
UNBOUNDED = 1e9


def number(value: float) -> str:
    """Return a number as text; reading it gives the same bits."""
    return repr(float(value))


def numbers(values: Iterable[float]) -> str:
    """Return numbers separated by spaces."""
    return ' '.join(map(number, values))


def ends(lower: float, upper: float) -> str:
    """Return a range, with a large number in place of an infinite one."""
    return numbers(
        math.copysign(UNBOUNDED, each) if math.isinf(each) else each for each in (lower, upper)
    )


def placed(element: Element, pose: Pose) -> None:
    """Set an element's `pos` and `quat`, left out at MuJoCo's defaults."""
    if pose.position.any():
        element.set('pos', numbers(pose.position))
    if not np.array_equal(pose.rotation, np.eye(3)):
        element.set('quat', quaternion(pose.rotation))


def quaternion(rotation: FloatArray) -> str:
    """Return a rotation (3, 3) as a quaternion w x y z."""
    x, y, z, w = quaternion_from_matrix(rotation)
    return numbers((w, x, y, z))
