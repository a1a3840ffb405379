"""Intersections of a polygon with polygons, segments and points; see `feature_clip`."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.feature_clip import (
    edge_line,
    height_at,
    INSIDE,
    is_inside,
    note_met,
    note_on_segment,
    SAME,
    STEEP,
    turning_of,
)
from sim_bridge.engine.collision.clip.manifold import (
    CORNER_OF_A,
    CORNER_OF_B,
    EDGES,
    FOUND,
    NEAREST,
    note,
)
from sim_bridge.engine.math.vec3 import dot

# rows of the polygon scratch for the faces of a and b, and for what is cut
FACE_A, FACE_B, _CUT, _CUT_TOO = 0, 32, 64, 128

# gaps differ from the distance by more than this share of the size where the faces miss it
_NEAREST_MISSED = 1e-7
# smallest share of the greater face's extent that counts as the size of both
_THIN = 1e-3

# sine of the angle below which two straight sides lie along each other
_PARALLEL = 0.05
# a face is more square to the normal than another only by more than this
_PREFERENCE = 1e-6


@kernel
def _extent(first, count, polygon):
    """Return the extent of the rows from `first` on along u and v."""
    extent = 0.0
    for row in range(first + 1, first + count):
        extent = max(extent, abs(polygon[row, 0] - polygon[first, 0])
                     + abs(polygon[row, 1] - polygon[first, 1]))
    return extent


@kernel
def common_size(count_a, count_b, polygon):
    """Return the extent of the smaller face."""
    extent_a, extent_b = _extent(FACE_A, count_a, polygon), _extent(FACE_B, count_b, polygon)
    return max(min(extent_a, extent_b), _THIN * max(extent_a, extent_b))


@kernel
def add_nearest(found, distance, nearest, axes, limit, size, polygon_inout):
    """Collect the nearest point of a, unless a point found so far is as near."""
    if not distance <= limit:
        return found
    for k in range(FOUND, FOUND + found):
        gap = polygon_inout[k, 2] - polygon_inout[k, 3]
        if gap <= distance + _NEAREST_MISSED * size:
            return found
    t, s, n = axes
    above = dot(n, nearest)
    return note(found, dot(t, nearest), dot(s, nearest), above, above - distance, limit, 0.0,
                NEAREST, polygon_inout)


@kernel
def meet_polygons(p, count_p, slope_p, q, count_q, slope_q, meeting, polygon):
    """Collect the corners of the intersection of two polygons; return their number."""
    # the face that is more square to n cuts the other; the second if they are equally so
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

    Rows being clipped are (u, v, height of p, kind, i, j, edge): a corner's name, and the edge
    from it to the next, negative for edges of q.
    """
    slack = INSIDE * meeting[1]
    source, count = _CUT, count_p
    for k in range(count_p):
        for column in range(3):
            polygon[_CUT + k, column] = polygon[p + k, column]
        label = polygon[p + k, 3]
        polygon[_CUT + k, 3], polygon[_CUT + k, 4] = CORNER_OF_A, label
        polygon[_CUT + k, 5], polygon[_CUT + k, 6] = 0.0, label
    sign = turning_of(q, count_q, polygon)
    for side in range(count_q):
        a, b, c, length = edge_line(side, q, count_q, sign, polygon)
        if length <= slack:
            continue
        label = polygon[q + side, 3]
        target = _CUT + _CUT_TOO - source
        kept = 0
        for k in range(count):
            row = source + k
            after = source if k + 1 == count else row + 1
            d0 = a * polygon[row, 0] + b * polygon[row, 1] + c
            d1 = a * polygon[after, 0] + b * polygon[after, 1] + c
            if d0 >= -slack:
                for column in range(7):
                    polygon[target + kept, column] = polygon[row, column]
                kept += 1
            if (d0 >= -slack) != (d1 >= -slack):
                along = d0 / (d0 - d1)
                for column in range(3):
                    here = polygon[row, column]
                    polygon[target + kept, column] = here + along * (polygon[after, column] - here)
                edge = polygon[row, 6]
                on_p = edge >= 0.0
                polygon[target + kept, 3] = EDGES if on_p else CORNER_OF_B
                polygon[target + kept, 4] = edge if on_p else -1.0 - edge
                polygon[target + kept, 5] = label
                polygon[target + kept, 6] = -1.0 - label if d0 >= -slack else edge
                kept += 1
        source, count = target, kept
    found = 0
    for row in range(source, source + count):
        u, v = polygon[row, 0], polygon[row, 1]
        found = note_met(found, u, v, polygon[row, 2], height_at(u, v, q, slope_q, polygon),
                         (int(polygon[row, 3]), int(polygon[row, 4]), int(polygon[row, 5])),
                         meeting, polygon)
    return found


@subroutine
def cut_segment(p, q, count_q, slope_q, meeting, polygon):
    """Collect the end points of the segment p clipped by the polygon q."""
    if slope_q[2] < STEEP:
        return 0
    slack = INSIDE * meeting[1]
    sign = turning_of(q, count_q, polygon)
    lower, upper = 0.0, 1.0
    kind_l, i_l, j_l = CORNER_OF_A, int(polygon[p, 3]), 0
    kind_u, i_u, j_u = CORNER_OF_A, int(polygon[p + 1, 3]), 0
    for side in range(count_q):
        a, b, c, length = edge_line(side, q, count_q, sign, polygon)
        if length <= slack:
            continue
        d0 = a * polygon[p, 0] + b * polygon[p, 1] + c + slack
        d1 = a * polygon[p + 1, 0] + b * polygon[p + 1, 1] + c + slack
        if d0 < 0.0 and d1 < 0.0:
            return 0
        if d0 < 0.0 and d0 / (d0 - d1) > lower:
            lower, kind_l, i_l, j_l = d0 / (d0 - d1), EDGES, 0, int(polygon[q + side, 3])
        if d1 < 0.0 and d0 / (d0 - d1) < upper:
            upper, kind_u, i_u, j_u = d0 / (d0 - d1), EDGES, 1, int(polygon[q + side, 3])
    if lower > upper:
        return 0
    found = 0
    for end in range(2):
        along, kind, i, j = lower, kind_l, i_l, j_l
        if end == 1:
            along, kind, i, j = upper, kind_u, i_u, j_u
        u = polygon[p, 0] + along * (polygon[p + 1, 0] - polygon[p, 0])
        v = polygon[p, 1] + along * (polygon[p + 1, 1] - polygon[p, 1])
        found = note_on_segment(found, along, height_at(u, v, q, slope_q, polygon), (kind, i, j),
                                p, meeting, polygon)
    return found


@subroutine
def lay_along(p, q, meeting, polygon):
    """Collect the end points of the overlap of two nearly parallel segments."""
    eu, ev = polygon[p + 1, 0] - polygon[p, 0], polygon[p + 1, 1] - polygon[p, 1]
    fu, fv = polygon[q + 1, 0] - polygon[q, 0], polygon[q + 1, 1] - polygon[q, 1]
    e_2, f_2 = eu * eu + ev * ev, fu * fu + fv * fv
    turn = eu * fv - ev * fu
    if not turn * turn < _PARALLEL * _PARALLEL * e_2 * f_2:
        return 0
    # where the ends of q lie along p
    x0 = ((polygon[q, 0] - polygon[p, 0]) * eu + (polygon[q, 1] - polygon[p, 1]) * ev) / e_2
    step = (fu * eu + fv * ev) / e_2
    found = 0
    for end in range(2):
        on_p = float(end)
        on_q = (on_p - x0) / step
        if 0.0 <= on_q <= 1.0:
            h_q = polygon[q, 2] + on_q * (polygon[q + 1, 2] - polygon[q, 2])
            found = note_on_segment(found, on_p, h_q, (CORNER_OF_A, int(polygon[p + end, 3]), 0),
                                    p, meeting, polygon)
    for end in range(2):
        on_p = x0 + step * end
        if 0.0 <= on_p <= 1.0:
            found = note_on_segment(found, on_p, polygon[q + end, 2],
                                    (CORNER_OF_B, int(polygon[q + end, 3]), 0), p, meeting,
                                    polygon)
    return found


@kernel
def drop_point(p, q, count_q, slope_q, meeting, polygon):
    """Collect the point p of a above the polygon q of b, if it is above it."""
    u, v = polygon[p, 0], polygon[p, 1]
    height = height_at(u, v, q, slope_q, polygon)
    if slope_q[2] < STEEP:
        # seen from the side: its highest corner
        height = -math.inf
        for row in range(q, q + count_q):
            height = max(height, polygon[row, 2])
    else:
        sign = turning_of(q, count_q, polygon)
        if not is_inside(u, v, q, count_q, sign, SAME * meeting[1], polygon):
            return 0
    return note_met(0, u, v, polygon[p, 2], height, (CORNER_OF_A, 0, 0), meeting, polygon)
