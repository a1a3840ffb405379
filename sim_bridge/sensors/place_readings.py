"""
Sensor readings by place: magnetometers, altimeters, barometers, pose and position sensors.

Each needs the pose and velocity of the sensor frame in the world, and its settings as numbers.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.math.geodesy import east_north_up, geodetic_of
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, load_v, store_v
from sim_bridge.sensors.readings import put_quaternion

MAGNETOMETER, ALTIMETER, AIR_PRESSURE, POSE, NAVSAT = range(5)
CODES = {
    'magnetometer': MAGNETOMETER,
    'altimeter': ALTIMETER,
    'air_pressure': AIR_PRESSURE,
    'pose': POSE,
    'navsat': NAVSAT,
}
"""Codes for the sensor kinds measured by place, by word."""

# standard atmosphere: sea level pressure [Pa], temperature share lost per metre [1/m]
_SEA_LEVEL, _LAPSE = 101325.0, 0.0065 / 288.15
_DEGREES = 180.0 / math.pi

# settings for NAVSAT: the world origin's ECEF position, world axes in ECEF and along east,
# north and up, by rows; whether velocities are north, west, up
_CENTER, _AXES, _HEADING, _IS_NWU = 0, 3, 12, 21
# sample for NAVSAT: position (east, north, up from the origin), velocity; then latitude, longitude
# and altitude
_POSITION, _VELOCITY, _FIX = 0, 3, 6


@kernel
def read_place(code, R, p, v, settings, value_out, at):
    """
    Write a device's reading into a vector, from a place on.

    code: one of CODES. R, p, v: rotation, position [m] and velocity [m/s] of the sensor frame in
    the world. settings: (n,) the kind's settings as numbers, in field order.
    """
    if code == MAGNETOMETER:
        store_v(value_out, at, mul_tv(R, load_v(settings, 0)))
    elif code == ALTIMETER:
        value_out[at], value_out[at + 1] = p[2], v[2]
    elif code == AIR_PRESSURE:
        # troposphere, as in Gazebo's AirPressureSensor
        share = max(1.0 - _LAPSE * (p[2] + settings[0]), 0.0)
        value_out[at] = _SEA_LEVEL * math.pow(share, 5.2561)
    elif code == POSE:
        store_v(value_out, at, p)
        put_quaternion(value_out, at + 3, R)
    elif code == NAVSAT:
        position = mul_tv(load_rows(settings, _HEADING), p)
        store_v(value_out, at + _POSITION, position)
        write_fix(settings, value_out, at)
        velocity = mul_tv(load_rows(settings, _HEADING), v)
        if not math.isnan(settings[_CENTER]):
            velocity = mul_mv(horizon(settings, position), mul_tv(load_rows(settings, _AXES), v))
        if settings[_IS_NWU] != 0.0:
            velocity = velocity[1], -velocity[0], velocity[2]
        store_v(value_out, at + _VELOCITY, velocity)


@kernel
def write_fix(settings, value_inout, at):
    """Write latitude [deg], longitude [deg] and altitude [m] for a sample's position."""
    position = load_v(value_inout, at + _POSITION)
    s, c, sin_longitude, cos_longitude, height = geodetic_of(ecef(settings, position))
    value_inout[at + _FIX] = math.atan2(s, c) * _DEGREES
    value_inout[at + _FIX + 1] = math.atan2(sin_longitude, cos_longitude) * _DEGREES
    value_inout[at + _FIX + 2] = height


@kernel
def horizon(settings, position):
    """Return the rotation, by rows, from ECEF axes to east, north and up at a position."""
    s, c, sin_longitude, cos_longitude, _ = geodetic_of(ecef(settings, position))
    return east_north_up(s, c, sin_longitude, cos_longitude)


@kernel
def ecef(settings, position):
    """Return the ECEF position [m] for a position along east, north and up from the origin."""
    in_world = mul_mv(load_rows(settings, _HEADING), position)
    return add(load_v(settings, _CENTER), mul_tv(load_rows(settings, _AXES), in_world))


@kernel
def load_rows(array, at):
    """Read a matrix, stored by rows, from a 1-d array."""
    return load_v(array, at), load_v(array, at + 3), load_v(array, at + 6)
