"""Outlines of triangles and boxes as seen from the origin of a view."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.cones import AXIS, CENTRE, COSINE, NO_CONES, RADIUS
from sim_bridge.engine.data.picture import X_HIGH, X_LOW, Y_LOW
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, store3, sub

NEAREST = 1e-9
"""Depth over distance below which a point has no pixel: the quotients would be all rounding."""
_BEFORE = 1.0 - 1e-12
_MOST_CORNERS = 8
"""Rows in each half of the scratch for a clipped triangle."""
POLYGON_SIZE = 2 * _MOST_CORNERS
"""Rows of the scratch."""
CLUSTER_LEVELS = 5
"""Levels of a mesh's tree below a cluster: 32 leaves with one or two triangles each."""


@kernel
def before(depth):
    """
    Return the depth up to which another geometry hides a surface.

    Coplanar surfaces differ by rounding: the one walked first, with the lower number, stays.
    """
    return _BEFORE * depth


@kernel
def begin_mesh(corners_inout):
    """Forget the vertices seen before; return the number of the visit."""
    last = corners_inout.stamp.shape[0] - 1
    corners_inout.stamp[last] += 1
    return corners_inout.stamp[last]


@kernel
def corners_at(corners, ia, ib, ic):
    """Return three vertices in the frame of the view or pencil."""
    return load3(corners.point, ia, 0), load3(corners.point, ib, 0), load3(corners.point, ic, 0)


@kernel
def moved(place, x):
    """Return a point at a pose, for its coordinates there."""
    return add(mul_mv(place[0], x), place[1])


@kernel
def size_of(a):
    """Return the sum of a vector's absolute coordinates."""
    return abs(a[0]) + abs(a[1]) + abs(a[2])


@kernel
def box_corner(middle, half, axis, sign, s, t):
    """Return a box corner; sign: side along the axis. s, t: sides along the next two axes."""
    x = sign if axis == 0 else (t if axis == 1 else s)
    y = s if axis == 0 else (sign if axis == 1 else t)
    z = t if axis == 0 else (s if axis == 1 else sign)
    return middle[0] + x * half[0], middle[1] + y * half[1], middle[2] + z * half[2]


@kernel
def is_aside(a, b, c, band):
    """Return whether a triangle is behind the origin, or beside all rays in a band."""
    x_low, x_high, y_low, y_high = band
    return (
        max(a[2], b[2], c[2]) <= 0.0
        or min(a[0] - x_high * a[2], b[0] - x_high * b[2], c[0] - x_high * c[2]) > 0.0
        or max(a[0] - x_low * a[2], b[0] - x_low * b[2], c[0] - x_low * c[2]) < 0.0
        or min(a[1] - y_high * a[2], b[1] - y_high * b[2], c[1] - y_high * c[2]) > 0.0
        or max(a[1] - y_low * a[2], b[1] - y_low * b[2], c[1] - y_low * c[2]) < 0.0
    )


@kernel
def is_box_aside(box, row, place, band):
    """Return as `is_aside` for a box (least and greatest corner) in a geometry's frame."""
    low, high = load3(box, row, 0), load3(box, row, 3)
    middle = moved(place, scale(0.5, add(low, high)))
    half, (X, Y, Z) = scale(0.5, sub(high, low)), place[0]
    x_low, x_high, y_low, y_high = band
    return (
        middle[2] + half_width(Z, half) <= 0.0
        or middle[0] - x_high * middle[2] > half_width(sub(X, scale(x_high, Z)), half)
        or x_low * middle[2] - middle[0] > half_width(sub(X, scale(x_low, Z)), half)
        or middle[1] - y_high * middle[2] > half_width(sub(Y, scale(y_high, Z)), half)
        or y_low * middle[2] - middle[1] > half_width(sub(Y, scale(y_low, Z)), half)
    )


@kernel
def is_turned_away(cones, g, cluster, place, is_parallel):
    """
    Return whether all triangles in a cluster show their backs.

    cluster: from 0. place: pose of the mesh. is_parallel: whether it is seen along z, instead of
    from the origin. All angles between normals and directions stay below 90° if the axis's angle
    and both half angles add up to less.
    """
    row = cones.first[g]
    if row == NO_CONES:
        return False
    row += cluster
    cosine = cones.cone[row, COSINE]
    if not cosine > 0.0:
        return False
    sine = math.sqrt(max(1.0 - cosine * cosine, 0.0))
    axis = mul_mv(place[0], load3(cones.cone, row, AXIS))
    if is_parallel:
        return axis[2] > sine
    radius, centre = cones.cone[row, RADIUS], moved(place, load3(cones.cone, row, CENTRE))
    square = dot(centre, centre) - radius * radius
    tangent = math.sqrt(max(square, 0.0))
    return cosine * tangent > sine * radius and (
        dot(axis, centre) > 1.000001 * (sine * tangent + cosine * radius)
    )


@kernel
def half_width(axis, half):
    """Return a box's half extent along a vector in the box's frame, times the vector's length."""
    return abs(axis[0]) * half[0] + abs(axis[1]) * half[1] + abs(axis[2]) * half[2]


@subroutine
def clip(a, b, c, band, polygon_out):
    """
    Clip a triangle to the pyramid around a band's rays (Sutherland and Hodgman 1974).

    polygon_out: (POLYGON_SIZE, 3). Returns the first row and the corner count.
    """
    store3(polygon_out, 0, 0, a)
    store3(polygon_out, 1, 0, b)
    store3(polygon_out, 2, 0, c)
    first, count = 0, 3
    for side in range(4):
        target, kept = _MOST_CORNERS - first, 0
        for k in range(count):
            p = load3(polygon_out, first + k, 0)
            q = load3(polygon_out, first + (k + 1 if k + 1 < count else 0), 0)
            here, there = _inwards(p, side, band), _inwards(q, side, band)
            if here >= 0.0:
                store3(polygon_out, target + kept, 0, p)
                kept += 1
            if (here >= 0.0) != (there >= 0.0):
                store3(
                    polygon_out, target + kept, 0, add(p, scale(here / (here - there), sub(q, p)))
                )
                kept += 1
        first, count = target, kept
    return first, count


@kernel
def _inwards(p, side, band):
    """Return a product, negative beyond one side."""
    x_low, x_high, y_low, y_high = band
    if side == X_LOW:
        return p[0] - x_low * p[2]
    if side == X_HIGH:
        return x_high * p[2] - p[0]
    if side == Y_LOW:
        return p[1] - y_low * p[2]
    return y_high * p[2] - p[1]


@kernel
def edge_plane(b, c, side, error):
    """Return side (b x c) with z raised by the rounding error in products with rays."""
    x, y, z = cross(b, c)
    return side * x, side * y, side * z + error


@kernel
def height_on(plane, x, y):
    """Return a vector's product with the ray (x, y, 1)."""
    return plane[0] * x + plane[1] * y + plane[2]
