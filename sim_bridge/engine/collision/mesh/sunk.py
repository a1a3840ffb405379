"""
Contacts that push sunk shapes out of a solid surface.

All shape points below the surface are pushed along one normal, the normal of the face on the way
out, each by its own depth. The shape therefore does not tilt on its way.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.reduce import reduce_candidates
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.mesh.triangles import (
    corners_in_world,
    is_beside,
    next_triangle,
    triangle_box,
    triangle_number,
    unit_normal,
)
from sim_bridge.engine.collision.narrow.plane import collide_with_plane
from sim_bridge.engine.collision.support import shape_of
from sim_bridge.engine.data.collision_scratch import CANDIDATES
from sim_bridge.engine.data.geometry import HEIGHT_FIELD, TERRAIN
from sim_bridge.engine.math.mat3 import column, mul_mv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, norm, scale, store3, sub

FACE = (1 << 20) - 1
"""Feature of a contact with a whole face; point features are below it, in descending order."""


MUCH_DEEPER = 2.0
"""A triangle that does not push may be sunk in this many times deeper than its neighbours."""
SHALLOW = 0.01
"""Depth of a mesh in the ground, relative to its size, up to which its contacts suffice."""
KEPT = 64
"""Points kept if there are more than CANDIDATES."""


@kernel
def is_ground(geometry, g):
    """Return whether a surface is solid below its triangles, along its z axis."""
    return geometry.shape[g] == HEIGHT_FIELD or geometry.flags[g] & TERRAIN != 0


@subroutine
def triangle_beyond(geometry, surface, pose_s, x, way):
    """
    Find the first triangle hit by the segment from x to x + way.

    Returns the triangle (-1 for none), and the share of the way to it.
    """
    low, high = triangle_box(x, add(x, way), x, pose_s, 0.0)
    nearest, least, cursor = -1, math.inf, 0
    while True:
        t, cursor = next_triangle(geometry, surface, low, high, cursor)
        if t < 0:
            return nearest, least
        x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
        if is_beside(x, way, x0, x1, x2):
            n = cross(sub(x1, x0), sub(x2, x0))
            share = dot(n, sub(x0, x)) / dot(n, way)
            if 0.0 <= share < least:
                nearest, least = t, share


@kernel
def way_up(geometry, surface, pose_s):
    """Return a vector along the z axis of ground, long enough to leave it from any point in it."""
    # three half heights: from a point at the lower end of the bounds, with room for rounding
    return scale(3.0 * geometry.bounds[surface, 5], column(pose_s[0], 2))


@subroutine
def push_out(
    geometry,  # model
    convex,
    surface,
    face,
    is_beside_face,
    count,
    scratch_inout,
):
    """
    Append the contacts of a convex shape that has sunk into a surface.

    They push along the normal of the triangle `face`, towards the shape. The points are
    the shape's contact points with that triangle's plane, if the surface is above them: along the
    z axis for ground, else along the normal. is_beside_face: whether the surface may be beside
    them; the plane alone then counts. Returns the candidate count; the caller provides room for
    MOST_POINTS.
    """
    pose, pose_s = geometry_pose(scratch_inout, convex), geometry_pose(scratch_inout, surface)
    x0, x1, x2 = corners_in_world(geometry, surface, pose_s, face)
    n = unit_normal(x0, x1, x2)
    number = triangle_number(geometry, surface, face) << 20
    point, gap = scratch_inout.candidate_point, scratch_inout.candidate_gap
    found = collide_with_plane(
        geometry,
        scratch_inout,
        shape_of(geometry, convex, pose, x0),
        n,
        0.0,
        0.0,
        x0,
        (count, scratch_inout.candidate_feature, point, scratch_inout.candidate_normal, gap),
    )
    kept = count
    for k in range(count, count + found):
        x = add(load3(point, k, 0), scale(0.5 * gap[k], n))
        way = scale(-2.0 * gap[k], n)
        if is_ground(geometry, surface):
            way = way_up(geometry, surface, pose_s)
        depth = -gap[k]
        if not is_beside_face:
            t, share = triangle_beyond(geometry, surface, pose_s, x, way)
            if t < 0:
                continue
            depth = share * dot(n, way)
        store3(point, kept, 0, add(x, scale(0.5 * depth, n)))
        store3(scratch_inout.candidate_normal, kept, 0, n)
        gap[kept] = -depth
        scratch_inout.candidate_feature[kept] = (
            number + FACE - 1 - scratch_inout.candidate_feature[k]
        )
        kept += 1
    return kept


@subroutine
def push_mesh_out(
    geometry,  # model
    mesh,
    ground,
    deepest,
    sign,
    count,
    scratch_inout,
):
    """
    Replace the contacts between a mesh and ground if they are shallower than the mesh has sunk.

    Contacts are replaced if a vertex is much deeper than the deepest contact. All vertices below
    the ground are then pushed along one normal, each by its own depth: the normal of the face
    above the mesh's middle, or else above the deepest vertex. sign: 1.0, or -1.0 for normals
    towards the ground. Returns the candidate count.
    """
    pose, pose_g = geometry_pose(scratch_inout, mesh), geometry_pose(scratch_inout, ground)
    way, up = way_up(geometry, ground, pose_g), column(pose_g[0], 2)
    top = dot(up, pose_g[1]) + geometry.bounds[ground, 2] + geometry.bounds[ground, 5]
    centre = add(pose[1], mul_mv(pose[0], load3(geometry.bounds, mesh, 0)))
    first, end = geometry.vertex_range[mesh, 0], geometry.vertex_range[mesh, 1]
    size = norm(load3(geometry.bounds, mesh, 3))
    sunk, face = 0.0, -1
    for vertex in range(first, end):
        x = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, vertex, 0)))
        if dot(up, x) < top:
            t, share = triangle_beyond(geometry, ground, pose_g, x, way)
            if t >= 0 and -share * dot(up, way) < sunk:
                sunk, face = -share * dot(up, way), t
    if sunk >= MUCH_DEEPER * deepest - SHALLOW * size:
        return count
    t, _ = triangle_beyond(geometry, ground, pose_g, centre, way)
    if t >= 0:
        face = t
    x0, x1, x2 = corners_in_world(geometry, ground, pose_g, face)
    n = unit_normal(x0, x1, x2)
    number = triangle_number(geometry, ground, face) << 20
    count = 0
    for vertex in range(first, end):
        x = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, vertex, 0)))
        if dot(up, x) >= top:
            continue
        t, share = triangle_beyond(geometry, ground, pose_g, x, way)
        if t < 0:
            continue
        if count == CANDIDATES:
            count = reduce_candidates(size, KEPT, count, scratch_inout)
        depth = share * dot(n, way)
        scratch_inout.candidate_feature[count] = number + FACE - 1 - (vertex - first)
        store3(scratch_inout.candidate_point, count, 0, add(x, scale(0.5 * depth, n)))
        store3(scratch_inout.candidate_normal, count, 0, scale(sign, n))
        scratch_inout.candidate_gap[count] = -depth
        count += 1
    return count
