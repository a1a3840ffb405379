"""
What a pair of convex geometries does to each other: contact points, or distance.

Pairs are split by what they cost to compile. The closed pairs (`is_closed`) need arithmetic only;
all others go through one generic distance query (GJK, EPA) and one clipper of faces.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.clip import clip_faces
from sim_bridge.engine.collision.clip.manifold import NARROW, WIDE
from sim_bridge.engine.collision.narrow.closed_form import (
    touch_ball,
    touch_balls,
    touch_boxes,
    touch_capsules,
)
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.collision.narrow.plane import collide_with_plane
from sim_bridge.engine.collision.support import margin_of, shape_of, support, triangle_of
from sim_bridge.engine.data.geometry import BOX, CAPSULE, PLANE, SPHERE
from sim_bridge.engine.math.vec3 import add, dot, load3, mul_mv, scale, store3, sub


@kernel
def collide_closed(
    geometry,  # model
    a, b, pose_a, pose_b, limit,  # state (read)
    polygon,  # scratch
    first_row, feature_out, point_out, normal_out, gap_out,
):
    """Find the contact points of a pair with `is_closed`; as `collide_pair`."""
    low, high, pose_low, pose_high, sign = a, b, pose_a, pose_b, 1.0
    if geometry.shape[a] > geometry.shape[b]:
        low, high, pose_low, pose_high, sign = b, a, pose_b, pose_a, -1.0
    kind_low, kind_high = geometry.shape[low], geometry.shape[high]
    R, p, origin = pose_low[0], sub(pose_low[1], pose_high[1]), pose_high[1]
    size = load3(geometry.size, low, 0)
    count = 0
    if kind_low == PLANE:
        n = (R[0][2], R[1][2], R[2][2])
        count = collide_with_plane(
            shape_of(geometry, high, pose_high, origin), geometry.vertex, geometry.ring_start,
            geometry.ring, n, dot(n, p), limit, origin, polygon,
            first_row, feature_out, point_out, gap_out)
        for row in range(first_row, first_row + count):
            store3(normal_out, row, 0, scale(-sign, n))
    elif kind_low == SPHERE:
        if kind_high == SPHERE:
            count = touch_balls(
                size[0], p, geometry.size[high, 0], limit, origin, sign, first_row,
                feature_out, point_out, normal_out, gap_out)
        else:
            count = touch_ball(
                size[0], p, shape_of(geometry, high, pose_high, origin), limit, origin, sign,
                first_row, feature_out, point_out, normal_out, gap_out)
    elif kind_high == CAPSULE:
        S = pose_high[0]
        count = touch_capsules(
            size, p, (R[0][2], R[1][2], R[2][2]), load3(geometry.size, high, 0),
            (S[0][2], S[1][2], S[2][2]), limit, origin, sign, first_row,
            feature_out, point_out, normal_out, gap_out)
    else:
        count = touch_boxes(
            shape_of(geometry, low, pose_low, origin), shape_of(geometry, high, pose_high, origin),
            limit, origin, sign, polygon,
            first_row, feature_out, point_out, normal_out, gap_out)
    return count


@subroutine
def collide_pair(
    geometry,  # model
    a, b, pose_a, pose_b, limit,  # state (read)
    expand_point, expand_plane, expand_face, polygon,  # scratch
    first_row, feature_out, point_out, normal_out, gap_out,
):
    """
    Find up to eight contact points of two convex geometries, no planes; give their number.

    Poses are (R, p), of the geometries in the world. Rows from `first_row` on are written for the
    points whose gap is at most `limit`.
    """
    origin = pose_b[1]
    shape_a, shape_b = shape_of(geometry, a, pose_a, origin), shape_of(geometry, b, pose_b, origin)
    faces_a, faces_b = _faces_of(geometry, a), _faces_of(geometry, b)
    gap, nearest, _, n = measure_shapes(
        shape_a, shape_b, faces_a, faces_b, geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, limit, expand_point, expand_plane, expand_face)
    if gap > limit:
        return 0
    count = clip_faces(
        shape_a, shape_b, faces_a, faces_b, geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, geometry.face_start, geometry.face_vertex,
        n, limit, gap, nearest, origin, WIDE, polygon,
        first_row, feature_out, point_out, gap_out)
    for row in range(first_row, first_row + count):
        store3(normal_out, row, 0, n)
    return count


@kernel
def _faces_of(geometry, g):
    """Return the range of a hull's faces."""
    return geometry.face_range[g, 0], geometry.face_range[g, 1]


@subroutine
def distance(
    geometry,  # model
    a, b, pose_a, pose_b,  # state (read)
    expand_point, expand_plane, expand_face,  # scratch
):
    """
    Measure two convex geometries; give distance, nearest point of a and of b, normal.

    The distance is negative inside: the shortest translation that parts them. The normal points
    from b towards a. One of the two may be a plane.
    """
    origin = pose_b[1]
    if geometry.shape[a] == PLANE or geometry.shape[b] == PLANE:
        return _plane_distance(geometry, a, b, pose_a, pose_b)
    gap, x, y, n = measure_shapes(
        shape_of(geometry, a, pose_a, origin), shape_of(geometry, b, pose_b, origin),
        _faces_of(geometry, a), _faces_of(geometry, b), geometry.vertex, geometry.ring_start,
        geometry.ring, geometry.face_plane, math.inf, expand_point, expand_plane, expand_face)
    return gap, add(origin, x), add(origin, y), n


@kernel
def _plane_distance(geometry, a, b, pose_a, pose_b):
    """Measure a plane and another geometry, in whatever order, as `distance`."""
    plane, g, pose_plane, pose = a, b, pose_a, pose_b
    if geometry.shape[a] != PLANE:
        plane, g, pose_plane, pose = b, a, pose_b, pose_a
    R = pose_plane[0]
    up = (R[0][2], R[1][2], R[2][2])
    shape = shape_of(geometry, g, pose, pose[1])
    x, _ = support(shape, geometry.vertex, geometry.ring_start, geometry.ring, shape[4],
                   scale(-1.0, up))
    x = sub(x, scale(margin_of(shape), up))
    gap = dot(up, x) - dot(up, sub(pose_plane[1], pose[1]))
    x = add(pose[1], x)
    y = sub(x, scale(gap, up))
    if plane == a:
        return gap, y, x, scale(-1.0, up)
    return gap, x, y, up


@subroutine
def triangle_distance(
    geometry,  # model
    a, pose_a, t0, t1, t2,  # state (read)
    expand_point, expand_plane, expand_face,  # scratch
):
    """Measure a convex geometry and a triangle in the world, as `distance`; b is the latter."""
    origin = t0
    gap, x, y, n = measure_shapes(
        shape_of(geometry, a, pose_a, origin), triangle_of(t0, t1, t2, origin),
        _faces_of(geometry, a), (0, 0), geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, math.inf, expand_point, expand_plane, expand_face)
    return gap, add(origin, x), add(origin, y), n


@kernel
def column_distance(
    geometry,  # model
    a, pose_a, half, pose_b, low, high,  # state (read)
    expand_point, expand_plane, expand_face,  # scratch
):
    """
    Measure a convex geometry and the column over a rectangle in the plane z = 0 of a pose.

    half: the rectangle's half sides. low, high: corners of a box around a in the frame of the
    column, which is cut off so far above and below it that no way out is over its ends.
    """
    origin = add(pose_b[1], mul_mv(pose_b[0], (0.0, 0.0, 0.5 * (low[2] + high[2]))))
    length = half[0] + half[1] + (high[0] - low[0]) + (high[1] - low[1]) + (high[2] - low[2])
    gap, x, y, n = measure_shapes(
        shape_of(geometry, a, pose_a, origin),
        (BOX, (half[0], half[1], length), pose_b[0], (0.0, 0.0, 0.0), 0, 0),
        _faces_of(geometry, a), (0, 0), geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, math.inf, expand_point, expand_plane, expand_face)
    return gap, add(origin, x), add(origin, y), n


@subroutine
def triangle_contacts(
    geometry,  # model
    a, pose_a, t0, t1, t2, n, limit,  # state (read)
    polygon,  # scratch
    first_row, feature_out, point_out, gap_out,
):
    """
    Find up to eight contact points of a convex geometry and a triangle along a given normal.

    The unit vector n points from the triangle towards the geometry; gaps are measured along it,
    whether it is the direction of the least distance or not. Returns their number.
    """
    return clip_faces(
        shape_of(geometry, a, pose_a, t0), triangle_of(t0, t1, t2, t0),
        _faces_of(geometry, a), (0, 0), geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, geometry.face_start, geometry.face_vertex,
        n, limit, math.inf, n, t0, NARROW, polygon, first_row, feature_out, point_out, gap_out)


@subroutine
def triangles_distance(
    geometry,  # model
    s0, s1, s2, t0, t1, t2,  # state (read)
    expand_point, expand_plane, expand_face,  # scratch
):
    """Measure two triangles in the world, as `distance`."""
    gap, x, y, n = measure_shapes(
        triangle_of(s0, s1, s2, t0), triangle_of(t0, t1, t2, t0), (0, 0), (0, 0),
        geometry.vertex, geometry.ring_start, geometry.ring, geometry.face_plane,
        math.inf, expand_point, expand_plane, expand_face)
    return gap, add(t0, x), add(t0, y), n


@subroutine
def triangles_contacts(
    geometry,  # model
    s0, s1, s2, t0, t1, t2, n, limit,  # state (read)
    polygon,  # scratch
    first_row, feature_out, point_out, gap_out,
):
    """Find up to eight contact points of two triangles along n, as `triangle_contacts`."""
    return clip_faces(
        triangle_of(s0, s1, s2, t0), triangle_of(t0, t1, t2, t0), (0, 0), (0, 0),
        geometry.vertex, geometry.ring_start, geometry.ring,
        geometry.face_plane, geometry.face_start, geometry.face_vertex,
        n, limit, math.inf, n, t0, NARROW, polygon, first_row, feature_out, point_out, gap_out)
