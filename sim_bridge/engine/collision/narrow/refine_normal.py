"""
Refinement of the least-distance direction between two convex cores, to the last digits.

The signed distance is the maximum separation F(n) over all unit vectors n; n is known to some
digits. F has kinks where n is a face's normal or orthogonal to an edge. Flat faces are tested
exactly. Edges, and straight lines on the sides of cylinders and cones, constrain n to a circle
n . e = c; two of them constrain n to one point. Where F is smooth, freely or along that circle,
Newton's method follows. Every F(n) is a lower bound on the distance, so the greatest value found
is always valid.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.support import is_curved, separation
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    SLICE,
    TRIANGLE,
)
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    greatest_axis,
    least_axis,
    load3,
    norm,
    perpendicular,
    scale,
    sub,
    ZERO,
)

# known accuracy of n [rad]
_NEAR = 2e-3
_FACE_NEAR = 1e-2
# gains below this share of the extent are rounding: the flatter feature is kept
_ROUNDING = 1e-14
_NEWTON_STEPS = 6


@subroutine
def refine_normal(geometry, shape_a, shape_b, hint_a, hint_b, extent, n):
    """Refine n, the least-distance direction between two cores; return n and the distance."""
    slack = _ROUNDING * extent
    distance, _, _, hint_a, hint_b = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
    for shape, sign in ((shape_a, -1.0), (shape_b, 1.0)):
        found, f = _near_face(geometry, shape, scale(sign, n))
        f = scale(sign, f)
        if found:
            parted, _, _, _, _ = separation(geometry, shape_a, shape_b, hint_a, hint_b, f)
            if parted >= distance - slack:
                return f, parted
    if not (is_curved(shape_a[0]) or is_curved(shape_b[0])):
        return n, distance

    edged_a, e_a, c_a = _near_edge(geometry, shape_a, hint_a, scale(-1.0, n))
    edged_b, e_b, c_b = _near_edge(geometry, shape_b, hint_b, n)
    c_a = -c_a
    best, best_n = distance, n
    if edged_a and edged_b:
        start = _meet(e_a, c_a, e_b, c_b, n)
        parted, _, _, _, _ = separation(geometry, shape_a, shape_b, hint_a, hint_b, start)
        if parted >= best - slack:
            best, best_n = parted, start
    for circle in range(3):
        is_bound = circle < 2
        e, c, skip = e_a, c_a, not edged_a
        if circle == 1:
            e, c, skip = e_b, c_b, not edged_b
        elif circle == 2:
            skip = False
        if not skip:
            trial, parted = _climb(geometry, shape_a, shape_b, hint_a, hint_b, is_bound, e, c, n)
            if parted > best + slack:
                best, best_n = parted, trial
    return best_n, best


@kernel
def _near_face(geometry, shape, m):
    """Find a flat face whose outward normal is nearly m; return whether found, and the normal."""
    kind, size, R = shape[0], shape[1], shape[2]
    f = ZERO
    if kind == BOX or kind == CYLINDER or kind == CONE:
        c = mul_tv(R, m)
        axis = greatest_axis(c) if kind == BOX else 2
        f = column(R, axis)
        if c[axis] < 0.0:
            f = scale(-1.0, f)
        elif kind == CONE and size[2] == 0.0:
            return False, f
    elif kind == TRIANGLE:
        f = cross(sub(R[1], R[0]), sub(R[2], R[0]))
        length = norm(f)
        if length == 0.0:
            return False, f
        f = scale(1.0 / length, f)
        if dot(f, m) < 0.0:
            f = scale(-1.0, f)
    elif kind == SLICE:
        f = mul_mv(R, _slice_face(geometry, shape[4], mul_tv(R, m)))
    elif kind == HULL:
        c = mul_tv(R, m)
        most, best = -1.0, shape[6]
        for row in range(shape[6], shape[7]):
            along = dot(load3(geometry.face_plane, row, 0), c)
            if along > most:
                most, best = along, row
        if shape[7] <= shape[6]:
            return False, f
        f = mul_mv(R, load3(geometry.face_plane, best, 0))
    else:
        return False, f
    off = sub(f, m)
    return dot(off, off) < _FACE_NEAR * _FACE_NEAR, f


@kernel
def _slice_face(geometry, hollow, c):
    """Return the side normal nearest to c in a hollow shape's section, in its frame."""
    half = geometry.size[hollow, 1]
    low, high = geometry.bore[hollow, 0], geometry.bore[hollow, 1]
    sign = -1.0
    if c[0] > 0.0:
        low, high, sign = geometry.size[hollow, 0], geometry.size[hollow, 2], 1.0
    f = (2.0 * half * sign, 0.0, (low - high) * sign)
    length = norm(f)
    f = scale(1.0 / length if length > 0.0 else 0.0, f)
    if abs(c[2]) > dot(f, c):
        return 0.0, 0.0, math.copysign(1.0, c[2])
    return f


@kernel
def _near_edge(geometry, shape, hint, m):
    """
    Find a straight edge nearly orthogonal to m.

    Returns whether there is one, its direction e, and the value c = m . e at which the whole edge
    is farthest along m: 0, except for lines on a cone, where e is the cone's axis.
    """
    kind, size, R = shape[0], shape[1], shape[2]
    z = column(R, 2)
    c = mul_tv(R, m)
    if kind == CYLINDER or kind == CAPSULE:
        return abs(c[2]) < _NEAR, z, 0.0
    if kind == CONE:
        taper = size[0] - size[2]
        slant = math.sqrt(4.0 * size[1] * size[1] + taper * taper)
        slope = taper / slant if slant > 0.0 else 0.0
        return abs(c[2] - slope) < _NEAR, z, slope
    if kind == SLICE:
        return abs(c[1]) < _NEAR, column(R, 1), 0.0
    if kind == BOX:
        axis = least_axis(c)
        return abs(c[axis]) < _NEAR, column(R, axis), 0.0
    least, e = _NEAR, (0.0, 0.0, 1.0)
    if kind == TRIANGLE:
        s0, s1, s2 = dot(R[0], m), dot(R[1], m), dot(R[2], m)
        # the edge opposite the lowest corner
        lowest = 0 if s0 <= s1 and s0 <= s2 else (1 if s1 <= s2 else 2)
        e = sub(R[(lowest + 2) % 3], R[(lowest + 1) % 3])
        length = norm(e)
        if length == 0.0:
            return False, e, 0.0
        e = scale(1.0 / length, e)
        return abs(dot(e, m)) < _NEAR, e, 0.0
    found = False
    if kind == HULL:
        here = load3(geometry.vertex, hint, 0)
        for k in range(geometry.ring_start[hint], geometry.ring_start[hint + 1]):
            there = sub(load3(geometry.vertex, geometry.ring[k], 0), here)
            length = norm(there)
            off = abs(dot(there, c)) / length
            if off < least:
                least, found = off, True
                e = mul_mv(R, scale(1.0 / length, there))
    return found, e, 0.0


@kernel
def _meet(e, c, f, d, n):
    """Return the unit vector nearest to n with n . e = c and n . f = d; e, f unit vectors."""
    g = cross(e, f)
    g_2 = dot(g, g)
    if g_2 == 0.0:
        return n
    along = dot(e, f)
    x = scale(1.0 / g_2, add(scale(c - along * d, e), scale(d - along * c, f)))
    rest = max(1.0 - dot(x, x), 0.0)
    s = math.copysign(math.sqrt(rest / g_2), dot(n, g))
    x = add(x, scale(s, g))
    return scale(1.0 / norm(x), x)


@subroutine
def _climb(geometry, shape_a, shape_b, hint_a, hint_b, is_bound, e, c, n):
    """
    Maximize the separation by Newton's method from n, free or constrained to n . e = c.

    Returns the best n and its separation.
    """
    if is_bound:
        n = _meet_circle(e, c, n)
    best, best_n = -math.inf, n
    for _ in range(_NEWTON_STEPS):
        parted, a, b, hint_a, hint_b = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
        if not parted > best:
            break
        best, best_n = parted, n
        w = sub(a, b)
        m = scale(-1.0, n)
        if is_bound:
            # along the circle n = c e + rho u
            u = sub(n, scale(c, e))
            rho = norm(u)
            if rho == 0.0:
                break
            u = scale(1.0 / rho, u)
            t = cross(e, u)
            bend = rho * (_curve(shape_a, m, t, t) + _curve(shape_b, n, t, t)) + dot(w, u)
            step = dot(w, t) / bend
            if not (bend > 0.0 and abs(step) < 0.1):
                break
            n = add(
                scale(c, e), scale(rho, add(scale(math.cos(step), u), scale(math.sin(step), t)))
            )
        else:
            s = perpendicular(n)
            t = cross(n, s)
            h_ss = _curve(shape_a, m, s, s) + _curve(shape_b, n, s, s) + parted
            h_st = _curve(shape_a, m, s, t) + _curve(shape_b, n, s, t)
            h_tt = _curve(shape_a, m, t, t) + _curve(shape_b, n, t, t) + parted
            det = h_ss * h_tt - h_st * h_st
            g_s, g_t = dot(w, s), dot(w, t)
            x, y = (h_tt * g_s - h_st * g_t) / det, (h_ss * g_t - h_st * g_s) / det
            if not (det > 0.0 and h_ss > 0.0 and x * x + y * y < 0.01):
                break
            n = add(n, add(scale(x, s), scale(y, t)))
        n = scale(1.0 / norm(n), n)
    return best_n, best


@kernel
def _meet_circle(e, c, n):
    """Return the unit vector nearest to n with n . e = c."""
    u = sub(n, scale(dot(n, e), e))
    length = norm(u)
    if length == 0.0:
        return n
    return add(scale(c, e), scale(math.sqrt(max(1.0 - c * c, 0.0)) / length, u))


@kernel
def _curve(shape, m, s, t):
    """Return s . H t for the second derivative H of a core's support function at m."""
    kind, size, R = shape[0], shape[1], shape[2]
    if kind == CYLINDER or kind == CONE:
        c = mul_tv(R, m)
        radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
        taper, r = size[0] - size[2], size[0]
        if kind == CONE and 2.0 * size[1] * c[2] > taper * radial * (1.0 + 1e-9):
            r = size[2]
        if r == 0.0 or radial == 0.0:
            return 0.0
        ls, lt = mul_tv(R, s), mul_tv(R, t)
        return (
            r
            / (radial * radial * radial)
            * (c[0] * ls[1] - c[1] * ls[0])
            * (c[0] * lt[1] - c[1] * lt[0])
        )
    if kind == ELLIPSOID:
        c, ls, lt = mul_tv(R, m), mul_tv(R, s), mul_tv(R, t)
        y = (size[0] * c[0], size[1] * c[1], size[2] * c[2])
        ys = (size[0] * ls[0], size[1] * ls[1], size[2] * ls[2])
        yt = (size[0] * lt[0], size[1] * lt[1], size[2] * lt[2])
        q_2 = dot(y, y)
        if q_2 == 0.0:
            return 0.0
        return (dot(ys, yt) - dot(y, ys) * dot(y, yt) / q_2) / math.sqrt(q_2)
    # a core without curved surface
    return 0.0
