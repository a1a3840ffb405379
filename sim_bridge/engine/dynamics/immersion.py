"""
Volume below a horizontal plane, and its first moment.

Balls and cylinders have closed forms. A polyhedron is divided into tetrahedra from its faces, cut
at the plane, to a point on the plane: the section needs no faces, its tetrahedra being flat.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.fields import (
    BALL,
    DRUM,
    FIRST_LAYER,
    LAYERS,
    REACH,
    SHAPE,
    SHAPE_SIZES,
    VOLUME,
)
from sim_bridge.engine.math.mat3 import column, mul_mv
from sim_bridge.engine.math.vec3 import add, cross, dot, load_v, scale, sub, ZERO

# a cylinder section's sloping part, up to this width relative to the radius, is
# integrated numerically: the closed form would cancel
_NARROW = 0.05
_LEVEL = 1e-9  # sine for a negligible tilt
# three Gauss-Legendre points on [0, 1]
_POINTS = (0.5 - math.sqrt(0.15), 0.5, 0.5 + math.sqrt(0.15))
_WEIGHTS = (5 / 18, 8 / 18, 5 / 18)


@subroutine
def volume_below(values, R, d):
    """
    Return a shape's volume below a plane [m³], and its moment about the centre [m⁴].

    values: a BUOYANCY row's numbers. R: the shape's rotation in the world. d: plane height over
    the volume's centre [m].
    """
    if d >= values[REACH]:
        return values[VOLUME], ZERO
    if d <= -values[REACH]:
        return 0.0, ZERO
    if values[SHAPE] == BALL:
        return ball_below(values[SHAPE_SIZES], d)
    if values[SHAPE] == DRUM:
        return drum_below(values[SHAPE_SIZES], 0.5 * values[SHAPE_SIZES + 1], column(R, 2), d)
    return polyhedron_below(values, R, d)


@kernel
def ball_below(r, d):
    """Return volume and moment for a ball with radius r below a height d."""
    rest = max(r * r - d * d, 0.0)
    volume = math.pi * (d + r) * (d + r) * (2.0 * r - d) / 3.0
    return volume, (0.0, 0.0, -0.25 * math.pi * rest * rest)


@kernel
def drum_below(r, half, axis, d):
    """
    Return volume and moment for a cylinder below a height d.

    half: half length. axis: unit vector. In the section, x rises with the tilt s: the surface is
    at x s + u a = d, with u along the axis and its upward share a.
    """
    if axis[2] < 0.0:
        axis = scale(-1.0, axis)
    a = axis[2]
    s = math.sqrt(axis[0] * axis[0] + axis[1] * axis[1])
    if s < _LEVEL:
        top = min(max(d / a, -half), half)
        area = math.pi * r * r
        return area * (top + half), scale(0.5 * area * (top * top - half * half), axis)
    rise = scale(1.0 / s, sub((0.0, 0.0, 1.0), scale(a, axis)))
    first, last = (d - a * half) / s, (d + a * half) / s
    x1, x2 = min(max(first, -r), r), min(max(last, -r), r)
    full_area, full_first, _ = section_moments(r, x1)
    volume, across, along = 2.0 * half * full_area, 2.0 * half * full_first, 0.0
    if last - first < _NARROW * r:
        for k in range(3):
            x = x1 + _POINTS[k] * (x2 - x1)
            width = 2.0 * math.sqrt(max(r * r - x * x, 0.0)) * _WEIGHTS[k] * (x2 - x1)
            top = half - 2.0 * half * (x - first) / (last - first) if last > first else 0.0
            volume += width * (top + half)
            across += width * x * (top + half)
            along += 0.5 * width * (top * top - half * half)
    else:
        top, slope = d / a, s / a
        end_area, end_first, end_second = section_moments(r, x2)
        _, _, full_second = section_moments(r, x1)
        i0, i1, i2 = end_area - full_area, end_first - full_first, end_second - full_second
        volume += (top + half) * i0 - slope * i1
        across += (top + half) * i1 - slope * i2
        along = 0.5 * ((top * top - half * half) * i0 - 2.0 * top * slope * i1)
        along += 0.5 * slope * slope * i2
    return volume, add(scale(across, rise), scale(along, axis))


@kernel
def section_moments(r, x):
    """Return area, first and second moment in x from -r to x, for a disc with radius r."""
    height = math.sqrt(max(r * r - x * x, 0.0))
    angle = math.asin(min(max(x / r, -1.0), 1.0)) + 0.5 * math.pi
    area = x * height + r * r * angle
    second = 0.25 * (r * r * r * r * angle - x * (r * r - 2.0 * x * x) * height)
    return area, -2.0 / 3.0 * height * height * height, second


@kernel
def polyhedron_below(values, R, d):
    """Return volume and moment for a polyhedron below a height d."""
    at = FIRST_LAYER + 2 * int(values[LAYERS])
    apex, volume, moment = (0.0, 0.0, d), 0.0, ZERO
    for triangle in range(int(values[at])):
        corner = at + 1 + 9 * triangle
        a = mul_mv(R, load_v(values, corner))
        b = mul_mv(R, load_v(values, corner + 3))
        c = mul_mv(R, load_v(values, corner + 6))
        # a corner alone on its side becomes the first
        for _ in range(2):
            if (a[2] < d) != (b[2] < d) and (a[2] < d) != (c[2] < d):
                break
            a, b, c = b, c, a
        more, m = part_below(a, b, c, apex, d)
        volume += more
        moment = add(moment, m)
    return volume, moment


@kernel
def part_below(a, b, c, apex, d):
    """Return volume and moment over a triangle's part below a height d; a: as cut."""
    is_below = a[2] < d
    if is_below == (b[2] < d) and is_below == (c[2] < d):
        return tetrahedron(a, b, c, apex) if is_below else (0.0, ZERO)
    p, q = cut(a, b, d), cut(a, c, d)
    if is_below:
        return tetrahedron(a, p, q, apex)
    one, first = tetrahedron(p, b, c, apex)
    two, second = tetrahedron(p, c, q, apex)
    return one + two, add(first, second)


@kernel
def cut(a, b, d):
    """Return the point at a height d between two points."""
    return add(a, scale((d - a[2]) / (b[2] - a[2]), sub(b, a)))


@kernel
def tetrahedron(a, b, c, apex):
    """Return a tetrahedron's signed volume and moment."""
    volume = dot(sub(a, apex), cross(sub(b, apex), sub(c, apex))) / 6.0
    return volume, scale(0.25 * volume, add(add(a, b), add(c, apex)))
