"""
Spans of a line inside a convex shape, in the shape's frame.

A line is o + t d. o is its point nearest to the frame's origin, so that a faraway start costs no
precision; dd = d . d. A *span* is (first, face, last, face): the least and the greatest t inside,
and the faces that the line crosses there. It is empty if first > last. A line in a face counts as
inside.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from sim_bridge.engine.math.vec3 import add, dot, load3, norm, scale, sub, ZERO

# faces of cylinders and cones; a box's faces are 2 axis, and 2 axis + 1 on the positive side
SIDE, TOP, BOTTOM = 0, 1, 2

PARALLEL = 1e-32
"""Squared sine below which a line counts as parallel to an axis: rounding hides the difference."""


@subroutine
def convex_span(geometry, g, o, d, dd):
    """Return a line's span in a convex geometry."""
    shape, size = geometry.shape[g], load3(geometry.size, g, 0)
    if shape == SPHERE:
        first, last = ball_span(ZERO, size[0], o, d, dd)
        return first, SIDE, last, SIDE
    if shape == BOX:
        return _box_span(size, o, d)
    if shape == CYLINDER:
        return _cylinder_span(size, o, d, dd)
    if shape == CAPSULE:
        first, last = _capsule_span(size, o, d, dd)
        return first, SIDE, last, SIDE
    if shape == CONE:
        return tapered_span(size[0], size[1], size[2], o, d, dd)
    if shape == ELLIPSOID:
        o, d = _shrunk(o, size), _shrunk(d, size)
        first, last = ball_span(ZERO, 1.0, o, d, dot(d, d))
        return first, SIDE, last, SIDE
    if shape == PLANE:
        first, last = below(0.0, o[2], d[2])
        return first, TOP, last, TOP
    return _hull_span(geometry, g, o, d)


@subroutine
def convex_normal(geometry, g, face, x):
    """Return a convex geometry's outward unit normal at a point on a face, own frame."""
    shape, size = geometry.shape[g], load3(geometry.size, g, 0)
    if shape == BOX:
        sign, axis = 2.0 * (face & 1) - 1.0, face >> 1
        return (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0)
    if shape == SPHERE:
        n = x
    elif shape == CAPSULE:
        n = (x[0], x[1], x[2] - min(max(x[2], -size[1]), size[1]))
    elif shape == ELLIPSOID:
        n = _shrunk(_shrunk(x, size), size)
    elif shape == PLANE:
        n = (0.0, 0.0, 1.0)
    elif shape == CYLINDER:
        return tapered_normal(size[0], size[1], size[0], face, x)
    elif shape == CONE:
        return tapered_normal(size[0], size[1], size[2], face, x)
    else:
        return load3(geometry.face_plane, face, 0)
    length = norm(n)
    if length > 0.0:
        return scale(1.0 / length, n)
    # the middle of a shape without size
    return 0.0, 0.0, 1.0


@kernel
def _shrunk(v, radii):
    return v[0] / radii[0], v[1] / radii[1], v[2] / radii[2]


@kernel
def ball_span(c, radius, o, d, dd):
    """Return the first and the last t in a ball about c."""
    x = sub(o, c)
    middle = -dot(x, d) / dd
    x = add(x, scale(middle, d))
    return _around(middle, radius * radius - dot(x, x), dd)


@kernel
def _around(middle, room, square):
    """Return middle -+ sqrt(room / square); an empty interval for negative room."""
    half = math.sqrt(max(room, 0.0) / square)
    return (middle - half, middle + half) if room >= 0.0 else (math.inf, -math.inf)


@kernel
def _tube_span(radius, o, d, dd):
    """Return the first and the last t in an infinite cylinder about z."""
    across = d[0] * d[0] + d[1] * d[1]
    if across <= PARALLEL * dd:
        is_inside = o[0] * o[0] + o[1] * o[1] <= radius * radius
        return (-math.inf, math.inf) if is_inside else (math.inf, -math.inf)
    middle = -(o[0] * d[0] + o[1] * d[1]) / across
    x, y = o[0] + middle * d[0], o[1] + middle * d[1]
    return _around(middle, radius * radius - (x * x + y * y), across)


@kernel
def below(height, z, rate):
    """Return the first and the last t at which z + t rate <= height."""
    if rate == 0.0:
        return (-math.inf, math.inf) if z <= height else (math.inf, -math.inf)
    t = (height - z) / rate
    return (-math.inf, t) if rate > 0.0 else (t, math.inf)


@kernel
def _between(half, z, rate):
    """Return the first and the last t at which |z + t rate| <= half."""
    if rate == 0.0:
        return (-math.inf, math.inf) if abs(z) <= half else (math.inf, -math.inf)
    s, t = (-half - z) / rate, (half - z) / rate
    return min(s, t), max(s, t)


@kernel
def _box_span(half, o, d):
    first, last, entered, left = -math.inf, math.inf, 0, 0
    for axis in range(3):
        begin, end = _between(half[axis], o[axis], d[axis])
        rising = int(d[axis] > 0.0)
        if begin > first:
            first, entered = begin, 2 * axis + 1 - rising
        if end < last:
            last, left = end, 2 * axis + rising
    return first, entered, last, left


@kernel
def _cylinder_span(size, o, d, dd):
    first, last = _tube_span(size[0], o, d, dd)
    begin, end = _between(size[1], o[2], d[2])
    entered, left = SIDE, SIDE
    if begin > first:
        first, entered = begin, BOTTOM if d[2] > 0.0 else TOP
    if end < last:
        last, left = end, TOP if d[2] > 0.0 else BOTTOM
    return first, entered, last, left


@kernel
def _capsule_span(size, o, d, dd):
    """Join the spans in the tube and both balls; they overlap, because the capsule is convex."""
    first, last = _tube_span(size[0], o, d, dd)
    begin, end = _between(size[1], o[2], d[2])
    first, last = max(first, begin), min(last, end)
    if first > last:
        first, last = math.inf, -math.inf
    for z in (-size[1], size[1]):
        begin, end = ball_span((0.0, 0.0, z), size[0], o, d, dd)
        first, last = min(first, begin), max(last, end)
    return first, last


@kernel
def tapered_span(bottom, half, top, o, d, dd):
    """
    Return the span in a cone with the radii `bottom` and `top` at z = -half and z = half.

    The span in the infinite cone below the apex is cut off at the ends. With z oriented so that
    the radius falls along z, w >= 0 is the radius at o, and rate its growth along the line. Inside
    means x² + y² <= (w + t rate)².
    """
    z, rise, upper, lower = o[2], d[2], TOP, BOTTOM
    if top > bottom:
        bottom, top, z, rise, upper, lower = top, bottom, -z, -rise, BOTTOM, TOP
    slope = 0.5 * (bottom - top) / half
    if slope == 0.0:
        first, last = _tube_span(bottom, o, d, dd)
    else:
        first, last = _below_apex(0.5 * (bottom + top) - slope * z, -slope * rise, o, d, dd)
    begin, end = below(half, -z, -rise)
    entered, left = SIDE, SIDE
    if begin > first:
        first, entered = begin, lower
    if end < last:
        last, left = end, lower
    if top > 0.0:
        begin, end = below(half, z, rise)
        if begin > first:
            first, entered = begin, upper
        if end < last:
            last, left = end, upper
    return first, entered, last, left


@kernel
def _below_apex(w, rate, o, d, dd):
    """Return the first and last t in the lower half of an infinite cone, see `tapered_span`."""
    a = d[0] * d[0] + d[1] * d[1] - rate * rate
    b = o[0] * d[0] + o[1] * d[1] - w * rate
    c = o[0] * o[0] + o[1] * o[1] - w * w
    # b² - a c, written without cancellation near the apex
    x, y = w * d[0] - rate * o[0], w * d[1] - rate * o[1]
    moment = o[0] * d[1] - o[1] * d[0]
    square = x * x + y * y - moment * moment
    if abs(a) <= 1e-16 * dd:
        # parallel to a line on the cone
        t = -0.5 * c / b if b != 0.0 else -w / rate
        return (t, math.inf) if rate > 0.0 else (-math.inf, t)
    if square < 0.0 and a > 0.0:
        return math.inf, -math.inf
    q = -(b + math.copysign(math.sqrt(max(square, 0.0)), b))
    s, t = q / a, q / a
    if q != 0.0:
        t = c / q
    if a < 0.0:
        # the interval is in both halves of the cone, but in the lower one only on one side
        return (max(s, t), math.inf) if rate > 0.0 else (-math.inf, min(s, t))
    if w - b / a * rate >= 0.0:
        return min(s, t), max(s, t)
    return math.inf, -math.inf


@kernel
def tapered_normal(bottom, half, top, face, x):
    """Return a tapered cone's outward unit normal at a point on a face."""
    if face != SIDE:
        return 0.0, 0.0, 1.0 if face == TOP else -1.0
    slope = 0.5 * (bottom - top) / half
    n = (x[0], x[1], slope * math.sqrt(x[0] * x[0] + x[1] * x[1]))
    length = norm(n)
    # the apex has no normal
    return scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 1.0)


@kernel
def _hull_span(geometry, g, o, d):
    first, last, entered, left = -math.inf, math.inf, 0, 0
    for face in range(geometry.face_range[g, 0], geometry.face_range[g, 1]):
        n = load3(geometry.face_plane, face, 0)
        begin, end = below(geometry.face_plane[face, 3], dot(n, o), dot(n, d))
        if begin > first:
            first, entered = begin, face
        if end < last:
            last, left = end, face
    return first, entered, last, left
