"""Rotations as URDF and SDF write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def matrix_from_rpy(rpy: Sequence[float]) -> np.ndarray:
    """Give the (3, 3) rotation Rz(yaw) Ry(pitch) Rx(roll) of angles in rad."""
    roll, pitch, yaw = rpy
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_from_quaternion(xyzw: Sequence[float]) -> np.ndarray:
    """Give the (3, 3) rotation of a quaternion x y z w of any length but zero."""
    x, y, z, w = np.asarray(xyzw, dtype=float) / math.hypot(*xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_matrix(rotation: np.ndarray) -> np.ndarray:
    """
    Give the unit quaternion x y z w, w >= 0, of a (3, 3) rotation (Shepperd 1978).

    It is nan where the rotation is not finite.
    """
    r = rotation
    squares = np.array(
        [
            1.0 + r[0, 0] - r[1, 1] - r[2, 2],
            1.0 - r[0, 0] + r[1, 1] - r[2, 2],
            1.0 - r[0, 0] - r[1, 1] + r[2, 2],
            1.0 + r[0, 0] + r[1, 1] + r[2, 2],
        ]
    )
    if not np.isfinite(squares).all():
        return np.full(4, np.nan)
    xy, xz, yz = r[1, 0] + r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2]
    wx, wy, wz = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k = int(np.argmax(squares))
    rows = [
        [squares[0], xy, xz, wx],
        [xy, squares[1], yz, wy],
        [xz, yz, squares[2], wz],
        [wx, wy, wz, squares[3]],
    ]
    quaternion = np.array(rows[k]) / (2.0 * math.sqrt(squares[k]))
    return -quaternion if quaternion[3] < 0.0 else quaternion
