"""
Slices of a hollow shape: sections of its wall, and distances to them.

A slice is the wall's section at one angle about the axis, extended to both sides along the
tangent. It is convex and lies within the wall on the side of the bore.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.data.geometry import CONE, CYLINDER, SLICE
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, scale, sub, ZERO

SLICES = 32
"""Slices tested all around, before the least distances are found exactly."""
SPREAD = 2.0 * math.tan(math.pi / SLICES)
"""Half a slice's width, relative to the radius: it reaches to the middle of the next slice."""
WIDENINGS = 12
"""How often a slice's spread is doubled at most."""
INWARD = -1e-9
"""Greatest cosine between a normal and the direction away from the axis that counts as inwards."""
ROUNDING = 1e-9
"""Rounding error in distances, relative to the greatest radius."""
# cosine to the axis, above which a cylinder's or cone's normal counts as a normal of its side
_SIDE = 0.1
# least cosine between a normal and the tangent that counts as along the tangent
_ALONG = 1e-6


@kernel
def turned(R, angle):
    """Return a slice's axes: away from the axis, along the tangent, along the axis."""
    c, s = math.cos(angle), math.sin(angle)
    x, y = column(R, 0), column(R, 1)
    e, t, z = add(scale(c, x), scale(s, y)), add(scale(c, y), scale(-s, x)), column(R, 2)
    return (e[0], t[0], z[0]), (e[1], t[1], z[1]), (e[2], t[2], z[2])


@kernel
def width_of(geometry, hollow):
    """Return a hollow shape's greatest radius [m]."""
    return max(geometry.size[hollow, 0], geometry.size[hollow, 2])


@subroutine
def measure_slice(geometry, scratch, shape, hollow, R, angle, reach):
    """
    Measure a convex shape against a slice; result as for `convex.measure_shapes`.

    If the shape has sunk into the slice, the slice is widened until it pushes the shape out within
    the plane of the axis. Returns the signed distance, the shape's nearest point x, the normal, x
    along the tangent, and the normal's component away from the axis.
    """
    axes, spread = turned(R, angle), SPREAD
    t, tries = column(axes, 1), 0
    gap, x, n = math.inf, ZERO, ZERO
    while tries < WIDENINGS:
        gap, x, _, n = measure_shapes(
            geometry,
            scratch,
            shape,
            (SLICE, (spread, 0.0, 0.0), axes, ZERO, hollow, 0, 0, 0),
            reach,
        )
        spread *= 2.0
        tries = WIDENINGS if gap >= 0.0 or abs(dot(t, n)) < _ALONG else tries + 1
    x = onto_side(shape, n, x)
    return gap, x, n, dot(t, x), dot(column(axes, 0), n)


@kernel
def onto_side(shape, n, x):
    """
    Return a shape's point x farthest against n, exactly if it is on a round side.

    On a straight line in the side of a cylinder or cone, `measure_shapes` returns a point only
    near this line.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    c = mul_tv(R, n)
    radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
    if not (kind == CYLINDER or kind == CONE) or radial < _SIDE:
        return x
    top = size[2] if kind == CONE else size[0]
    c0, c1 = -c[0] / radial, -c[1] / radial
    low = add(p, mul_mv(R, (size[0] * c0, size[0] * c1, -size[1])))
    high = add(p, mul_mv(R, (top * c0, top * c1, size[1])))
    way = sub(high, low)
    square = dot(way, way)
    share = dot(sub(x, low), way) / square if square > 0.0 else 0.0
    return add(low, scale(min(max(share, 0.0), 1.0), way))


@subroutine
def leaves_through_bore(geometry, scratch, shape, hollow, R, x, gap):
    """
    Return whether a convex shape leaves the wall through the bore by a shorter way.

    The way is measured at the angle of the point x about the axis, and compared to the depth of
    a contact there with the cone around the hollow shape. shape, x: relative to the
    hollow shape's origin. gap: the contact's gap [m]; False if it is not deeper than rounding.
    """
    if gap >= -ROUNDING * width_of(geometry, hollow):
        return False
    local = mul_tv(R, x)
    inside, _, _, _, outwards = measure_slice(
        geometry, scratch, shape, hollow, R, math.atan2(local[1], local[0]), math.inf
    )
    return inside > gap and outwards < INWARD
