"""
Contact points of two convex shapes along a normal: clip what they turn towards each other.

Both faces are seen along n. The points are the extreme points of what they have in common, each
with a gap of its own, the difference of both heights; what gapes wider than the limit is dropped.
Shape a lies above, where n points to, b below.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import subroutine
from sim_bridge.engine.collision.clip.disc import cut_by_disc, meet_discs, put_disc
from sim_bridge.engine.collision.clip.feature_clip import STEEP
from sim_bridge.engine.collision.clip.manifold import store_points
from sim_bridge.engine.collision.clip.polygon import (
    add_nearest,
    common_size,
    cut_segment,
    drop_point,
    FACE_A,
    FACE_B,
    lay_along,
    meet_polygons,
)
from sim_bridge.engine.collision.clip.support_face import lay_face, POINT, POLYGON, SEGMENT
from sim_bridge.engine.math.vec3 import cross, perpendicular


@subroutine
def clip_faces(
    shape_a, shape_b, faces_a, faces_b,  # model
    vertex, ring_start, ring, face_plane, face_start, face_vertex,  # model
    n, limit, distance, nearest, origin, stride,  # state (read)
    polygon,  # scratch
    first_row, feature_out, point_out, gap_out,
):
    """
    Store up to eight contact points of two shapes along the unit vector n; give their number.

    Where `distance` is finite, it is the signed distance along n at `nearest`, on the surface of
    a, and stands for a contact that the faces do not show. Features are (i stride + j) 4 + kind.
    """
    t = perpendicular(n)
    s = cross(n, t)
    shape, faces, p = shape_b, faces_b, FACE_B
    form_b, count_b, slope_b = POINT, 1, (0.0, 0.0, 0.0)
    form_a, count_a, slope_a = form_b, count_b, slope_b
    for side in range(2):
        # b, then a
        form_a, count_a, slope_a = lay_face(
            shape, vertex, ring_start, ring, face_plane, face_start, face_vertex, faces,
            side == 1, n, t, s, p, polygon)
        if side == 0:
            form_b, count_b, slope_b = form_a, count_a, slope_a
            shape, faces, p = shape_a, faces_a, FACE_A
    size = common_size(count_a, count_b, polygon)
    found = 0
    if form_a != POINT and form_b != POINT:
        # the form with the greater number comes second
        q, is_turned = FACE_B, False
        if form_a > form_b:
            p, q, is_turned = FACE_B, FACE_A, True
            form_a, count_a, slope_a, form_b, count_b, slope_b = (
                form_b, count_b, slope_b, form_a, count_a, slope_a)
        found = _meet_forms(
            form_a, p, count_a, slope_a, form_b, q, count_b, slope_b, is_turned, size, limit,
            stride, polygon)
    elif distance == math.inf and form_b == POLYGON:
        found = drop_point(FACE_A, FACE_B, count_b, slope_b, size, limit, stride, polygon)
    found = add_nearest(found, distance, nearest, n, t, s, limit, size, polygon)
    return store_points(
        found, n, t, s, origin, first_row, polygon, feature_out, point_out, gap_out)


@subroutine
def _meet_forms(
    form_p, p, count_p, slope_p, form_q, q, count_q, slope_q,  # state (read)
    is_turned, size, limit, stride,  # state (read)
    polygon,  # scratch
):
    """Collect the points of two forms, the first not the greater; give their number."""
    if form_q == SEGMENT:
        return lay_along(p, q, is_turned, size, limit, stride, polygon)
    if form_q == POLYGON:
        if form_p == POLYGON:
            return meet_polygons(p, count_p, slope_p, q, count_q, slope_q, is_turned, size, limit,
                                 stride, polygon)
        return cut_segment(p, q, count_q, slope_q, is_turned, size, limit, stride, polygon)
    if slope_q[2] < STEEP:
        return 0
    if form_p == SEGMENT:
        return cut_by_disc(p, q, slope_q, is_turned, size, limit, stride, polygon)
    if form_p == POLYGON:
        return put_disc(p, count_p, slope_p, q, slope_q, is_turned, size, limit, stride, polygon)
    return meet_discs(p, slope_p, q, slope_q, is_turned, size, limit, stride, polygon)
