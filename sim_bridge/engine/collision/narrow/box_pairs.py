"""
Separating axes of boxes against boxes and capsules, tested one by one.

The axis of minimum penetration of two convex polytopes is a face normal of one of them, or is
orthogonal to an edge of each (Gottschalk, Lin and Manocha 1996).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.narrow.nearest import from_box
from sim_bridge.engine.math.vec3 import add, dot, mul_mv, mul_tv, scale, sub

# shares of the size of the boxes: an axis must be better by that much to be taken after another,
# or contacts would jump between equally good ones
_PREFERENCE = 1e-8
# squared sine of the angle below which two edges have no axis of their own
_PARALLEL = 1e-13


@subroutine
def part_boxes(half_a, R_a, half_b, R_b, p_ba, limit):
    """
    Find the axis of greatest separation, or of least penetration, of two boxes.

    p_ba is the centre of a relative to that of b. Returns the separation and the unit vector n
    from b to a. The search ends at the first separation above `limit`. For disjoint boxes the
    separation is a lower bound of the distance, equal to it where a face is nearest.
    """
    axes_a = ((R_a[0][0], R_a[1][0], R_a[2][0]), (R_a[0][1], R_a[1][1], R_a[2][1]),
              (R_a[0][2], R_a[1][2], R_a[2][2]))
    axes_b = ((R_b[0][0], R_b[1][0], R_b[2][0]), (R_b[0][1], R_b[1][1], R_b[2][1]),
              (R_b[0][2], R_b[1][2], R_b[2][2]))
    d_a, d_b = mul_tv(R_a, p_ba), mul_tv(R_b, p_ba)
    # cosines between the axes of a (rows) and of b
    c0, c1, c2 = mul_tv(R_b, axes_a[0]), mul_tv(R_b, axes_a[1]), mul_tv(R_b, axes_a[2])
    bias = _PREFERENCE * (half_a[0] + half_a[1] + half_a[2] + half_b[0] + half_b[1] + half_b[2])

    best, n = -math.inf, axes_a[0]
    for d, half, axis, c in (
            (d_a[0], half_a[0], axes_a[0], c0), (d_a[1], half_a[1], axes_a[1], c1),
            (d_a[2], half_a[2], axes_a[2], c2)):
        parted = abs(d) - half - _reach(half_b, c)
        if parted > limit:
            return parted, n
        if parted > best + bias:
            best, n = parted, _towards(axis, d)
    e0, e1, e2 = (c0[0], c1[0], c2[0]), (c0[1], c1[1], c2[1]), (c0[2], c1[2], c2[2])
    for d, half, axis, c in (
            (d_b[0], half_b[0], axes_b[0], e0), (d_b[1], half_b[1], axes_b[1], e1),
            (d_b[2], half_b[2], axes_b[2], e2)):
        parted = abs(d) - half - _reach(half_a, c)
        if parted > limit:
            return parted, n
        if parted > best + bias:
            best, n = parted, _towards(axis, d)
    for i, c in ((0, c0), (1, c1), (2, c2)):
        for j in range(3):
            # square to edge i of a and j of b, in a's frame: unit vector i times column j
            b_x, b_y, b_z = e0
            cosine = c[0]
            if j == 1:
                b_x, b_y, b_z = e1
                cosine = c[1]
            elif j == 2:
                b_x, b_y, b_z = e2
                cosine = c[2]
            square = 1.0 - cosine * cosine
            if square < _PARALLEL:
                continue
            m = (0.0, -b_z, b_y)
            if i == 1:
                m = (b_z, 0.0, -b_x)
            elif i == 2:
                m = (-b_y, b_x, 0.0)
            length = math.sqrt(dot(m, m))
            m_b = (dot(m, e0), dot(m, e1), dot(m, e2))
            d = dot(m, d_a)
            parted = (abs(d) - _reach(half_a, m) - _reach(half_b, m_b)) / length
            if parted > limit:
                return parted, n
            if parted > best + bias:
                best, n = parted, _towards(scale(1.0 / length, mul_mv(R_a, m)), d)
    return best, n


@kernel
def _reach(half, c):
    """Return the support distance of a box along a direction in its own frame."""
    return half[0] * abs(c[0]) + half[1] * abs(c[1]) + half[2] * abs(c[2])


@kernel
def _towards(axis, d):
    """Return the axis, flipped if necessary to point towards d."""
    return axis if d >= 0.0 else scale(-1.0, axis)


@subroutine
def part_capsule_and_box(half, p, z, length):
    """
    Compute the signed distance of a segment and a box, in the box's frame.

    The segment goes from p - length z to p + length z. Returns the signed distance, the unit
    vector from the box to the segment, and the segment's nearest point where they are disjoint.
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
        h, d, c = half[0], p[0], z[0]
        axis, m = (1.0, 0.0, 0.0), (0.0, -z[2], z[1])
        if i == 1:
            h, d, c = half[1], p[1], z[1]
            axis, m = (0.0, 1.0, 0.0), (z[2], 0.0, -z[0])
        elif i == 2:
            h, d, c = half[2], p[2], z[2]
            axis, m = (0.0, 0.0, 1.0), (-z[1], z[0], 0.0)
        parted = abs(d) - h - length * abs(c)
        if parted > best + bias:
            best, n = parted, _towards(axis, d)
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
    Return the point start + s way, 0 <= s <= 1, that is nearest to a box.

    Half the derivative of the squared distance grows with s. It is piecewise linear, with
    breakpoints where the line crosses the planes of the faces.
    """
    lower, upper = 0.0, 1.0
    if _slope_at(0.0, half, start, way) >= 0.0:
        return 0.0
    if _slope_at(1.0, half, start, way) <= 0.0:
        return 1.0
    for side in range(6):
        h, x, w = half[0], start[0], way[0]
        if side // 2 == 1:
            h, x, w = half[1], start[1], way[1]
        elif side // 2 == 2:
            h, x, w = half[2], start[2], way[2]
        s = ((h if side % 2 else -h) - x) / w
        if lower < s < upper:
            if _slope_at(s, half, start, way) <= 0.0:
                lower = s
            else:
                upper = s
    f, g = _slope_at(lower, half, start, way), _slope_at(upper, half, start, way)
    return lower - f * (upper - lower) / (g - f) if g > f else lower


@kernel
def _slope_at(s, half, start, way):
    """Return half the derivative of the squared distance to a box."""
    slope = 0.0
    for k in range(3):
        x = start[k] + s * way[k]
        slope += way[k] * (x - min(max(x, -half[k]), half[k]))
    return slope
