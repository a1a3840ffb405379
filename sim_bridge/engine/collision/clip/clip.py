"""
Contact points between two convex shapes along a normal, by clipping their facing features.

Both features are projected along n. The contact points are the extreme points of their
intersection. Each point's gap is the difference between the two heights; points with a gap above
the limit are dropped. Shape a lies above, in the direction of n, and shape b below.
"""

import math

from sim_bridge.compiler.kernel import subroutine
from sim_bridge.engine.collision.clip.contact_manifold import NARROW, store_points, WIDE
from sim_bridge.engine.collision.clip.disc import cut_by_disc, meet_discs, put_disc
from sim_bridge.engine.collision.clip.feature_clip import STEEP
from sim_bridge.engine.collision.clip.polygon import (
    add_nearest,
    common_size,
    cut_segment,
    drop_point,
    lay_along,
    meet_polygons,
)
from sim_bridge.engine.collision.clip.support_face import lay_face, POINT, POLYGON, SEGMENT
from sim_bridge.engine.data.collision_scratch import FACE_A, FACE_B
from sim_bridge.engine.data.geometry import TRIANGLE
from sim_bridge.engine.math.vec3 import cross, perpendicular


@subroutine
def clip_faces(geometry, scratch, shape_a, shape_b, n, limit, nearest, origin, points_out):
    """
    Store contact points between two shapes along the unit vector n; return their number.

    nearest: signed distance along n and nearest point on the surface of a. They give a contact
    that clipping may miss; the distance is infinite if there is none. limit: greatest gap [m].
    points_out: as for `store_points`. Features are (i stride + j) 4 + kind.
    """
    polygon, t = scratch.polygon, perpendicular(n)
    axes = (t, cross(n, t), n)
    stride = NARROW if shape_b[0] == TRIANGLE else WIDE
    form_b, count_b, slope_b = lay_face(geometry, shape_b, False, axes, FACE_B, polygon)
    form_a, count_a, slope_a = lay_face(geometry, shape_a, True, axes, FACE_A, polygon)
    size = common_size(count_a, count_b, polygon)
    found = 0
    if form_a != POINT and form_b != POINT:
        # the form with the greater number comes second
        p, q, is_turned = FACE_A, FACE_B, False
        if form_a > form_b:
            p, q, is_turned = FACE_B, FACE_A, True
            form_a, count_a, slope_a, form_b, count_b, slope_b = (
                form_b,
                count_b,
                slope_b,
                form_a,
                count_a,
                slope_a,
            )
        found = _meet_forms(
            (form_a, p, count_a, slope_a),
            (form_b, q, count_b, slope_b),
            (is_turned, size, limit, stride),
            polygon,
        )
    elif nearest[0] == math.inf and form_b == POLYGON:
        found = drop_point(FACE_A, FACE_B, count_b, slope_b, (False, size, limit, stride), polygon)
    found = add_nearest(found, nearest[0], nearest[1], axes, limit, size, polygon)
    return store_points(found, axes, origin, scratch, points_out)


@subroutine
def _meet_forms(first, second, meeting, polygon):
    """
    Collect the points of two forms, in ascending order of form; return their number.

    first, second: (form, first row, row count, slope).
    """
    form_p, p, count_p, slope_p = first
    form_q, q, count_q, slope_q = second
    if form_q == SEGMENT:
        return lay_along(p, q, meeting, polygon)
    if form_q == POLYGON:
        if form_p == POLYGON:
            return meet_polygons(p, count_p, slope_p, q, count_q, slope_q, meeting, polygon)
        return cut_segment(p, q, count_q, slope_q, meeting, polygon)
    if slope_q[2] < STEEP:
        return 0
    if form_p == SEGMENT:
        return cut_by_disc(p, q, slope_q, meeting, polygon)
    if form_p == POLYGON:
        return put_disc(p, count_p, slope_p, q, slope_q, meeting, polygon)
    return meet_discs(p, slope_p, q, slope_q, meeting, polygon)
