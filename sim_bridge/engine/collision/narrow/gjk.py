"""
Distance between two convex cores by the algorithm of Gilbert, Johnson and Keerthi (1988).

The simplex moves towards the origin through the Minkowski difference of both sets, w = a - b. Its
points, at most four, are stored as rows (w, a, weight).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.support import is_curved, separation
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, norm, scale, store3, sub, ZERO

# outcomes
APART, FAR, OVERLAP = range(3)

_MAX_STEPS = 100
# cores nearer than this share of their extent count as touching: the direction of such a short
# vector is unreliable, while the faces around it are reliable
_TOUCHING = 1e-9
# relative tolerances of the distance: for curved cores it is refined elsewhere, once n is good to
# 1e-4; for polytopes the iteration ends by itself
_CURVED_TOLERANCE = 1e-8
_FLAT_TOLERANCE = 1e-15


@subroutine
def gjk(geometry, shape_a, shape_b, reach, point_out):
    """
    Compute the distance between two cores, if it is at most `reach`.

    Returns (outcome, number of simplex points, distance, n from b to a, extent, hints). APART: all
    results are valid. FAR: n separates the cores by more than `reach`. OVERLAP: the cores touch or
    overlap at the place given by the simplex. The extent is the length of the longest w.
    """
    tolerance = _FLAT_TOLERANCE
    if is_curved(shape_a[0]) or is_curved(shape_b[0]):
        tolerance = _CURVED_TOLERANCE
    v = sub(shape_a[3], shape_b[3])
    hint_a, hint_b = shape_a[4], shape_b[4]
    count = 0
    length = norm(v)
    if length == 0.0:
        v, length = (0.0, 0.0, 1.0), 1.0
    extent = 0.0
    n = scale(1.0 / length, v)
    least = math.inf
    for _ in range(_MAX_STEPS):
        parted, a, b, hint_a, hint_b = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
        if parted > reach:
            return FAR, count, parted, n, extent, hint_a, hint_b
        w = sub(a, b)
        extent = max(extent, norm(w))
        if count > 0 and (least - parted <= tolerance * least or _holds(point_out, count, w)):
            return APART, count, least, n, extent, hint_a, hint_b
        store3(point_out, count, 0, w)
        store3(point_out, count, 3, a)
        count, v = _reduce(count + 1, point_out)
        length = norm(v)
        if count == 4 or length <= _TOUCHING * extent:
            return OVERLAP, count, 0.0, n, extent, hint_a, hint_b
        if length >= least:
            return APART, count, least, n, extent, hint_a, hint_b
        least = length
        n = scale(1.0 / length, v)
    return APART, count, least, n, extent, hint_a, hint_b


@kernel
def _holds(point, count, w):
    """Return whether a point is already a corner of the simplex."""
    for k in range(count):
        if point[k, 0] == w[0] and point[k, 1] == w[1] and point[k, 2] == w[2]:
            return True
    return False


@kernel
def weigh_points(count, point):
    """Return the point on a given by the simplex weights."""
    x = ZERO
    for k in range(count):
        x = add(x, scale(point[k, 6], load3(point, k, 3)))
    return x


@subroutine
def _reduce(count, point_inout):
    """
    Reduce a simplex to the corners whose hull holds the point nearest to the origin.

    Returns their number and this point, and writes their weights. Four remaining corners enclose
    the origin.
    """
    p0, p1 = load3(point_inout, 0, 0), load3(point_inout, 1, 0)
    p2, p3 = load3(point_inout, 2, 0), load3(point_inout, 3, 0)
    if count == 1:
        weights, v = (1.0, 0.0, 0.0, 0.0), p0
    elif count == 2:
        (s, t), v = _nearest_on_segment(p0, p1)
        weights = (s, t, 0.0, 0.0)
    elif count == 3:
        (r, s, t), v = nearest_on_triangle(p0, p1, p2)
        weights = (r, s, t, 0.0)
    else:
        weights, v = _nearest_on_tetrahedron(p0, p1, p2, p3)
    kept = 0
    for k, weight in enumerate(weights):
        if k < count and weight > 0.0:
            if kept < k:
                point_inout[kept, :] = point_inout[k]
            point_inout[kept, 6] = weight
            kept += 1
    return kept, v


@kernel
def _nearest_on_segment(p, q):
    """Return both ends' weights, and the segment's point nearest to the origin."""
    e = sub(q, p)
    length_2 = dot(e, e)
    t = -dot(p, e)
    if t <= 0.0 or length_2 == 0.0:
        return (1.0, 0.0), p
    if t >= length_2:
        return (0.0, 1.0), q
    t /= length_2
    return (1.0 - t, t), add(p, scale(t, e))


@subroutine
def nearest_on_triangle(p, q, r):
    """Return the three corners' weights, and the triangle's point nearest to the origin."""
    n = cross(sub(q, p), sub(r, p))
    n_2 = dot(n, n)
    # areas of the triangles between the origin's projection and the edges
    u, v, w = dot(n, cross(q, r)), dot(n, cross(r, p)), dot(n, cross(p, q))
    total = u + v + w
    if n_2 > 0.0 and total > 0.0 and u >= 0.0 and v >= 0.0 and w >= 0.0:
        return ((u / total, v / total, w / total), scale(dot(n, p) / n_2, n))
    # outside: nearest on an edge with the origin beyond it
    is_flat = not (n_2 > 0.0 and total > 0.0)
    least, weights, nearest = math.inf, (1.0, 0.0, 0.0), p
    for edge, (area, begin, end) in enumerate(((w, p, q), (u, q, r), (v, r, p))):
        if is_flat or area < 0.0:
            (s, t), x = _nearest_on_segment(begin, end)
            if dot(x, x) < least:
                least, nearest = dot(x, x), x
                weights = ((s, t, 0.0), (0.0, s, t), (t, 0.0, s))[edge]
    return weights, nearest


@kernel
def _lies_beyond(p, q, r, opposite):
    """Return whether the origin is outside a tetrahedron's face."""
    n = cross(sub(q, p), sub(r, p))
    inward = dot(n, sub(opposite, p))
    return -dot(n, p) * inward < 0.0 or inward == 0.0


@subroutine
def _nearest_on_tetrahedron(p0, p1, p2, p3):
    """Return the four corners' weights, and the point nearest to the origin."""
    least = math.inf
    weights, nearest = (0.25, 0.25, 0.25, 0.25), ZERO
    for face, (p, q, r, opposite) in enumerate(
        ((p0, p1, p2, p3), (p0, p1, p3, p2), (p0, p2, p3, p1), (p1, p2, p3, p0))
    ):
        if _lies_beyond(p, q, r, opposite):
            (s, t, u), x = nearest_on_triangle(p, q, r)
            if dot(x, x) < least:
                least, nearest = dot(x, x), x
                weights = ((s, t, u, 0.0), (s, t, 0.0, u), (s, 0.0, t, u), (0.0, s, t, u))[face]
    return weights, nearest
