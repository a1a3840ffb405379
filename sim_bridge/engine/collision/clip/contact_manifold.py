"""
Contact points of a pair: collected, reduced to a few, labelled and stored in order.

Collected points are rows in CollisionScratch.polygon, from the row FIRST_FOUND on.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.collision_scratch import (
    ABOVE,
    BELOW,
    CHOICE,
    FEATURE,
    FIRST_FOUND,
    U,
    V,
)
from sim_bridge.engine.math.vec3 import add, scale, store3

MAX_FOUND = 64

# feature kinds, numbered by corners or edges i of a and j of b
CORNER_OF_A, EDGES, CORNER_OF_B, NEAREST = range(4)
# strides for feature labels: two large shapes, or a large shape and a triangle
WIDE, NARROW = 65536, 4

# points closer than this share of the faces' size are one
_SAME = 1e-7
# gains below this share are rounding: the point with the lower number is kept
_ROUNDING = 1e-9


@kernel
def note(found, u, v, above, below, limit, same, feature, polygon_out):
    """
    Collect a point with two heights, unless its gap is above the limit or it is a duplicate.

    Returns the new point count.
    """
    if not above - below <= limit or found == MAX_FOUND:
        return found
    for row in range(FIRST_FOUND, FIRST_FOUND + found):
        du, dv = polygon_out[row, U] - u, polygon_out[row, V] - v
        if du * du + dv * dv <= same * same:
            return found
    row = FIRST_FOUND + found
    polygon_out[row, U], polygon_out[row, V] = u, v
    polygon_out[row, ABOVE], polygon_out[row, BELOW] = above, below
    polygon_out[row, FEATURE] = feature
    return found + 1


@subroutine
def store_points(found, axes, origin, scratch, points_out):
    """
    Store at most scratch.most_points collected points by ascending feature; return their number.

    If there are more, the deepest point is kept, then repeatedly the point farthest from all kept
    points. axes: t, s and n. points_out: (first row, features, points, normals, gaps); the caller
    writes the normals.
    """
    t, s, n = axes
    first_row, feature_out, point_out, _, gap_out = points_out
    polygon, most = scratch.polygon, scratch.most_points[0]
    end = FIRST_FOUND + found
    for row in range(FIRST_FOUND, end):
        polygon[row, CHOICE] = 1.0
    count = found
    if found > most:
        count = most
        _choose(end, most, polygon)
    for k in range(count):
        least = FIRST_FOUND
        while polygon[least, CHOICE] <= 0.0:
            least += 1
        for row in range(least + 1, end):
            if polygon[row, CHOICE] > 0.0 and polygon[row, FEATURE] < polygon[least, FEATURE]:
                least = row
        polygon[least, CHOICE] = 0.0
        u, v = polygon[least, U], polygon[least, V]
        above, below = polygon[least, ABOVE], polygon[least, BELOW]
        x = add(add(scale(u, t), scale(v, s)), scale(0.5 * (above + below), n))
        feature_out[first_row + k] = int(polygon[least, FEATURE])
        store3(point_out, first_row + k, 0, add(origin, x))
        gap_out[first_row + k] = above - below
    return count


@kernel
def _choose(end, most, polygon_inout):
    """Write 1 into CHOICE for the points to keep, 0 for the others."""
    # meanwhile: -1 for a kept point, else its squared distance to the nearest kept point
    deepest = FIRST_FOUND
    widest = 0.0
    for row in range(FIRST_FOUND, end):
        widest = max(widest, abs(polygon_inout[row, U]) + abs(polygon_inout[row, V]))
        polygon_inout[row, CHOICE] = math.inf
    for row in range(FIRST_FOUND + 1, end):
        gain = (
            polygon_inout[deepest, ABOVE]
            - polygon_inout[deepest, BELOW]
            - polygon_inout[row, ABOVE]
            + polygon_inout[row, BELOW]
        )
        if gain > _ROUNDING * widest:
            deepest = row
    chosen = deepest
    for _ in range(most):
        polygon_inout[chosen, CHOICE] = -1.0
        u, v = polygon_inout[chosen, U], polygon_inout[chosen, V]
        farthest = 0.0
        for row in range(FIRST_FOUND, end):
            if polygon_inout[row, CHOICE] < 0.0:
                continue
            du, dv = polygon_inout[row, U] - u, polygon_inout[row, V] - v
            polygon_inout[row, CHOICE] = min(polygon_inout[row, CHOICE], du * du + dv * dv)
            if polygon_inout[row, CHOICE] > farthest * (1.0 + _ROUNDING):
                farthest, chosen = polygon_inout[row, CHOICE], row
    for row in range(FIRST_FOUND, end):
        polygon_inout[row, CHOICE] = 1.0 if polygon_inout[row, CHOICE] < 0.0 else 0.0
