"""
Rotations as matrices, angles and quaternions x y z w.

Angle conversions use transforms3d. Quaternion conversions do not. transforms3d's `quat2mat` rounds
differently in the last bit; robots are placed by quaternions, so existing recordings would no
longer replay to the same bits. Its `mat2quat` takes four times as long, in every IMU sample. It
also has no version for many rotations at once.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray


def matrix_from_rpy(rpy: Sequence[float]) -> FloatArray:
    """Return the (3, 3) rotation Rz(yaw) Ry(pitch) Rx(roll) for angles in rad."""
    # late import: most worlds use no angles
    from transforms3d.euler import euler2mat

    rotation: FloatArray = euler2mat(*rpy, 'sxyz')
    return rotation


def rpy_from_matrix(rotation: FloatArray) -> FloatArray:
    """Return the (3,) angles roll, pitch, yaw [rad] that `matrix_from_rpy` converts back."""
    from transforms3d.euler import mat2euler

    return np.array(mat2euler(rotation, 'sxyz'))


def matrix_from_axis_angle(axis: FloatArray, angle: float) -> FloatArray:
    """Return the (3, 3) rotation by an angle [rad] about a unit vector (3,)."""
    from transforms3d.axangles import axangle2mat

    rotation: FloatArray = axangle2mat(axis, angle, is_normalized=True)
    return rotation


def matrix_from_quaternion(xyzw: Sequence[float] | FloatArray) -> FloatArray:
    """Return the (3, 3) rotation for a quaternion x y z w with any nonzero length."""
    # plain floats: numpy takes several times as long with single numbers
    x, y, z, w = (np.asarray(xyzw, dtype=float) / math.hypot(*xyzw)).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_matrix(rotation: FloatArray) -> FloatArray:
    """
    Return the unit quaternion x y z w, w >= 0, for a (3, 3) rotation (Shepperd 1978).

    It is nan if the rotation is not finite.
    """
    # plain floats: called for every IMU sample, and numpy is slow with single numbers
    xx, xy, xz, yx, yy, yz, zx, zy, zz = np.asarray(rotation, dtype=float).ravel().tolist()
    # four times the squares of x, y, z and w
    squares = (1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz)
    if not math.isfinite(sum(squares)):
        return np.full(4, np.nan)
    largest = max(squares)
    k = squares.index(largest)
    if k == 0:
        row = (largest, yx + xy, xz + zx, zy - yz)
    elif k == 1:
        row = (yx + xy, largest, zy + yz, xz - zx)
    elif k == 2:
        row = (xz + zx, zy + yz, largest, yx - xy)
    else:
        row = (zy - yz, xz - zx, yx - xy, largest)
    scale = math.copysign(0.5 / math.sqrt(largest), row[3] or 1.0)
    return np.array(row) * scale


def quaternions_from_matrices(rotations: FloatArray) -> FloatArray:
    """Return `quaternion_from_matrix`, (n, 4), for finite rotations (n, 3, 3)."""
    R = np.asarray(rotations, dtype=float)
    diagonal = np.diagonal(R, axis1=1, axis2=2)
    trace = diagonal.sum(axis=1, keepdims=True)
    # four times the products of x, y, z, w (rows) with each of them
    products = np.empty((len(R), 4, 4))
    products[:, :3, :3] = R + R.transpose(0, 2, 1)
    products[:, [0, 1, 2], [0, 1, 2]] = 1.0 + 2.0 * diagonal - trace
    vector = np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    products[:, 3, :3] = products[:, :3, 3] = vector
    products[:, 3, 3] = 1.0 + trace[:, 0]
    squares = np.diagonal(products, axis1=1, axis2=2)
    largest = np.argmax(squares, axis=1)
    rows = products[np.arange(len(R)), largest]
    signs = np.where(rows[:, 3:] < 0.0, -0.5, 0.5)
    quaternions: FloatArray = signs * rows / np.sqrt(squares.max(axis=1, keepdims=True))
    return quaternions


def rotation_vector(rotation: FloatArray) -> FloatArray:
    """Return the rotation vector (axis times angle [rad]) for a (3, 3) rotation."""
    x, y, z, w = quaternion_from_matrix(rotation).tolist()
    sine = math.sqrt(x * x + y * y + z * z)
    # near 0 the angle equals twice the sine of its half, up to rounding
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-9 else 2.0
    return factor * np.array([x, y, z])
