"""
What devices measure, noise apart: all devices of a world in one kernel.

A device is a site of `engine.observe`, whose row it sees in axes of its own.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.observe import SITE_DV, SITE_FORCE, SITE_ROTATION, SITE_TORQUE, SITE_W
from sim_bridge.engine.vec3 import load3, load_m, load_v, mul_mv, scale, store3, sub

# what a device measures
FORCE = 0
GYRO = 1
ACCELEROMETER = 2
IMU = 3

# columns of the values
FORCE_VALUES = slice(0, 6)
IMU_VALUES = slice(6, 16)
GYRO_VALUES = slice(10, 13)
ACCELEROMETER_VALUES = slice(13, 16)
SIZE = 16


@entry
def take_readings(
    kind: IntVector, site: IntVector, turned_site: IntVector, sign: FloatVector,
    gravity: FloatVector, site_row: FloatMatrix, value_out: FloatMatrix
):
    """
    Write what each device measures.

    kind: (n,) of the above. site: (n,) its place among the rows. turned_site: (n,) of what its
    force and torque are in the axes of, of forces alone; -1 for its own. sign: (n,) of force and
    torque. gravity: (3,) [m/s²]. site_row: (ns, 30) as `engine.observe` writes them. value_out:
    (n, 16) force [N] and torque [N m]; orientation in the world, x y z w with w >= 0, angular
    velocity [rad/s] and proper acceleration [m/s²]; in the device's axes. Of these a device writes
    what it measures.
    """
    for k in range(kind.shape[0]):
        row = site[k]
        R_WS = load_m(site_row, row, SITE_ROTATION)
        if kind[k] == FORCE:
            f, n = load3(site_row, row, SITE_FORCE), load3(site_row, row, SITE_TORQUE)
            if turned_site[k] >= 0:
                R_TS = mul_tm(load_m(site_row, turned_site[k], SITE_ROTATION), R_WS)
                f, n = mul_mv(R_TS, f), mul_mv(R_TS, n)
            store3(value_out, k, 0, scale(sign[k], f))
            store3(value_out, k, 3, scale(sign[k], n))
        if kind[k] == IMU:
            store_quaternion(value_out, k, 6, R_WS)
        if kind[k] == GYRO or kind[k] == IMU:
            store3(value_out, k, 10, into_axes(R_WS, load3(site_row, row, SITE_W)))
        if kind[k] == ACCELEROMETER or kind[k] == IMU:
            felt = sub(load3(site_row, row, SITE_DV), load_v(gravity, 0))
            store3(value_out, k, 13, into_axes(R_WS, felt))


@kernel
def into_axes(m, v):
    """Give mᵀ v."""
    # From 0 on, so that there is one way only to fuse the terms: that of BLAS, which readings once
    # came from.
    return (0.0 + m[0][0] * v[0] + m[1][0] * v[1] + m[2][0] * v[2],
            0.0 + m[0][1] * v[0] + m[1][1] * v[1] + m[2][1] * v[2],
            0.0 + m[0][2] * v[0] + m[1][2] * v[1] + m[2][2] * v[2])


@kernel
def mul_tm(a, b):
    """Give aᵀ b."""
    return (into_axes(b, (a[0][0], a[1][0], a[2][0])),
            into_axes(b, (a[0][1], a[1][1], a[2][1])),
            into_axes(b, (a[0][2], a[1][2], a[2][2])))


@kernel
def store_quaternion(array_out, row, column, m):
    """Write the unit quaternion x y z w, w >= 0, of a rotation (Shepperd 1978), or nan."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = m
    # four times the squares of x, y, z and w
    x2, y2, z2 = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    w2 = 1.0 + xx + yy + zz
    largest = max(x2, y2, z2, w2)
    # four times the products of the largest with each
    x, y, z, w = zy - yz, xz - zx, yx - xy, w2
    if x2 == largest:
        x, y, z, w = x2, yx + xy, xz + zx, zy - yz
    elif y2 == largest:
        x, y, z, w = yx + xy, y2, zy + yz, xz - zx
    elif z2 == largest:
        x, y, z, w = xz + zx, zy + yz, z2, yx - xy
    factor = 0.5 / math.sqrt(largest)
    if w < 0.0:
        factor = -factor
    if not math.isfinite(x2 + y2 + z2 + w2):
        factor = math.nan
    store3(array_out, row, column, scale(factor, (x, y, z)))
    array_out[row, column + 3] = factor * w
