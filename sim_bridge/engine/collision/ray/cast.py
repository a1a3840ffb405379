"""Many line segments against all geometries, at the state in a handle's table."""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import bound_geometry, frame_in_world
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.ray.lanes import build_lanes, next_item
from sim_bridge.engine.collision.ray.strike import normal_at, strike
from sim_bridge.engine.collision.ray.tree import slabs_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.geometry import ENABLED, LINE, PLANE, SENSOR
from sim_bridge.engine.dynamics.kinematics import place_body
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import store_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, sub

# hit columns: share of the way, point [m] and normal, world
SHARE, POINT, NORMAL = 0, 1, 4
HIT_SIZE = 7
NOTHING = -1

# option bits: ignore crossings from inside to outside; hit sensors too
CULLED, SENSORS = 1, 2

# kept_inout holds whether a scene is planted, then the integers returned by `plant`; place_inout
# holds the size returned by `plant`, then q
IS_PLANTED, ENDLESS, TOP, GROUPS = range(4)
KEPT_SIZE = 4
SIZE, FIRST_Q = 0, 1

FARTHEST = 1e100
"""Greatest coordinate of a point [m]; its square is still finite."""


@entry
def cast_nearest(
    table: Table,
    start: FloatMatrix,
    end: FloatMatrix,
    allowed: IntVector,
    options: int,
    kept_inout: IntVector,
    place_inout: FloatVector,
    struck_out: IntVector,
    point_out: FloatMatrix,
    normal_out: FloatMatrix,
    distance_out: FloatVector,
    depth_out: FloatVector,
):
    """
    Find the nearest geometry on each segment.

    start, end: (n, 3) [m], or (1, 3) for a common one. allowed: (ng,) 0 for geometries to ignore;
    (0,) to allow all. options: bits CULLED, SENSORS. kept_inout, place_inout: as for
    `plant_changed`. struck_out: (n,) geometry, or NOTHING. point_out, normal_out: (n, 3).
    distance_out, depth_out: (n,) distance from the start and to the end [m]; nan without a hit.
    Returns whether all points are within FARTHEST; if not, nothing is computed.
    """
    if not (are_near(start) and are_near(end)):
        return False
    scene = plant_changed(table, kept_inout, place_inout)
    geometry, scratch = world.geometry(table), world.collision(table)
    for row in range(struck_out.shape[0]):
        o = load3(start, row if row < start.shape[0] else 0, 0)
        way = sub(load3(end, row if row < end.shape[0] else 0, 0), o)
        g, share, face = nearest(geometry, scratch, scene, o, way, allowed, options)
        share, point, normal = hit_at(geometry, scratch, o, way, g, share, face)
        struck_out[row] = g
        store3(point_out, row, 0, point)
        store3(normal_out, row, 0, normal)
        distance_out[row], depth_out[row] = share, share
        if g != NOTHING:
            length = length_of(way)
            distance_out[row], depth_out[row] = share * length, (1.0 - share) * length
    return True


@entry
def cast_all(
    table: Table,
    segment: FloatMatrix,
    allowed: IntVector,
    options: int,
    kept_inout: IntVector,
    place_inout: FloatVector,
    struck_out: IntMatrix,
    hit_out: FloatMatrix,
):
    """
    Find all geometries on each segment, each at the segment's first crossing of its surface.

    segment: (n, 6) start and vector to the end [m], within FARTHEST. allowed to place_inout: as
    for `cast_nearest`. struck_out: (m, 2) segment and geometry. hit_out: (m, 7) columns SHARE,
    POINT, NORMAL, in segment order. Returns the hit count; the first m hits
    are written.
    """
    scene = plant_changed(table, kept_inout, place_inout)
    geometry, scratch = world.geometry(table), world.collision(table)
    total = 0
    for row in range(segment.shape[0]):
        start, way = load3(segment, row, 0), load3(segment, row, 3)
        total = every(
            geometry, scratch, scene, start, way, allowed, options, row, total, struck_out, hit_out
        )
    return total


@kernel
def are_near(point):
    """Return whether all point coordinates are within FARTHEST."""
    far = 0
    for row in range(point.shape[0]):
        x, y, z = load3(point, row, 0)
        # without a branch per coordinate; counts nan, too
        far += (
            int(not abs(x) <= FARTHEST) | int(not abs(y) <= FARTHEST) | int(not abs(z) <= FARTHEST)
        )
    return far == 0


@kernel
def length_of(way):
    """Return the length of a vector."""
    # each product is rounded, so that the result equals numpy's bits
    x, y, z = float(way[0] * way[0]), float(way[1] * way[1]), float(way[2] * way[2])
    return math.sqrt(x + y + z)


@kernel
def plant_changed(table, kept_inout, place_inout):
    """
    Return the scene in a handle's table as `plant`, planted again only after a change.

    kept_inout: (KEPT_SIZE,) entries IS_PLANTED …; set to 0 before the first call, and after a
    change of parameters. place_inout: (1 + nq,) size of the scene, and its q.
    """
    state, ws = world.state(table), world.workspace(table)
    changed = int(kept_inout[IS_PLANTED] == 0)
    for k in range(state.q.shape[0]):
        changed |= int(state.q[k] != place_inout[FIRST_Q + k])
    if changed != 0:
        model = world.model(table)
        for k in range(state.q.shape[0]):
            place_inout[FIRST_Q + k] = state.q[k]
        for body in range(model.parent.shape[0]):
            place_body(model, state.q, ws, body)
        endless, top, groups, size = plant(world.geometry(table), ws.pose, world.collision(table))
        kept_inout[IS_PLANTED], kept_inout[ENDLESS] = 1, endless
        kept_inout[TOP], kept_inout[GROUPS] = top, groups
        place_inout[SIZE] = size
    return kept_inout[ENDLESS], kept_inout[TOP], kept_inout[GROUPS], place_inout[SIZE]


@kernel
def plant(geometry, pose, scratch_out):
    """
    Place the geometries; sort those into a tree that are finite and may be hit by lines.

    pose: (nb, 12) body poses. scratch.order lists the geometries in the tree first, the planes
    last. Returns the place of the first plane, and the results of `build_lanes`.
    """
    box, order = scratch_out.box, scratch_out.order
    count, end = 0, geometry.body.shape[0]
    endless = end
    for g in range(end):
        if geometry.flags[g] & (ENABLED | LINE) == ENABLED:
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
def may_be_hit(geometry, g, allowed, options):
    """Return whether a line cast with these options may hit a planted geometry."""
    if geometry.flags[g] & SENSOR != 0 and options & SENSORS == 0:
        return False
    return allowed.shape[0] == 0 or allowed[g] != 0


@subroutine
def nearest(geometry, scratch, scene, start, way, allowed, options):
    """Return the nearest geometry on a segment, the share of the way to it, and the face."""
    endless, top, groups, size = scene
    g, share, face = NOTHING, 1.0, 0
    square = dot(way, way)
    if not 0.0 < square < math.inf:
        return g, share, face
    is_culled = options & CULLED != 0
    for at in range(endless, geometry.body.shape[0]):
        other = scratch.order[at]
        if may_be_hit(geometry, other, allowed, options):
            t, its_face = strike(
                geometry, other, geometry_pose(scratch, other), start, way, share, is_culled
            )
            if is_nearer(t, other, share, g):
                g, share, face = other, t, its_face
    slabs = slabs_of(start, way, size)
    group, level = 0, top + 1
    while True:
        at, group, level = next_item(scratch, top, groups, slabs, share, group, level)
        if at < 0:
            return g, share, face
        other = scratch.order[at]
        if may_be_hit(geometry, other, allowed, options):
            t, its_face = strike(
                geometry, other, geometry_pose(scratch, other), start, way, share, is_culled
            )
            if is_nearer(t, other, share, g):
                g, share, face = other, t, its_face


@kernel
def is_nearer(t, other, share, g):
    """Return whether a geometry at t is nearer than the nearest one; at equal t, the lower one."""
    return t < share or (t == share and (g == NOTHING or other < g))


@subroutine
def every(geometry, scratch, scene, start, way, allowed, options, row, total, struck_out, hit_out):
    """Append all geometries on a segment; return the new total."""
    endless, top, groups, size = scene
    square = dot(way, way)
    if not 0.0 < square < math.inf:
        return total
    for at in range(endless, geometry.body.shape[0]):
        total = append(
            geometry,
            scratch,
            scratch.order[at],
            start,
            way,
            allowed,
            options,
            row,
            total,
            struck_out,
            hit_out,
        )
    slabs = slabs_of(start, way, size)
    group, level = 0, top + 1
    while True:
        at, group, level = next_item(scratch, top, groups, slabs, 1.0, group, level)
        if at < 0:
            return total
        total = append(
            geometry,
            scratch,
            scratch.order[at],
            start,
            way,
            allowed,
            options,
            row,
            total,
            struck_out,
            hit_out,
        )


@kernel
def append(geometry, scratch, g, start, way, allowed, options, row, total, struck_out, hit_out):
    """Append a geometry if it is on a segment; return the new total."""
    if not may_be_hit(geometry, g, allowed, options):
        return total
    share, face = strike(
        geometry, g, geometry_pose(scratch, g), start, way, 1.0, options & CULLED != 0
    )
    if share > 1.0:
        return total
    if total < struck_out.shape[0]:
        share, point, normal = hit_at(geometry, scratch, start, way, g, share, face)
        struck_out[total, 0], struck_out[total, 1] = row, g
        hit_out[total, SHARE] = share
        store3(hit_out, total, POINT, point)
        store3(hit_out, total, NORMAL, normal)
    return total + 1


@kernel
def hit_at(geometry, scratch, start, way, g, share, face):
    """Return a hit's share of the way, point and normal; nan for NOTHING."""
    if g == NOTHING:
        nowhere = (math.nan, math.nan, math.nan)
        return math.nan, nowhere, nowhere
    point = add(start, scale(share, way))
    return share, point, normal_at(geometry, g, geometry_pose(scratch, g), face, point)
