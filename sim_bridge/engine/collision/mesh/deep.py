"""
Separating contacts for two closed meshes deep in each other, without any contact of triangles.

One mesh leaves over the crossed face with the least depth. Its points below the face's plane are
pushed out, each by its own depth.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import spread_along
from sim_bridge.engine.collision.clip.reduce import reduce_candidates
from sim_bridge.engine.collision.contact_rows import geometry_pose
from sim_bridge.engine.collision.mesh.sunk import FACE
from sim_bridge.engine.collision.mesh.triangles import (
    corners_in_world,
    next_triangle,
    triangle_box,
    triangle_number,
    unit_normal,
)
from sim_bridge.engine.collision.narrow.narrow import triangles_distance
from sim_bridge.engine.data.collision_scratch import CANDIDATES
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, load3, norm, scale, store3, sub

KEPT = 64
"""Points kept if there are more than CANDIDATES."""


@subroutine
def push_meshes_apart(geometry, surface, other, low, high, scratch_inout):
    """
    Collect contacts between two closed meshes deep in each other; return their number.

    low, high: corners of a box around the surface, in the frame of the other mesh. Normals point
    from the surface to the other mesh.
    """
    pose_s, pose_o = geometry_pose(scratch_inout, surface), geometry_pose(scratch_inout, other)
    least, face, is_of_other, outer = math.inf, -1, False, 0
    while True:
        s, outer = next_triangle(geometry, other, low, high, outer)
        if s < 0:
            break
        y0, y1, y2 = corners_in_world(geometry, other, pose_o, s)
        inner_low, inner_high = triangle_box(y0, y1, y2, pose_s, 0.0)
        cursor = 0
        while True:
            t, cursor = next_triangle(geometry, surface, inner_low, inner_high, cursor)
            if t < 0:
                break
            x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
            gap, _, _, _ = triangles_distance(geometry, scratch_inout, (y0, y1, y2), (x0, x1, x2))
            if gap >= 0.0:
                continue
            depth = depth_below(geometry, other, pose_o, unit_normal(x0, x1, x2), x0)
            if depth < least:
                least, face, is_of_other = depth, t, False
            depth = depth_below(geometry, surface, pose_s, unit_normal(y0, y1, y2), y0)
            if depth < least:
                least, face, is_of_other = depth, s, True
    if face < 0:
        return 0
    if is_of_other:
        return push_vertices(geometry, surface, other, face, -1.0, scratch_inout)
    return push_vertices(geometry, other, surface, face, 1.0, scratch_inout)


@kernel
def depth_below(geometry, g, pose, n, x):
    """Return how far a geometry's box reaches below the plane through x with the normal n [m]."""
    centre = add(pose[1], mul_mv(pose[0], load3(geometry.bounds, g, 0)))
    reach = spread_along(mul_tv(pose[0], n), load3(geometry.bounds, g, 3))
    return reach - dot(n, sub(centre, x)) if norm(n) > 0.0 else math.inf


@subroutine
def push_vertices(geometry, mesh, surface, face, sign, scratch_inout):
    """Collect a mesh's vertices below a face's plane; sign: multiplies the face's normal."""
    pose, pose_s = geometry_pose(scratch_inout, mesh), geometry_pose(scratch_inout, surface)
    x0, x1, x2 = corners_in_world(geometry, surface, pose_s, face)
    n = unit_normal(x0, x1, x2)
    number = triangle_number(geometry, surface, face) << 20
    first, end, count = geometry.vertex_range[mesh, 0], geometry.vertex_range[mesh, 1], 0
    for vertex in range(first, end):
        x = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, vertex, 0)))
        gap = dot(n, sub(x, x0))
        if gap >= 0.0:
            continue
        if count == CANDIDATES:
            size = norm(load3(geometry.bounds, mesh, 3))
            count = reduce_candidates(size, KEPT, count, scratch_inout)
        scratch_inout.candidate_feature[count] = number + FACE - 1 - (vertex - first)
        store3(scratch_inout.candidate_point, count, 0, sub(x, scale(0.5 * gap, n)))
        store3(scratch_inout.candidate_normal, count, 0, scale(sign, n))
        scratch_inout.candidate_gap[count] = gap
        count += 1
    return count
