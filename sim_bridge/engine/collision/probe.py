"""Distance queries outside steps, at the state in a handle's table."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.place import bound_geometry, frame_in_world
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.hollow.measure import measure_any
from sim_bridge.engine.collision.narrow.narrow import distance
from sim_bridge.engine.collision.query import measure
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import store_pose
from sim_bridge.engine.math.vec3 import add, load3, store3


@entry
def locate(table: Table):
    """Write the current poses of all geometries to the collision scratch."""
    place_all(table)


@entry
def bound(table: Table):
    """Write the current poses and bounding boxes of all geometries to the collision scratch."""
    place_all(table)
    geometry, scratch = world.geometry(table), world.collision(table)
    for g in range(geometry.body.shape[0]):
        R, p = geometry_pose(scratch, g)
        centre = add(p, mul_mv(R, load3(geometry.bounds, g, 0)))
        bound_geometry(geometry, g, R, p, centre, 0.0, scratch.box)


@entry
def measure_convex_pairs(table: Table, pairs: IntMatrix, measured_out: FloatMatrix):
    """Measure pairs of convex geometries as `measure_pairs` does; compiles faster."""
    geometry, scratch = world.geometry(table), world.collision(table)
    place_all(table)
    for row in range(pairs.shape[0]):
        a, b = pairs[row, 0], pairs[row, 1]
        store_measured(
            measured_out,
            row,
            distance(
                geometry, scratch, a, b, geometry_pose(scratch, a), geometry_pose(scratch, b)
            ),
        )


@entry
def measure_pairs(table: Table, pairs: IntMatrix, measured_out: FloatMatrix):
    """
    Measure pairs of geometries; result as for `query.measure`.

    pairs: (n, 2). measured_out: (n, 10) signed distance [m], nearest point on the first geometry
    and on the second [m], world, and unit normal from the second to the first.
    """
    geometry, scratch = world.geometry(table), world.collision(table)
    place_all(table)
    for row in range(pairs.shape[0]):
        store_measured(
            measured_out,
            row,
            measure(geometry, pairs[row, 0], pairs[row, 1], scratch.pose, scratch),
        )


@entry
def measure_hollow_pairs(table: Table, pairs: IntMatrix, measured_out: FloatMatrix):
    """Measure pairs of geometries, including hollow ones; arguments as for `measure_pairs`."""
    geometry, scratch = world.geometry(table), world.collision(table)
    place_all(table)
    for row in range(pairs.shape[0]):
        store_measured(
            measured_out,
            row,
            measure_any(geometry, pairs[row, 0], pairs[row, 1], scratch.pose, scratch),
        )


@kernel
def store_measured(measured_out, row, measured):
    """Store a distance, two points and a normal in a row."""
    gap, point_a, point_b, normal = measured
    measured_out[row, 0] = gap
    store3(measured_out, row, 1, point_a)
    store3(measured_out, row, 4, point_b)
    store3(measured_out, row, 7, normal)


@kernel
def place_all(table):
    """Compute the poses of all bodies and geometries."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    geometry, scratch = world.geometry(table), world.collision(table)
    place(model, state.q, ws)
    for g in range(geometry.body.shape[0]):
        R, p = frame_in_world(geometry, g, ws.pose)
        store_pose(scratch.pose, g, R, p)
