"""
The contact points of a pair: collected, thinned out to eight, named and stored in order.

Collected points are rows (u, v, height of a, height of b, feature, scratch) from the row FOUND of
the polygon scratch on.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.math.vec3 import add, scale, store3

FOUND = 192
MAX_FOUND = 64
MAX_POINTS = 8

# kinds of features, numbered by corners or edges i of a and j of b
CORNER_OF_A, EDGES, CORNER_OF_B, NEAREST = range(4)
# labels of two large shapes, or of a large one and a triangle's
WIDE, NARROW = 65536, 4

# closer than this share of the size of the faces, points are one
_SAME = 1e-7
# gains below this share are rounding: the point with the lower number is kept
_ROUNDING = 1e-9


@kernel
def note(found, u, v, above, below, limit, same, feature, polygon_out):
    """
    Collect a point with two heights unless it gapes wider than the limit or is there already.

    Returns the new number of points.
    """
    if not above - below <= limit or found == MAX_FOUND:
        return found
    for row in range(FOUND, FOUND + found):
        du, dv = polygon_out[row, 0] - u, polygon_out[row, 1] - v
        if du * du + dv * dv <= same * same:
            return found
    row = FOUND + found
    polygon_out[row, 0], polygon_out[row, 1] = u, v
    polygon_out[row, 2], polygon_out[row, 3] = above, below
    polygon_out[row, 4] = feature
    return found + 1


@subroutine
def store_points(
    found, n, t, s, origin, first_row,  # state (read)
    polygon,  # scratch
    feature_out, point_out, gap_out,
):
    """
    Store at most eight of the collected points by ascending feature; give their number.

    Of too many the deepest stays, then each time the one farthest from all that stay.
    """
    end = FOUND + found
    for row in range(FOUND, end):
        polygon[row, 5] = 1.0
    count = found
    if found > MAX_POINTS:
        count = MAX_POINTS
        _choose(end, polygon)
    for k in range(count):
        least = FOUND
        while polygon[least, 5] <= 0.0:
            least += 1
        for row in range(least + 1, end):
            if polygon[row, 5] > 0.0 and polygon[row, 4] < polygon[least, 4]:
                least = row
        polygon[least, 5] = 0.0
        u, v = polygon[least, 0], polygon[least, 1]
        above, below = polygon[least, 2], polygon[least, 3]
        x = add(add(scale(u, t), scale(v, s)), scale(0.5 * (above + below), n))
        feature_out[first_row + k] = int(polygon[least, 4])
        store3(point_out, first_row + k, 0, add(origin, x))
        gap_out[first_row + k] = above - below
    return count


@kernel
def _choose(end, polygon_inout):
    """Mark in column 5 with 1 the points that stay, with 0 the others."""
    # column 5: minus one for a point that stays, else its squared distance from those that do
    deepest = FOUND
    widest = 0.0
    for row in range(FOUND, end):
        widest = max(widest, abs(polygon_inout[row, 0]) + abs(polygon_inout[row, 1]))
        polygon_inout[row, 5] = math.inf
    for row in range(FOUND + 1, end):
        gain = (polygon_inout[deepest, 2] - polygon_inout[deepest, 3]
                - polygon_inout[row, 2] + polygon_inout[row, 3])
        if gain > _ROUNDING * widest:
            deepest = row
    chosen = deepest
    for _ in range(MAX_POINTS):
        polygon_inout[chosen, 5] = -1.0
        u, v = polygon_inout[chosen, 0], polygon_inout[chosen, 1]
        farthest = 0.0
        for row in range(FOUND, end):
            if polygon_inout[row, 5] < 0.0:
                continue
            du, dv = polygon_inout[row, 0] - u, polygon_inout[row, 1] - v
            polygon_inout[row, 5] = min(polygon_inout[row, 5], du * du + dv * dv)
            if polygon_inout[row, 5] > farthest * (1.0 + _ROUNDING):
                farthest, chosen = polygon_inout[row, 5], row
    for row in range(FOUND, end):
        polygon_inout[row, 5] = 1.0 if polygon_inout[row, 5] < 0.0 else 0.0
