"""
Contact points, or distance, of a pair of convex geometries.

Pairs are divided by their compilation cost. The closed pairs (`is_closed`) need arithmetic only;
all others use one generic distance query (GJK, EPA) and one face clipper.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.clip import clip_faces
from sim_bridge.engine.collision.narrow.closed_form import (
    store_normal,
    touch_ball,
    touch_balls,
    touch_boxes,
    touch_capsules,
)
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.collision.narrow.plane import collide_with_plane
from sim_bridge.engine.collision.support import margin_of, shape_of, support, triangle_of
from sim_bridge.engine.data.geometry import BOX, CAPSULE, PLANE, SPHERE
from sim_bridge.engine.math.mat3 import column, mul_mv
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, sub, ZERO


@kernel
def collide_closed(geometry, scratch, a, b, pose_a, pose_b, limit, points_out):
    """Find the contact points for a pair accepted by `is_closed`; see `collide_pair`."""
    low, high, pose_low, pose_high, sign = a, b, pose_a, pose_b, 1.0
    if geometry.shape[a] > geometry.shape[b]:
        low, high, pose_low, pose_high, sign = b, a, pose_b, pose_a, -1.0
    kind_low, kind_high = geometry.shape[low], geometry.shape[high]
    R, p, origin = pose_low[0], sub(pose_low[1], pose_high[1]), pose_high[1]
    size = load3(geometry.size, low, 0)
    count = 0
    if kind_low == PLANE:
        n = column(R, 2)
        count = collide_with_plane(
            geometry,
            scratch,
            shape_of(geometry, high, pose_high, origin),
            n,
            dot(n, p),
            limit,
            origin,
            points_out,
        )
        store_normal(count, scale(-sign, n), points_out)
    elif kind_low == SPHERE:
        if kind_high == SPHERE:
            count = touch_balls(
                size[0], p, geometry.size[high, 0], limit, origin, sign, points_out
            )
        else:
            count = touch_ball(
                size[0],
                p,
                shape_of(geometry, high, pose_high, origin),
                limit,
                origin,
                sign,
                points_out,
            )
    elif kind_high == CAPSULE:  # the low one is CAPSULE, too
        count = touch_capsules(
            size,
            p,
            column(R, 2),
            load3(geometry.size, high, 0),
            column(pose_high[0], 2),
            limit,
            origin,
            sign,
            points_out,
        )
    else:  # a CAPSULE or BOX and a BOX
        count = touch_boxes(
            scratch,
            shape_of(geometry, low, pose_low, origin),
            shape_of(geometry, high, pose_high, origin),
            limit,
            origin,
            sign,
            points_out,
        )
    return count


@subroutine
def collide_pair(geometry, scratch, a, b, pose_a, pose_b, limit, points_out):
    """
    Find the contact points between two convex geometries, no planes; return their number.

    pose_a, pose_b: world poses (R, p). limit: greatest gap of a point [m]. points_out: (first row,
    features, points, normals, gaps).
    """
    origin = pose_b[1]
    shape_a, shape_b = shape_of(geometry, a, pose_a, origin), shape_of(geometry, b, pose_b, origin)
    gap, nearest, _, n = measure_shapes(geometry, scratch, shape_a, shape_b, limit)
    if gap > limit:
        return 0
    count = clip_faces(
        geometry, scratch, shape_a, shape_b, n, limit, (gap, nearest), origin, points_out
    )
    store_normal(count, n, points_out)
    return count


@subroutine
def distance(geometry, scratch, a, b, pose_a, pose_b):
    """
    Return the distance between two convex geometries, their nearest points, and the normal.

    In penetration, the distance is the negative length of the minimum translation that separates
    the geometries. The normal points from b towards a. One geometry may be a plane.
    """
    origin = pose_b[1]
    if geometry.shape[a] == PLANE or geometry.shape[b] == PLANE:
        return _plane_distance(geometry, a, b, pose_a, pose_b)
    gap, x, y, n = measure_shapes(
        geometry,
        scratch,
        shape_of(geometry, a, pose_a, origin),
        shape_of(geometry, b, pose_b, origin),
        math.inf,
    )
    return gap, add(origin, x), add(origin, y), n


@kernel
def _plane_distance(geometry, a, b, pose_a, pose_b):
    """Measure a plane and another geometry, in either order; result as for `distance`."""
    plane, g, pose_plane, pose = a, b, pose_a, pose_b
    if geometry.shape[a] != PLANE:
        plane, g, pose_plane, pose = b, a, pose_b, pose_a
    up = column(pose_plane[0], 2)
    shape = shape_of(geometry, g, pose, pose[1])
    x, _ = support(geometry, shape, shape[4], scale(-1.0, up))
    x = sub(x, scale(margin_of(shape), up))
    gap = dot(up, x) - dot(up, sub(pose_plane[1], pose[1]))
    x = add(pose[1], x)
    y = sub(x, scale(gap, up))
    if plane == a:
        return gap, y, x, scale(-1.0, up)
    return gap, x, y, up


@subroutine
def triangle_distance(geometry, scratch, a, pose_a, triangle):
    """Measure a convex geometry a and a triangle b in the world; result as for `distance`."""
    t0, t1, t2 = triangle
    gap, x, y, n = measure_shapes(
        geometry, scratch, shape_of(geometry, a, pose_a, t0), triangle_of(t0, t1, t2, t0), math.inf
    )
    return gap, add(t0, x), add(t0, y), n


@kernel
def column_distance(geometry, scratch, a, pose_a, half, pose_b, low, high):
    """
    Measure a convex geometry and the column over a rectangle in the plane z = 0 of a pose.

    half: the rectangle's half sides [m]. low, high: corners of a box around a in the column's
    frame. The column is truncated far enough above and below this box that no separating
    translation leads over its ends.
    """
    origin = add(pose_b[1], mul_mv(pose_b[0], (0.0, 0.0, 0.5 * (low[2] + high[2]))))
    length = half[0] + half[1] + (high[0] - low[0]) + (high[1] - low[1]) + (high[2] - low[2])
    gap, x, y, n = measure_shapes(
        geometry,
        scratch,
        shape_of(geometry, a, pose_a, origin),
        (BOX, (half[0], half[1], length), pose_b[0], ZERO, 0, 0, 0, 0),
        math.inf,
    )
    return gap, add(origin, x), add(origin, y), n


@subroutine
def triangle_contacts(geometry, scratch, a, pose_a, triangle, n, limit, points_out):
    """
    Find the contact points between a convex geometry and a triangle along a given normal.

    n: unit vector from the triangle towards the geometry. Gaps are measured along n, even if it is
    not the least-distance direction. Returns the point count; the caller writes the
    normals.
    """
    t0, t1, t2 = triangle
    return clip_faces(
        geometry,
        scratch,
        shape_of(geometry, a, pose_a, t0),
        triangle_of(t0, t1, t2, t0),
        n,
        limit,
        (math.inf, n),
        t0,
        points_out,
    )


@subroutine
def triangles_distance(geometry, scratch, first, second):
    """Measure two triangles in the world; result as for `distance`."""
    s0, s1, s2 = first
    t0, t1, t2 = second
    gap, x, y, n = measure_shapes(
        geometry, scratch, triangle_of(s0, s1, s2, t0), triangle_of(t0, t1, t2, t0), math.inf
    )
    return gap, add(t0, x), add(t0, y), n


@subroutine
def triangles_contacts(geometry, scratch, first, second, n, limit, points_out):
    """Find the contact points between two triangles along n; see `triangle_contacts`."""
    s0, s1, s2 = first
    t0, t1, t2 = second
    return clip_faces(
        geometry,
        scratch,
        triangle_of(s0, s1, s2, t0),
        triangle_of(t0, t1, t2, t0),
        n,
        limit,
        (math.inf, n),
        t0,
        points_out,
    )
