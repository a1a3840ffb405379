"""
Convex shapes represented by their support functions.

A shape in a kernel is a tuple (kind, size, R, p, first, last, first face, last face): kind and
size as in `geometry`, the pose of its frame, and its rows in the pools of hull vertices and faces.
A TRIANGLE stores its corners relative to p as the rows of R. A SLICE is a HOLLOW's wall section in
the x z plane of its frame, x > 0, widened along y to both sides by up to size[0] times x; its
`first` is the HOLLOW's row. A HOLLOW itself becomes a CONE, without its bore.

Spheres and capsules are cores (a point, a segment) with a margin, their radius. A result for two
cores holds for the shapes after the margins are subtracted.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HOLLOW,
    HULL,
    SLICE,
    SPHERE,
    TRIANGLE,
)
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, load3, norm, scale, sub, ZERO

# below this number of vertices, a full scan is faster than climbing
_FEW = 24


@kernel
def shape_of(geometry, g, pose, origin):
    """Return a geometry's shape tuple, with positions relative to `origin`."""
    kind = geometry.shape[g]
    return (
        CONE if kind == HOLLOW else kind,
        load3(geometry.size, g, 0),
        pose[0],
        sub(pose[1], origin),
        geometry.vertex_range[g, 0],
        geometry.vertex_range[g, 1],
        geometry.face_range[g, 0],
        geometry.face_range[g, 1],
    )


@kernel
def triangle_of(t0, t1, t2, origin):
    """Return a triangle's shape tuple, with positions relative to `origin`."""
    p = scale(1.0 / 3.0, add(add(t0, t1), t2))
    corners = (sub(t0, p), sub(t1, p), sub(t2, p))
    return (TRIANGLE, ZERO, corners, sub(p, origin), 0, 3, 0, 0)


@kernel
def margin_of(shape):
    """Return the margin around a shape's core."""
    if shape[0] == SPHERE or shape[0] == CAPSULE:
        return shape[1][0]
    return 0.0


@kernel
def is_curved(kind):
    """Return whether a core has a curved surface."""
    return kind == CYLINDER or kind == CONE or kind == ELLIPSOID


@subroutine
def support(geometry, shape, hint, d):
    """
    Return the support point of a core along d and, for hulls, its row.

    hint: first row in the search among a hull's vertices.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    if kind == SPHERE:
        return p, hint
    if kind == TRIANGLE:
        s0, s1, s2 = dot(R[0], d), dot(R[1], d), dot(R[2], d)
        if s0 >= s1 and s0 >= s2:
            return add(p, R[0]), hint
        if s1 >= s2:
            return add(p, R[1]), hint
        return add(p, R[2]), hint
    c = mul_tv(R, d)
    if kind == BOX:
        x = (
            math.copysign(size[0], c[0]),
            math.copysign(size[1], c[1]),
            math.copysign(size[2], c[2]),
        )
    elif kind == CAPSULE:
        x = (0.0, 0.0, math.copysign(size[1], c[2]))
    elif kind == SLICE:
        x = _slice_corner(geometry, shape[4], size[0], c)
    elif kind == HULL:
        hint = _farthest_vertex(geometry, shape[4], shape[5], hint, c)
        x = load3(geometry.vertex, hint, 0)
    elif kind == ELLIPSOID:
        y = (size[0] * c[0], size[1] * c[1], size[2] * c[2])
        length = norm(y)
        s = 1.0 / length if length > 0.0 else 0.0
        x = (s * size[0] * y[0], s * size[1] * y[1], s * size[2] * y[2])
    else:  # CYLINDER, CONE
        radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
        s = size[0] / radial if radial > 0.0 else 0.0
        if kind == CYLINDER:
            x = (s * c[0], s * c[1], math.copysign(size[1], c[2]))
        elif 2.0 * size[1] * c[2] >= (size[0] - size[2]) * radial:
            s = size[2] / radial if radial > 0.0 else 0.0
            x = (s * c[0], s * c[1], size[1])
        else:
            x = (s * c[0], s * c[1], -size[1])
    return add(p, mul_mv(R, x)), hint


@kernel
def _slice_corner(geometry, hollow, spread, c):
    """Return the corner farthest along c in a wall slice of a hollow shape."""
    out = c[0] + spread * abs(c[1])
    low, high = geometry.bore[hollow, 0], geometry.bore[hollow, 1]
    if out > 0.0:
        low, high = geometry.size[hollow, 0], geometry.size[hollow, 2]
    half = geometry.size[hollow, 1]
    if out * (high - low) + 2.0 * half * c[2] > 0.0:
        return high, math.copysign(spread * high, c[1]), half
    return low, math.copysign(spread * low, c[1]), -half


@kernel
def _farthest_vertex(geometry, first, last, hint, c):
    """Find a hull's vertex row farthest along c: by full scan if few, else by climbing."""
    best = hint
    if last - first <= _FEW:
        best = first
        top = dot(load3(geometry.vertex, first, 0), c)
        for row in range(first + 1, last):
            height = dot(load3(geometry.vertex, row, 0), c)
            if height > top:
                best, top = row, height
        return best
    top = dot(load3(geometry.vertex, best, 0), c)
    climbed = True
    while climbed:
        climbed = False
        at = best
        for k in range(geometry.ring_start[at], geometry.ring_start[at + 1]):
            height = dot(load3(geometry.vertex, geometry.ring[k], 0), c)
            if height > top:
                best, top = geometry.ring[k], height
                climbed = True
    return best


@subroutine
def separation(geometry, shape_a, shape_b, hint_a, hint_b, n):
    """
    Compute the separation of two cores along the unit vector n, core a beyond core b.

    Returns the separation, the support points and the hints. The signed distance between two
    convex shapes is the greatest separation over all n.
    """
    a, hint_a = support(geometry, shape_a, hint_a, (-n[0], -n[1], -n[2]))
    b, hint_b = support(geometry, shape_b, hint_b, n)
    return dot(n, sub(a, b)), a, b, hint_a, hint_b
