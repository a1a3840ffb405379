"""Many line segments against all geometries, at the state behind a handle's table."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.table import Table
from sim_bridge.engine.collision.broad.place import bound_geometry, frame_in_world
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.ray.lanes import build_lanes, next_item
from sim_bridge.engine.collision.ray.strike import normal_at, strike
from sim_bridge.engine.collision.ray.tree import slabs_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.geometry import ENABLED, LINE, PLANE, SENSOR
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import store_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3

# columns of hits: share of the way, point [m] and normal, world
SHARE, POINT, NORMAL = 0, 1, 4
HIT_SIZE = 7
NOTHING = -1

# bits of options: pass from inside to outside unnoticed; see sensors too
CULLED, SENSORS = 1, 2


@entry
def cast_nearest(
    table: Table, segment: FloatMatrix, allowed: IntVector, options: int, struck_out: IntVector,
    hit_out: FloatMatrix
):
    """
    Find the nearest geometry on each segment.

    segment: (n, 6) start and way [m]. allowed: (ng,) 0 for geometries that are passed; (0,) for
    none. options: of the bits above. struck_out: (n,) the geometry, NOTHING for none. hit_out:
    (n, 7) see the columns; nan where there is nothing.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    geometry, scratch = world.geometry(table), world.collision(table)
    scene = plant(geometry, ws.pose, allowed, options, scratch)
    for row in range(segment.shape[0]):
        start, way = load3(segment, row, 0), load3(segment, row, 3)
        g, share, face = nearest(geometry, scratch, scene, start, way, options)
        struck_out[row] = g
        store_hit(geometry, scratch, start, way, g, share, face, row, hit_out)


@entry
def cast_all(
    table: Table, segment: FloatMatrix, allowed: IntVector, options: int, struck_out: IntMatrix,
    hit_out: FloatMatrix
):
    """
    Find all geometries on each segment, each where the segment first crosses its surface.

    As `cast_nearest`, but struck_out: (m, 2) segment and geometry, hit_out: (m, 7), in order of
    the segments. Returns how many there are, of which the first m are written.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    geometry, scratch = world.geometry(table), world.collision(table)
    scene = plant(geometry, ws.pose, allowed, options, scratch)
    total = 0
    for row in range(segment.shape[0]):
        start, way = load3(segment, row, 0), load3(segment, row, 3)
        total = every(geometry, scratch, scene, start, way, options, row, total, struck_out,
                      hit_out)
    return total


@kernel
def plant(geometry, pose, allowed, options, scratch_out):
    """
    Place the geometries and sort those that may be hit into a tree.

    pose: (nb, 12) of the bodies. The first of `order` are in the tree, the last are planes.
    Returns where the planes begin, and of the tree what `build_lanes` returns.
    """
    box, order = scratch_out.box, scratch_out.order
    count, end = 0, geometry.body.shape[0]
    endless = end
    for g in range(end):
        if may_be_hit(geometry.flags[g], allowed, options, g):
            R, p = frame_in_world(geometry, g, pose)
            store_pose(scratch_out.pose, g, R, p)
            if geometry.shape[g] == PLANE:
                endless -= 1
                order[endless] = g
            else:
                centre = add(p, mul_mv(R, load3(geometry.bounds, g, 0)))
                bound_geometry(geometry, g, R, p, centre, 0.0, box)
                order[count] = g
                count += 1
    top, groups, size = build_lanes(box, count, order, scratch_out)
    return endless, top, groups, size


@kernel
def may_be_hit(flags, allowed, options, g):
    """Return whether lines may hit a geometry with these flags; not other lines."""
    if flags & (ENABLED | LINE) != ENABLED or (flags & SENSOR != 0 and options & SENSORS == 0):
        return False
    return allowed.shape[0] == 0 or allowed[g] != 0


@subroutine
def nearest(geometry, scratch, scene, start, way, options):
    """Return the nearest geometry on a segment, the share of the way to it, and the face."""
    endless, top, groups, size = scene
    g, share, face = NOTHING, 1.0, 0
    square = dot(way, way)
    if not 0.0 < square < math.inf:
        return g, share, face
    is_culled = options & CULLED != 0
    for at in range(endless, geometry.body.shape[0]):
        other = scratch.order[at]
        t, its_face = strike(
            geometry, other, geometry_pose(scratch, other), start, way, share, is_culled)
        if is_nearer(t, other, share, g):
            g, share, face = other, t, its_face
    slabs = slabs_of(start, way, size)
    group, level = 0, top + 1
    while True:
        at, group, level = next_item(scratch, top, groups, slabs, share, group, level)
        if at < 0:
            return g, share, face
        other = scratch.order[at]
        t, its_face = strike(
            geometry, other, geometry_pose(scratch, other), start, way, share, is_culled)
        if is_nearer(t, other, share, g):
            g, share, face = other, t, its_face


@kernel
def is_nearer(t, other, share, g):
    """Return whether a geometry at t comes before the nearest one; of two at once the lower."""
    return t < share or (t == share and (g == NOTHING or other < g))


@subroutine
def every(
    geometry, scratch, scene, start, way, options, row, total, struck_out, hit_out
):
    """Append all geometries on a segment; return the new total."""
    endless, top, groups, size = scene
    square = dot(way, way)
    if not 0.0 < square < math.inf:
        return total
    is_culled = options & CULLED != 0
    for at in range(endless, geometry.body.shape[0]):
        total = append(geometry, scratch, scratch.order[at], start, way, is_culled, row, total,
                       struck_out, hit_out)
    slabs = slabs_of(start, way, size)
    group, level = 0, top + 1
    while True:
        at, group, level = next_item(scratch, top, groups, slabs, 1.0, group, level)
        if at < 0:
            return total
        total = append(geometry, scratch, scratch.order[at], start, way, is_culled, row, total,
                       struck_out, hit_out)


@kernel
def append(
    geometry, scratch, g, start, way, is_culled, row, total, struck_out, hit_out
):
    """Append a geometry if it is on a segment; return the new total."""
    share, face = strike(
        geometry, g, geometry_pose(scratch, g), start, way, 1.0, is_culled)
    if share > 1.0:
        return total
    if total < struck_out.shape[0]:
        struck_out[total, 0], struck_out[total, 1] = row, g
        store_hit(geometry, scratch, start, way, g, share, face, total, hit_out)
    return total + 1


@kernel
def store_hit(geometry, scratch, start, way, g, share, face, row, hit_out):
    """Write a row of hits."""
    nowhere = (math.nan, math.nan, math.nan)
    point, normal = nowhere, nowhere
    if g == NOTHING:
        share = math.nan
    else:
        point = add(start, scale(share, way))
        normal = normal_at(geometry, g, geometry_pose(scratch, g), face, point)
    hit_out[row, SHARE] = share
    store3(hit_out, row, POINT, point)
    store3(hit_out, row, NORMAL, normal)
