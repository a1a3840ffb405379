"""Intersections between a polygon and polygons, segments and points; see `feature_clip`."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.contact_manifold import (
    CORNER_OF_A,
    CORNER_OF_B,
    EDGES,
    NEAREST,
    note,
)
from sim_bridge.engine.collision.clip.feature_clip import (
    edge_line,
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
from sim_bridge.engine.data.collision_scratch import (
    ABOVE,
    BELOW,
    CUT,
    CUT_TOO,
    EDGE,
    FACE_A,
    FACE_B,
    FIRST_FOUND,
    H,
    KIND,
    LABEL,
    NUMBER_P,
    NUMBER_Q,
    U,
    V,
)
from sim_bridge.engine.math.vec3 import dot

# clipping missed the nearest point if gaps exceed the distance by this share of the size
_NEAREST_MISSED = 1e-7
# least share of the greater face's extent used as the common size
_THIN = 1e-3

# sine between directions, below which two straight sides count as parallel
_PARALLEL = 0.05
# a face is preferred as more orthogonal to the normal only by more than this cosine
_PREFERENCE = 1e-6


@kernel
def _extent(first, count, polygon):
    """Return the extent along u and v of the rows from `first` on."""
    extent = 0.0
    for row in range(first + 1, first + count):
        extent = max(
            extent,
            abs(polygon[row, U] - polygon[first, U]) + abs(polygon[row, V] - polygon[first, V]),
        )
    return extent


@kernel
def common_size(count_a, count_b, polygon):
    """Return the smaller face's extent."""
    extent_a, extent_b = _extent(FACE_A, count_a, polygon), _extent(FACE_B, count_b, polygon)
    return max(min(extent_a, extent_b), _THIN * max(extent_a, extent_b))


@kernel
def add_nearest(found, distance, nearest, axes, limit, size, polygon_inout):
    """Collect the nearest point on a, unless a collected point is as near."""
    if not distance <= limit:
        return found
    for k in range(FIRST_FOUND, FIRST_FOUND + found):
        gap = polygon_inout[k, ABOVE] - polygon_inout[k, BELOW]
        if gap <= distance + _NEAREST_MISSED * size:
            return found
    t, s, n = axes
    above = dot(n, nearest)
    return note(
        found,
        dot(t, nearest),
        dot(s, nearest),
        above,
        above - distance,
        limit,
        0.0,
        NEAREST,
        polygon_inout,
    )


@kernel
def meet_polygons(p, count_p, slope_p, q, count_q, slope_q, meeting, polygon):
    """Collect the corners of the intersection of two polygons; return their number."""
    # the face more orthogonal to n cuts the other; the second face if they are equal
    if slope_p[2] > slope_q[2] + _PREFERENCE:
        p, count_p, q, count_q = q, count_q, p, count_p
        slope_q = slope_p
        is_turned, size, limit, stride = meeting
        meeting = (not is_turned, size, limit, stride)
    if slope_q[2] < STEEP:
        return 0
    return _cut_polygon(p, count_p, q, count_q, slope_q, meeting, polygon)


@subroutine
def _cut_polygon(p, count_p, q, count_q, slope_q, meeting, polygon):
    """
    Collect the corners of polygon p clipped by polygon q (Sutherland and Hodgman 1974).

    A clipped row has the height H of p, the corner's name KIND, NUMBER_P, NUMBER_Q, and the EDGE
    from it to the next corner, negative for edges of q.
    """
    slack = INSIDE * meeting[1]
    source, count = CUT, count_p
    for k in range(count_p):
        for column in range(H + 1):
            polygon[CUT + k, column] = polygon[p + k, column]
        label = polygon[p + k, LABEL]
        polygon[CUT + k, KIND], polygon[CUT + k, NUMBER_P] = CORNER_OF_A, label
        polygon[CUT + k, NUMBER_Q], polygon[CUT + k, EDGE] = 0.0, label
    sign = turning_of(q, count_q, polygon)
    for side in range(count_q):
        a, b, c, length = edge_line(side, q, count_q, sign, polygon)
        if length <= slack:
            continue
        label = polygon[q + side, LABEL]
        target = CUT + CUT_TOO - source
        kept = 0
        for k in range(count):
            row = source + k
            after = source if k + 1 == count else row + 1
            d0 = a * polygon[row, U] + b * polygon[row, V] + c
            d1 = a * polygon[after, U] + b * polygon[after, V] + c
            if d0 >= -slack:
                for column in range(EDGE + 1):
                    polygon[target + kept, column] = polygon[row, column]
                kept += 1
            if (d0 >= -slack) != (d1 >= -slack):
                # both may be outside, one of them by less than the slack
                along = min(max(d0 / (d0 - d1), 0.0), 1.0)
                for column in range(H + 1):
                    here = polygon[row, column]
                    polygon[target + kept, column] = here + along * (polygon[after, column] - here)
                edge = polygon[row, EDGE]
                on_p = edge >= 0.0
                polygon[target + kept, KIND] = EDGES if on_p else CORNER_OF_B
                polygon[target + kept, NUMBER_P] = edge if on_p else -1.0 - edge
                polygon[target + kept, NUMBER_Q] = label
                polygon[target + kept, EDGE] = -1.0 - label if d0 >= -slack else edge
                kept += 1
        source, count = target, kept
    found = 0
    for row in range(source, source + count):
        u, v = polygon[row, U], polygon[row, V]
        name = (int(polygon[row, KIND]), int(polygon[row, NUMBER_P]), int(polygon[row, NUMBER_Q]))
        found = note_met(
            found,
            u,
            v,
            polygon[row, H],
            height_at(u, v, q, slope_q, polygon),
            name,
            meeting,
            polygon,
        )
    return found


@subroutine
def cut_segment(p, q, count_q, slope_q, meeting, polygon):
    """Collect segment p's end points, clipped by polygon q."""
    if slope_q[2] < STEEP:
        return 0
    slack = INSIDE * meeting[1]
    sign = turning_of(q, count_q, polygon)
    lower, lower_name = 0.0, (CORNER_OF_A, int(polygon[p, LABEL]), 0)
    upper, upper_name = 1.0, (CORNER_OF_A, int(polygon[p + 1, LABEL]), 0)
    for side in range(count_q):
        a, b, c, length = edge_line(side, q, count_q, sign, polygon)
        if length <= slack:
            continue
        d0 = a * polygon[p, U] + b * polygon[p, V] + c + slack
        d1 = a * polygon[p + 1, U] + b * polygon[p + 1, V] + c + slack
        if d0 < 0.0 and d1 < 0.0:
            return 0
        if d0 < 0.0 and d0 / (d0 - d1) > lower:
            lower, lower_name = d0 / (d0 - d1), (EDGES, 0, int(polygon[q + side, LABEL]))
        if d1 < 0.0 and d0 / (d0 - d1) < upper:
            upper, upper_name = d0 / (d0 - d1), (EDGES, 1, int(polygon[q + side, LABEL]))
    if lower > upper:
        return 0
    found = 0
    for along, name in ((lower, lower_name), (upper, upper_name)):
        u, v, _ = point_between(p, p + 1, along, polygon)
        found = note_on_segment(
            found, along, height_at(u, v, q, slope_q, polygon), name, p, meeting, polygon
        )
    return found


@subroutine
def lay_along(p, q, meeting, polygon):
    """Collect the overlap's end points between two nearly parallel segments."""
    eu, ev = polygon[p + 1, U] - polygon[p, U], polygon[p + 1, V] - polygon[p, V]
    fu, fv = polygon[q + 1, U] - polygon[q, U], polygon[q + 1, V] - polygon[q, V]
    e_2, f_2 = eu * eu + ev * ev, fu * fu + fv * fv
    turn = eu * fv - ev * fu
    if not turn * turn < _PARALLEL * _PARALLEL * e_2 * f_2:
        return 0
    # parameters of q's ends along p
    x0 = ((polygon[q, U] - polygon[p, U]) * eu + (polygon[q, V] - polygon[p, V]) * ev) / e_2
    step = (fu * eu + fv * ev) / e_2
    found = 0
    for end in range(2):
        on_p = float(end)
        on_q = (on_p - x0) / step
        if 0.0 <= on_q <= 1.0:
            h_q = polygon[q, H] + on_q * (polygon[q + 1, H] - polygon[q, H])
            name = (CORNER_OF_A, int(polygon[p + end, LABEL]), 0)
            found = note_on_segment(found, on_p, h_q, name, p, meeting, polygon)
    for end in range(2):
        on_p = x0 + step * end
        if 0.0 <= on_p <= 1.0:
            name = (CORNER_OF_B, int(polygon[q + end, LABEL]), 0)
            found = note_on_segment(found, on_p, polygon[q + end, H], name, p, meeting, polygon)
    return found


@kernel
def drop_point(p, q, count_q, slope_q, meeting, polygon):
    """Collect a's point p if it lies above b's polygon q."""
    u, v = polygon[p, U], polygon[p, V]
    height = height_at(u, v, q, slope_q, polygon)
    if slope_q[2] < STEEP:
        # seen from the side: use the highest corner
        height = -math.inf
        for row in range(q, q + count_q):
            height = max(height, polygon[row, H])
    else:
        sign = turning_of(q, count_q, polygon)
        if not is_inside(u, v, q, count_q, sign, SAME * meeting[1], polygon):
            return 0
    return note_met(0, u, v, polygon[p, H], height, (CORNER_OF_A, 0, 0), meeting, polygon)
