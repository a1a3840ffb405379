"""Intersections between a form and a disc (end of a cylinder or cone); see `feature_clip`."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.contact_manifold import CORNER_OF_A, CORNER_OF_B, EDGES
from sim_bridge.engine.collision.clip.feature_clip import (
    height_at,
    INSIDE,
    is_inside,
    note_met,
    note_on_segment,
    point_between,
    SAME,
    STEEP,
    turning_of,
)
from sim_bridge.engine.data.collision_scratch import H, LABEL, U, V
from sim_bridge.engine.math.vec3 import dot, load3, sub

_STEPS = 8  # Newton steps; each doubles the number of correct digits


@kernel
def _off_centre(u, v, q, slope_q, polygon):
    """Return the squared distance to a disc's centre from the point in its plane at (u, v)."""
    du, dv = u - polygon[q, U], v - polygon[q, V]
    dh = slope_q[0] * du + slope_q[1] * dv
    return du * du + dv * dv + dh * dh


@kernel
def _radius_2(q, polygon):
    """Return a disc's squared radius: the squared distance from its centre to an anchor."""
    way = sub(load3(polygon, q + 1, U), load3(polygon, q, U))
    return dot(way, way)


@kernel
def _pierce(row, after, q, slope_q, r_2, polygon):
    """
    Intersect the line through two rows with a disc's rim.

    Returns whether they intersect, and the line parameters (0 to 1 between the rows) at which the
    line enters and leaves the disc.
    """
    u, v = polygon[row, U] - polygon[q, U], polygon[row, V] - polygon[q, V]
    du, dv = polygon[after, U] - polygon[row, U], polygon[after, V] - polygon[row, V]
    h, dh = slope_q[0] * u + slope_q[1] * v, slope_q[0] * du + slope_q[1] * dv
    a = du * du + dv * dv + dh * dh
    b = u * du + v * dv + h * dh
    c = u * u + v * v + h * h - r_2
    root_2 = b * b - a * c
    if not (root_2 >= 0.0 and a > 0.0):
        return False, 0.0, 0.0
    root = math.sqrt(root_2)
    return True, (-b - root) / a, (-b + root) / a


@subroutine
def cut_by_disc(p, q, slope_q, meeting, polygon):
    """Collect segment p's end points, clipped by disc q."""
    is_met, enter, leave = _pierce(
        p, p + 1, q, slope_q, _radius_2(q, polygon) * (1.0 + INSIDE), polygon
    )
    if not is_met or enter > 1.0 or leave < 0.0:
        return 0
    found = 0
    for end in range(2):
        along, kind, i = enter, EDGES, 0
        if end == 1:
            along, i = leave, 1
        if (end == 0 and enter < 0.0) or (end == 1 and leave > 1.0):
            along, kind, i = float(end), CORNER_OF_A, int(polygon[p + end, LABEL])
        u, v, _ = point_between(p, p + 1, along, polygon)
        found = note_on_segment(
            found, along, height_at(u, v, q, slope_q, polygon), (kind, i, 0), p, meeting, polygon
        )
    return found


@subroutine
def put_disc(p, count_p, slope_p, q, slope_q, meeting, polygon):
    """Collect polygon p's and disc q's points: rim points, corners and intersections."""
    found = 0
    sign = turning_of(p, count_p, polygon)
    if slope_p[2] > STEEP:
        for row in range(q + 1, q + 6):
            u, v = polygon[row, U], polygon[row, V]
            if is_inside(u, v, p, count_p, sign, INSIDE * meeting[1], polygon):
                name = (CORNER_OF_B, int(polygon[row, LABEL]), 0)
                found = note_met(
                    found,
                    u,
                    v,
                    height_at(u, v, p, slope_p, polygon),
                    polygon[row, H],
                    name,
                    meeting,
                    polygon,
                )
    r_2 = _radius_2(q, polygon)
    for k in range(count_p):
        row = p + k
        after = p if k + 1 == count_p else row + 1
        u, v, label = polygon[row, U], polygon[row, V], int(polygon[row, LABEL])
        if _off_centre(u, v, q, slope_q, polygon) <= r_2:
            found = note_met(
                found,
                u,
                v,
                polygon[row, H],
                height_at(u, v, q, slope_q, polygon),
                (CORNER_OF_A, label, 0),
                meeting,
                polygon,
            )
        is_met, enter, leave = _pierce(row, after, q, slope_q, r_2, polygon)
        for end in range(2):
            along = leave if end == 1 else enter
            if is_met and 0.0 <= along <= 1.0:
                x, y, h_p = point_between(row, after, along, polygon)
                found = note_met(
                    found,
                    x,
                    y,
                    h_p,
                    height_at(x, y, q, slope_q, polygon),
                    (EDGES, label, end),
                    meeting,
                    polygon,
                )
    return found


@subroutine
def meet_discs(p, slope_p, q, slope_q, meeting, polygon):
    """Collect two discs' points: rim points inside the other disc, and intersections."""
    found = 0
    p_2, q_2 = _radius_2(p, polygon), _radius_2(q, polygon)
    for k in range(1, 6):
        u, v = polygon[p + k, U], polygon[p + k, V]
        if _off_centre(u, v, q, slope_q, polygon) <= q_2 * (1.0 + SAME):
            found = note_met(
                found,
                u,
                v,
                polygon[p + k, H],
                height_at(u, v, q, slope_q, polygon),
                (CORNER_OF_A, int(polygon[p + k, LABEL]), 0),
                meeting,
                polygon,
            )
    for k in range(1, 6):
        u, v = polygon[q + k, U], polygon[q + k, V]
        if _off_centre(u, v, p, slope_p, polygon) <= p_2 * (1.0 + SAME):
            found = note_met(
                found,
                u,
                v,
                height_at(u, v, p, slope_p, polygon),
                polygon[q + k, H],
                (CORNER_OF_B, int(polygon[q + k, LABEL]), 0),
                meeting,
                polygon,
            )
    # crossings of the rims, at first as circles: exact only for parallel discs
    du, dv = polygon[q, U] - polygon[p, U], polygon[q, V] - polygon[p, V]
    d_2 = du * du + dv * dv
    if d_2 > SAME * (p_2 + q_2):
        along = 0.5 * (1.0 + (p_2 - q_2) / d_2)
        across_2 = p_2 / d_2 - along * along
        if across_2 > 0.0:
            across = math.sqrt(across_2)
            for end in range(2):
                u = polygon[p, U] + along * du - across * dv
                v = polygon[p, V] + along * dv + across * du
                u, v, is_on_both = _onto_rims(u, v, (p, slope_p, p_2), (q, slope_q, q_2), polygon)
                if is_on_both:
                    found = note_met(
                        found,
                        u,
                        v,
                        height_at(u, v, p, slope_p, polygon),
                        height_at(u, v, q, slope_q, polygon),
                        (EDGES, end, 0),
                        meeting,
                        polygon,
                    )
                across = -across
    return found


@kernel
def _onto_rims(u, v, disc, other, polygon):
    """
    Move a point near a crossing of two rims onto it, by Newton's method.

    disc, other: (first row, slope, squared radius). Returns the point, and whether the method
    converged.
    """
    p, slope_p, p_2 = disc
    q, slope_q, q_2 = other
    for _ in range(_STEPS):
        f = _off_centre(u, v, p, slope_p, polygon) - p_2
        g = _off_centre(u, v, q, slope_q, polygon) - q_2
        if abs(f) <= SAME * p_2 and abs(g) <= SAME * q_2:
            return u, v, True
        f_u, f_v = _outwards(u, v, p, slope_p, polygon)
        g_u, g_v = _outwards(u, v, q, slope_q, polygon)
        turn = f_u * g_v - f_v * g_u
        if turn == 0.0:
            return u, v, False
        u, v = u - (f * g_v - g * f_v) / turn, v - (f_u * g - g_u * f) / turn
    return u, v, False


@kernel
def _outwards(u, v, q, slope_q, polygon):
    """Return `_off_centre`'s derivatives along u and v."""
    du, dv = polygon[q, U] - u, polygon[q, V] - v
    dh = slope_q[0] * du + slope_q[1] * dv
    return -2.0 * (du + dh * slope_q[0]), -2.0 * (dv + dh * slope_q[1])
