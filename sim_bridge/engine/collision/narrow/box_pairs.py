"""
Separating axes between boxes, and between boxes and capsules, tested one by one.

The minimum-penetration axis between two convex polytopes is a face normal of one of them, or is
orthogonal to an edge of each (Gottschalk, Lin and Manocha 1996).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.narrow.nearest import from_box
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.vec3 import add, dot, norm, scale, sub, unit_vector

# relative to the boxes' size: a later axis must be better by this much, or contacts would jump
# between equally good axes
_PREFERENCE = 1e-8
# squared sine between edges, below which they define no axis
_PARALLEL = 1e-13


@subroutine
def part_boxes(half_a, R_a, half_b, R_b, p_ba, limit):
    """
    Find the axis with the greatest separation, or least penetration, between two boxes.

    p_ba: centre of a relative to the centre of b. Returns the separation and the unit vector n
    from b to a. The search ends at the first separation above `limit`. For disjoint boxes the
    separation is a lower bound on the distance, and equal to it if a face is nearest.
    """
    axes_a, axes_b = transposed(R_a), transposed(R_b)
    d_a, d_b = mul_tv(R_a, p_ba), mul_tv(R_b, p_ba)
    # cosines between the axes of a (rows) and of b
    c = mul_mm(axes_a, R_b)
    e = transposed(c)
    bias = _PREFERENCE * (half_a[0] + half_a[1] + half_a[2] + half_b[0] + half_b[1] + half_b[2])

    best, n = -math.inf, axes_a[0]
    for i in (0, 1, 2):
        parted = abs(d_a[i]) - half_a[i] - _reach(half_b, c[i])
        if parted > limit:
            return parted, n
        if parted > best + bias:
            best, n = parted, _towards(axes_a[i], d_a[i])
    for j in (0, 1, 2):
        parted = abs(d_b[j]) - half_b[j] - _reach(half_a, e[j])
        if parted > limit:
            return parted, n
        if parted > best + bias:
            best, n = parted, _towards(axes_b[j], d_b[j])
    for i in (0, 1, 2):
        for j in range(3):
            # orthogonal to edge i of a and j of b, in a's frame: unit vector i times column j
            square = 1.0 - c[i][j] * c[i][j]
            if square < _PARALLEL:
                continue
            m = _axis_times(i, e[j])
            length = norm(m)
            m_b = mul_mv(e, m)
            d = dot(m, d_a)
            parted = (abs(d) - _reach(half_a, m) - _reach(half_b, m_b)) / length
            if parted > limit:
                return parted, n
            if parted > best + bias:
                best, n = parted, _towards(scale(1.0 / length, mul_mv(R_a, m)), d)
    return best, n


@kernel
def _reach(half, c):
    """Return a box's support distance along a direction in its own frame."""
    return half[0] * abs(c[0]) + half[1] * abs(c[1]) + half[2] * abs(c[2])


@kernel
def _towards(axis, d):
    """Return the axis, flipped if necessary to point towards d."""
    return axis if d >= 0.0 else scale(-1.0, axis)


@kernel
def _axis_times(i, v):
    """Return the vector product: unit vector along axis i with v."""
    if i == 0:
        return 0.0, -v[2], v[1]
    if i == 1:
        return v[2], 0.0, -v[0]
    return -v[1], v[0], 0.0


@subroutine
def part_capsule_and_box(half, p, z, length):
    """
    Compute the signed distance between a segment and a box, in the box's frame.

    The segment goes from p - length z to p + length z. Returns the signed distance, the unit
    vector from the box to the segment, and the segment's nearest point if they are disjoint.
    """
    start, way = sub(p, scale(length, z)), scale(2.0 * length, z)
    along = _nearest_along(half, start, way)
    x = add(start, scale(along, way))
    distance, n = from_box(half, x)
    if distance > 0.0:
        return distance, n, x
    # faces of the box, then planes along the segment and an edge
    bias = _PREFERENCE * (half[0] + half[1] + half[2] + length)
    best = -math.inf
    for i in range(3):
        parted = abs(p[i]) - half[i] - length * abs(z[i])
        if parted > best + bias:
            best, n = parted, _towards(unit_vector(i), p[i])
        m = _axis_times(i, z)
        m_2 = dot(m, m)
        if m_2 < _PARALLEL:
            continue
        m = scale(1.0 / math.sqrt(m_2), m)
        d = dot(m, p)
        parted = abs(d) - _reach(half, m)
        if parted > best + bias:
            best, n = parted, _towards(m, d)
    return best, n, x


@kernel
def _nearest_along(half, start, way):
    """
    Return the parameter s, 0 <= s <= 1, at which start + s way is nearest to a box.

    Half the derivative of the squared distance grows with s. It is piecewise linear, with
    breakpoints where the line crosses the planes of the faces.
    """
    lower, upper = 0.0, 1.0
    if _slope_at(0.0, half, start, way) >= 0.0:
        return 0.0
    if _slope_at(1.0, half, start, way) <= 0.0:
        return 1.0
    for side in range(6):
        k = side // 2
        s = ((half[k] if side % 2 else -half[k]) - start[k]) / way[k]
        if lower < s < upper:
            if _slope_at(s, half, start, way) <= 0.0:
                lower = s
            else:
                upper = s
    f, g = _slope_at(lower, half, start, way), _slope_at(upper, half, start, way)
    return lower - f * (upper - lower) / (g - f) if g > f else lower


@kernel
def _slope_at(s, half, start, way):
    """Return half the derivative of the squared distance to a box at s."""
    slope = 0.0
    for k in range(3):
        x = start[k] + s * way[k]
        slope += way[k] * (x - min(max(x, -half[k]), half[k]))
    return slope
