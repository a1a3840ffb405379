"""
Sensor readings by place: magnetometers, altimeters, barometers and pose sensors.

Each needs the pose and velocity of the sensor frame in the world, and its settings as numbers.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.vec3 import load_v, store_v
from sim_bridge.sensors.readings import put_quaternion

MAGNETOMETER, ALTIMETER, AIR_PRESSURE, POSE = range(4)
CODES = {
    'magnetometer': MAGNETOMETER,
    'altimeter': ALTIMETER,
    'air_pressure': AIR_PRESSURE,
    'pose': POSE,
}
"""Codes for the sensor kinds measured by place, by word."""

# standard atmosphere: sea level pressure [Pa], temperature share lost per metre [1/m]
_SEA_LEVEL, _LAPSE = 101325.0, 0.0065 / 288.15


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
