"""
Sensor readings by motion: force-torque sensors, gyros, accelerometers and IMUs.

A device is a site in `engine.pipeline.observe`; its reading is the site's row in the device's
axes, without noise.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import HAS_GRAVITY
from sim_bridge.engine.dynamics.fields import function_gravity
from sim_bridge.engine.dynamics.pull import gravity_at
from sim_bridge.engine.math.mat3 import load_m, mul_mv
from sim_bridge.engine.math.vec3 import add, load3, scale, sub
from sim_bridge.engine.pipeline.observe import (
    SITE_DV,
    SITE_FORCE,
    SITE_POSITION,
    SITE_ROTATION,
    SITE_TORQUE,
    SITE_W,
)

FORCE, GYRO, ACCELEROMETER, IMU = range(4)
CODES = {'force_torque': FORCE, 'gyro': GYRO, 'accelerometer': ACCELEROMETER, 'imu': IMU}
"""Codes for the sensor kinds measured by motion, by word."""

# first numbers of an IMU's angular velocity and acceleration, behind the orientation
IMU_GYRO = 4
IMU_ACCELEROMETER = 7


@kernel
def take_reading(code, site, turned_site, sign, observer, gravity, site_row, value_out, at):
    """
    Write a device's reading into a vector, from a place on, in the device's axes.

    code: one of CODES. site: the device's row. turned_site: row with the axes for force and torque
    (force-torque sensors only); -1 for the device's own. sign: for force and torque. observer:
    handle, for gravity by a function. gravity: as Model.gravity. site_row: (ns, 30) rows written
    by `engine.pipeline.observe`. value_out: force [N] and torque [N m] for a force-torque sensor;
    orientation in the world (quaternion x y z w, w >= 0), angular velocity [rad/s] and proper
    acceleration [m/s²] for an IMU; angular velocity for a gyro; acceleration for an accelerometer.
    """
    R_WS = load_m(site_row, site, SITE_ROTATION)
    if code == FORCE:
        f, n = load3(site_row, site, SITE_FORCE), load3(site_row, site, SITE_TORQUE)
        if turned_site >= 0:
            R_TS = mul_tm(load_m(site_row, turned_site, SITE_ROTATION), R_WS)
            f, n = mul_mv(R_TS, f), mul_mv(R_TS, n)
        put3(value_out, at, scale(sign, f))
        put3(value_out, at + 3, scale(sign, n))
        return
    spin = into_axes(R_WS, load3(site_row, site, SITE_W))
    p = load3(site_row, site, SITE_POSITION)
    fall = gravity_at(gravity, p)
    if code != GYRO and world.fields(observer).call[HAS_GRAVITY] != 0:
        fall = add(fall, function_gravity(observer, p))
    felt = into_axes(R_WS, sub(load3(site_row, site, SITE_DV), fall))
    if code == IMU:
        put_quaternion(value_out, at, R_WS)
        put3(value_out, at + IMU_GYRO, spin)
        put3(value_out, at + IMU_ACCELEROMETER, felt)
    elif code == GYRO:
        put3(value_out, at, spin)
    else:
        put3(value_out, at, felt)


@kernel
def put3(vector_out, at, v):
    """Write a triple into a vector."""
    vector_out[at], vector_out[at + 1], vector_out[at + 2] = v


@kernel
def into_axes(m, v):
    """Return mᵀ v."""
    # The sum starts at 0: this leaves one way to fuse the terms, the same as in BLAS.
    return (
        0.0 + m[0][0] * v[0] + m[1][0] * v[1] + m[2][0] * v[2],
        0.0 + m[0][1] * v[0] + m[1][1] * v[1] + m[2][1] * v[2],
        0.0 + m[0][2] * v[0] + m[1][2] * v[1] + m[2][2] * v[2],
    )


@kernel
def mul_tm(a, b):
    """Return aᵀ b."""
    return (
        into_axes(b, (a[0][0], a[1][0], a[2][0])),
        into_axes(b, (a[0][1], a[1][1], a[2][1])),
        into_axes(b, (a[0][2], a[1][2], a[2][2])),
    )


@kernel
def put_quaternion(vector_out, at, m):
    """Write a rotation as unit quaternion x y z w (w >= 0), or nan (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = m
    # four times the squares x², y², z² and w²
    x2, y2, z2 = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    w2 = 1.0 + xx + yy + zz
    largest = max(x2, y2, z2, w2)
    # four times the products with the largest
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
    put3(vector_out, at, scale(factor, (x, y, z)))
    vector_out[at + 3] = factor * w
