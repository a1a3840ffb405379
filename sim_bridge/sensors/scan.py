"""
What lidars, contact sensors and the like measure: a call of its own, as few worlds have them.

A device that measures by rays has an array, its *scan*: the least and the greatest distance [m],
what measured ones are multiples of [m], 0 for nothing, then the unit vector of each ray in its
frame. A distance is inf where nothing is within range, and -inf where it is below the least (REP
117). Rays leave what they begin in unnoticed, as those of a renderer that shows no backs: the
housing of a sensor does not blind it.

A contact sensor has the numbers of the geometries that it watches instead, a magnetometer the
magnetic field of the world [T], an air pressure sensor the altitude of the world's origin [m].
"""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at, ints_at
from sim_bridge.engine.collision.broad.filters import contains
from sim_bridge.engine.collision.ray.cast import CULLED, nearest, NOTHING, plant
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.math.mat3 import load_m, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, store_v, sub, ZERO
from sim_bridge.engine.pipeline.observe import SITE_POSITION, SITE_ROTATION, SITE_V
from sim_bridge.sensors.columns import KIND, PERIOD, SAMPLE_AT, SCAN_AT, SCAN_SIZE, SITE, SIZE
from sim_bridge.sensors.readings import (
    AIR_PRESSURE,
    ALTIMETER,
    CONTACT,
    MAGNETOMETER,
    put_quaternion,
    RANGE,
)

# a scan: least and greatest distance, resolution, rays
LEAST, GREATEST, RESOLUTION, BEAMS = range(4)

# of the standard atmosphere: pressure [Pa], and share of the temperature that a metre takes [1/m]
_SEA_LEVEL, _LAPSE = 101325.0, 0.0065 / 288.15

STEP = 1
"""Word of the call that says after which step."""


@entry
def scan_all(
    table: Table, step: int, device: IntMatrix, site_row: FloatMatrix, allowed: IntVector
):
    """
    Write the truth of all devices that are due after a step, of the kinds that `scans` tells.

    table: a handle whose workspace has the present poses. device, site_row: as of
    `step_and_sample.advance`. allowed: as of `ray.cast`, (0,).
    """
    geometry, scratch = world.geometry(table), world.collision(table)
    scene, is_planted = (geometry.body.shape[0], 0, 0, 0.0), False
    for k in range(device.shape[0]):
        if scans(device[k, KIND]) and step % device[k, PERIOD] == 0:
            site, size = device[k, SITE], device[k, SIZE]
            R, p = load_m(site_row, site, SITE_ROTATION), load3(site_row, site, SITE_POSITION)
            values = floats_at(device[k, SAMPLE_AT], 2 * size)
            if device[k, KIND] == CONTACT:
                watched = ints_at(device[k, SCAN_AT], device[k, SCAN_SIZE])
                feel(
                    world.state(table), world.options(table).time_step, watched, R, p, values, size
                )
                continue
            if device[k, KIND] >= MAGNETOMETER:
                scan = floats_at(device[k, SCAN_AT], device[k, SCAN_SIZE])
                tell_place(device[k, KIND], R, p, site_row[site, SITE_V + 2], scan, values, size)
                continue
            if not is_planted:
                scene, is_planted = plant(geometry, world.workspace(table).pose, scratch), True
            rays = floats_at(device[k, SCAN_AT], device[k, SCAN_SIZE])
            if device[k, KIND] == RANGE:
                values[size] = math.inf
            for ray in range((device[k, SCAN_SIZE] - BEAMS) // 3):
                way = scale(rays[GREATEST], mul_mv(R, load_v(rays, BEAMS + 3 * ray)))
                g, share, _ = nearest(geometry, scratch, scene, p, way, allowed, CULLED)
                distance = share * rays[GREATEST]
                if g == NOTHING:
                    distance = math.inf
                elif distance < rays[LEAST]:
                    distance = -math.inf
                if device[k, KIND] == RANGE:
                    values[size] = min(values[size], distance)
                else:
                    values[size + ray] = distance


@kernel
def tell_place(kind, R, p, rate, scan, value_out, at):
    """Write what follows from where the sensor is; rate: of its height [m/s]."""
    if kind == MAGNETOMETER:
        store_v(value_out, at, mul_tv(R, load_v(scan, 0)))
    elif kind == ALTIMETER:
        value_out[at], value_out[at + 1] = p[2], rate
    elif kind == AIR_PRESSURE:
        # of the troposphere, as Gazebo's AirPressureSensor computes it
        share = max(1.0 - _LAPSE * (p[2] + scan[0]), 0.0)
        value_out[at] = _SEA_LEVEL * math.pow(share, 5.2561)
    else:
        store_v(value_out, at, p)
        put_quaternion(value_out, at + 3, R)


@kernel
def feel(state, h, watched, R, p, value_out, at):
    """
    Write force and torque of contacts on some geometries, and how many touch, from a place on.

    h: length of the last step [s]. watched: numbers of the geometries, ascending. R, p: the frame
    of what is written, about its origin.
    """
    force, torque, touching = ZERO, ZERO, 0.0
    for contact in range(state.contact_size[0]):
        for side in range(2):
            if contains(watched, state.contact_geometry[contact, side]):
                share = (1.0 - 2.0 * side) / h
                f = scale(share, load3(state.contact_impulse, contact, 0))
                n = scale(share, load3(state.contact_impulse, contact, 3))
                arm = sub(load3(state.contact_point, contact, 0), p)
                force, torque = add(force, f), add(torque, add(n, cross(arm, f)))
                if state.contact_gap[contact] <= 0.0 or dot(f, f) > 0.0:
                    touching += 1.0
    store_v(value_out, at, mul_tv(R, force))
    store_v(value_out, at + 3, mul_tv(R, torque))
    value_out[at + 6] = touching


@kernel
def scans(kind):
    """Return whether the call of this module measures what a kind of device does."""
    return kind >= RANGE
