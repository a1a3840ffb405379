"""
Sensor readings by rays, contacts and place, in a call needed by few worlds.

The settings for a ray sensor are the least and the greatest distance [m], the step between
measured distances [m], 0 for none, then the unit vector for each ray in the sensor frame. A
distance is inf if nothing is within range, and -inf below the least distance (REP 117). Rays leave
a shape from inside without a hit, as in a renderer with back-face culling: a sensor's housing does
not blind it.

The settings for a contact sensor are the watched geometry numbers; `place_readings` describes
those for sensors measured by place. A camera has no settings: its sample is the frames and
velocities of all links and sensors, from which pictures are rendered later.
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
from sim_bridge.engine.pipeline.observe import SITE_DW, SITE_POSITION, SITE_ROTATION, SITE_V
from sim_bridge.sensors.columns import (
    CODE,
    CONTACTS,
    FAMILY,
    IMAGES,
    MOTION,
    PERIOD,
    PLACE,
    SAMPLE_AT,
    SETTINGS_AT,
    SETTINGS_SIZE,
    SITE,
    SIZE,
)
from sim_bridge.sensors.place_readings import read_place

NEAREST, EACH = range(2)
RAY_CODES = {'range': NEAREST, 'lidar': EACH}
"""Codes for the sensor kinds measured by rays, by word: the least distance, or all."""
CONTACT_CODES = {'contact': 0}
"""Codes for the sensor kinds measured by contacts, by word."""

CAMERA_CODES = {'camera': 0}
"""Codes for the sensor kinds that keep poses for pictures, by word."""

# settings for a ray sensor: distance limits and step, then the rays
LEAST, GREATEST, RESOLUTION, BEAMS = range(4)

STEP = 1
"""Word in the call with the step number."""


@entry
def measure_surroundings(
    table: Table, step: int, device: IntMatrix, site_row: FloatMatrix, allowed: IntVector
):
    """
    Write the true values for the devices due after a step, except readings by motion.

    table: handle with the present poses in its workspace. device, site_row: as in
    `step_and_sample.advance`. allowed: as in `ray.cast`, (0,).
    """
    geometry, scratch = world.geometry(table), world.collision(table)
    scene, is_planted = (geometry.body.shape[0], 0, 0, 0.0), False
    for k in range(device.shape[0]):
        if device[k, FAMILY] != MOTION and step % device[k, PERIOD] == 0:
            site, size = device[k, SITE], device[k, SIZE]
            R, p = load_m(site_row, site, SITE_ROTATION), load3(site_row, site, SITE_POSITION)
            values = floats_at(device[k, SAMPLE_AT], 2 * size)
            if device[k, FAMILY] == CONTACTS:
                watched = ints_at(device[k, SETTINGS_AT], device[k, SETTINGS_SIZE])
                feel(
                    world.state(table), world.options(table).time_step, watched, R, p, values, size
                )
                continue
            if device[k, FAMILY] == IMAGES:
                sample_motion(site_row, values, size)
                continue
            settings = floats_at(device[k, SETTINGS_AT], device[k, SETTINGS_SIZE])
            if device[k, FAMILY] == PLACE:
                v = load3(site_row, site, SITE_V)
                read_place(device[k, CODE], R, p, v, settings, values, size)
                continue
            if not is_planted:
                scene, is_planted = plant(geometry, world.workspace(table).pose, scratch), True
            is_nearest = device[k, CODE] == NEAREST
            if is_nearest:
                values[size] = math.inf
            for ray in range((device[k, SETTINGS_SIZE] - BEAMS) // 3):
                way = scale(settings[GREATEST], mul_mv(R, load_v(settings, BEAMS + 3 * ray)))
                g, share, _ = nearest(geometry, scratch, scene, p, way, allowed, CULLED)
                distance = share * settings[GREATEST]
                if g == NOTHING:
                    distance = math.inf
                elif distance < settings[LEAST]:
                    distance = -math.inf
                if is_nearest:
                    values[size] = min(values[size], distance)
                else:
                    values[size + ray] = distance


@kernel
def sample_motion(site_row, value_out, at):
    """Write all link and sensor frames with their velocities from a place on, each as (18,)."""
    for site in range(site_row.shape[0]):
        # rotation, position, angular and linear velocity are neighbours
        for k in range(SITE_DW):
            value_out[at + SITE_DW * site + k] = site_row[site, SITE_ROTATION + k]


@kernel
def feel(state, h, watched, R, p, value_out, at):
    """
    Write force, torque and contact count on some geometries, from a place on.

    h: last step length [s]. watched: geometry numbers, ascending. R, p: frame for the values,
    about its origin. A contact counts if it touches or transfers force.
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
