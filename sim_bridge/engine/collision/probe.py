"""Distance queries outside of steps, at the state behind a handle's table."""

from __future__ import annotations

from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.table import Table
from sim_bridge.engine.collision.broad.place import frame_in_world
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.narrow.narrow import distance
from sim_bridge.engine.collision.query import measure
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.math.spatial import store_pose


@entry
def locate(table: Table):
    """Write the present poses of all geometries to the collision scratch."""
    place_all(table)


@entry
def measure_convex_pair(table: Table, a: int, b: int):
    """Measure two convex geometries, as `narrow.distance`; compiles faster than `measure_pair`."""
    geometry, scratch = world.geometry(table), world.collision(table)
    place_all(table)
    return distance(
        geometry, scratch, a, b, geometry_pose(scratch, a), geometry_pose(scratch, b))


@entry
def measure_pair(table: Table, a: int, b: int):
    """Measure two geometries, as `query.measure`."""
    geometry, scratch = world.geometry(table), world.collision(table)
    place_all(table)
    return measure(geometry, a, b, scratch.pose, scratch)


@kernel
def place_all(table):
    """Compute the poses of bodies and geometries."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    geometry, scratch = world.geometry(table), world.collision(table)
    place(model, state.q, ws)
    for g in range(geometry.body.shape[0]):
        R, p = frame_in_world(geometry, g, ws.pose)
        store_pose(scratch.pose, g, R, p)
