"""Conversion of objects in the bundle Math to arrays."""

from __future__ import annotations

from typing import cast

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.objects import Object
from sim_bridge.foundation.rotation import matrix_from_quaternion


def vector(value: Object) -> np.ndarray:
    """Return a Math.Vec3 as (3,), a Math.Vec2 as (2,)."""
    return _numbers(value, 'xyz' if 'z' in value.members else 'xy')


def quaternion(value: Object) -> np.ndarray:
    """Return a Math.Quat as x y z w, not normalised."""
    return _numbers(value, 'xyzw')


def matrix(value: Object) -> np.ndarray:
    """Return a Math.Matrix3x3 as (3, 3), a Math.Matrix4x4 as (4, 4)."""
    size = 4 if 'e33' in value.members else 3
    names = [f'e{row}{column}' for row in range(size) for column in range(size)]
    return _numbers(value, names).reshape(size, size)


def pose(value: Object) -> Pose:
    """Return a Math.AffineTransform as a pose; its quaternion must not be zero."""
    position, rotation = cast(Object, value['position']), cast(Object, value['rotation'])
    return Pose(vector(position), matrix_from_quaternion(quaternion(rotation)))


def _numbers(value: Object, names: str | list[str]) -> np.ndarray:
    return np.array([cast(float, value.members[name]) for name in names], dtype=float)
