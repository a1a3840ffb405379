"""
What range sensors and lidars measure: a call of its own, as only few worlds have them.

A device has an array, its *scan*: the least and the greatest distance [m], what measured ones are
multiples of [m], 0 for nothing, then the unit vector of each ray in its frame. A distance is inf
where nothing is within range, and -inf where it is below the least (REP 117). Rays leave what they
begin in unnoticed, as those of a renderer that shows no backs: the housing of a sensor does not
blind it.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at
from sim_bridge.compiler.table import Table
from sim_bridge.engine.collision.ray.cast import CULLED, nearest, NOTHING, plant
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.math.mat3 import load_m, mul_mv
from sim_bridge.engine.math.vec3 import load3, load_v, scale
from sim_bridge.engine.pipeline.observe import SITE_POSITION, SITE_ROTATION
from sim_bridge.sensors.columns import KIND, PERIOD, SAMPLE_AT, SCAN_AT, SCAN_SIZE, SITE, SIZE
from sim_bridge.sensors.readings import LIDAR, RANGE

# a scan: least and greatest distance, resolution, rays
LEAST, GREATEST, RESOLUTION, BEAMS = range(4)

STEP = 1
"""Word of the call that says after which step."""


@entry
def scan_all(
    table: Table, step: int, device: IntMatrix, site_row: FloatMatrix, allowed: IntVector
):
    """
    Write the true distances of all devices that are due after a step and measure by rays.

    table: a handle whose workspace has the present poses. device, site_row: as of
    `step_and_sample.advance`. allowed: as of `ray.cast`, (0,).
    """
    geometry, scratch = world.geometry(table), world.collision(table)
    scene = plant(geometry, world.workspace(table).pose, allowed, 0, scratch)
    for k in range(device.shape[0]):
        if scans(device[k, KIND]) and step % device[k, PERIOD] == 0:
            site, size = device[k, SITE], device[k, SIZE]
            R, p = load_m(site_row, site, SITE_ROTATION), load3(site_row, site, SITE_POSITION)
            rays = floats_at(device[k, SCAN_AT], device[k, SCAN_SIZE])
            values = floats_at(device[k, SAMPLE_AT], 2 * size)
            if device[k, KIND] == RANGE:
                values[size] = math.inf
            for ray in range((device[k, SCAN_SIZE] - BEAMS) // 3):
                way = scale(rays[GREATEST], mul_mv(R, load_v(rays, BEAMS + 3 * ray)))
                g, share, _ = nearest(geometry, scratch, scene, p, way, CULLED)
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
def scans(kind):
    """Return whether a kind of device measures by rays."""
    return kind == RANGE or kind == LIDAR
