"""
Support feature of a convex shape: the face, edge or point to be clipped.

Points are written as rows (u, v, h, label): u and v along two axes orthogonal to the contact
normal n, h the height along n. The labels number a shape's corners, so that a contact point keeps
its name from step to step.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.support import support
from sim_bridge.engine.data.collision_scratch import H, LABEL, U, V
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, HULL, SPHERE, TRIANGLE
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    greatest_axis,
    load3,
    norm,
    scale,
    sub,
    ZERO,
)

# forms written
POINT = 0  # one row
SEGMENT = 1  # two rows
POLYGON = 2  # one row per corner
DISC = 3  # centre, four anchors on the rim, nearest rim point

# most corners used in a face
MAX_CORNERS = 32
# cos 45°: a cylinder or cone shows its cap instead of its side within this angle to its axis
_CAP = math.sqrt(0.5)
# [rad] well below this tilt, a cap counts as parallel and has no nearest rim point
_PARALLEL = 1e-8
# a hull face belongs to the contact if it holds the nearest vertex, within this share of its size
_ON_FACE = 1e-7


@subroutine
def lay_face(geometry, shape, is_above, axes, first, polygon_out):
    """
    Write a shape's support feature at a contact; axes: t, s and the normal n.

    The shape above (is_above, in the direction of n) is clipped on its lower side. Returns the
    form, the row count, and for faces the slopes of h along u and v and the cosine between
    the face's normal and n.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    m = scale(-1.0 if is_above else 1.0, axes[2])
    if kind == BOX:
        return POLYGON, 4, lay_box(size, R, p, m, axes, first, polygon_out)
    c = mul_tv(R, m)
    if kind == HULL:
        count, f = _lay_hull(geometry, shape, m, c, axes, first, polygon_out)
        return POLYGON, count, _slope(f, axes)
    if kind == TRIANGLE:
        f = cross(sub(R[1], R[0]), sub(R[2], R[0]))
        _lay(add(p, R[0]), 0, axes, first, polygon_out)
        _lay(add(p, R[1]), 1, axes, first + 1, polygon_out)
        _lay(add(p, R[2]), 2, axes, first + 2, polygon_out)
        length = norm(f)
        f = scale(1.0 / length if length > 0.0 else 0.0, f)
        return POLYGON, 3, _slope(f, axes)
    if kind == CAPSULE:
        lay_capsule(size, R, p, m, axes, first, polygon_out)
        return SEGMENT, 2, ZERO
    if kind == CYLINDER or kind == CONE:
        radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
        if _faces_cap(kind, size, c, radial):
            r = size[2] if kind == CONE and c[2] > 0.0 else size[0]
            _lay_cap(r, size[1], R, p, c, axes, first, polygon_out)
            return DISC, 6, _slope(column(R, 2), axes)
        x, y = size[0], 0.0
        if radial > 0.0:
            x, y = size[0] * c[0] / radial, size[0] * c[1] / radial
        _lay(add(p, mul_mv(R, (x, y, -size[1]))), 16, axes, first, polygon_out)
        if kind == CONE:
            s = size[2] / radial if radial > 0.0 else 0.0
            x, y = s * c[0], s * c[1]
        _lay(add(p, mul_mv(R, (x, y, size[1]))), 17, axes, first + 1, polygon_out)
        return SEGMENT, 2, ZERO
    # SPHERE, ELLIPSOID
    foremost, _ = support(geometry, shape, shape[4], m)
    if kind == SPHERE:
        foremost = add(foremost, scale(size[0], m))
    _lay(foremost, 0, axes, first, polygon_out)
    return POINT, 1, ZERO


@kernel
def _lay(x, label, axes, row, polygon_out):
    """Write the point x to a row."""
    t, s, n = axes
    polygon_out[row, U], polygon_out[row, V], polygon_out[row, H] = dot(x, t), dot(x, s), dot(x, n)
    polygon_out[row, LABEL] = label


@kernel
def _slope(f, axes):
    """Return the slopes along u and v of the plane with the normal f, and |f . n|."""
    t, s, n = axes
    square = dot(f, n)
    if square == 0.0:
        return ZERO
    return -dot(f, t) / square, -dot(f, s) / square, abs(square)


@kernel
def lay_capsule(size, R, p, m, axes, first, polygon_out):
    """Write the line on a capsule's surface that is farthest along m."""
    top = add(p, scale(size[0], m))
    z = column(R, 2)
    for end in range(2):
        _lay(add(top, scale(size[1] if end else -size[1], z)), end, axes, first + end, polygon_out)


@kernel
def lay_box(size, R, p, m, axes, first, polygon_out):
    """Write the four corners of the box face most orthogonal to m; return its slope."""
    c = mul_tv(R, m)
    i = greatest_axis(c)
    j, k = (i + 1) % 3, (i + 2) % 3
    f, a, b = column(R, i), column(R, j), column(R, k)
    half, half_a, half_b = size[i], size[j], size[k]
    bit, bit_a, bit_b = 1 << i, 1 << j, 1 << k
    if c[i] < 0.0:
        half, bit = -half, 0
    base = add(p, scale(half, f))
    for row in range(4):
        # around the face: + +, - +, - -, + -
        plus_a, plus_b = row == 0 or row == 3, row < 2
        corner = add(
            base,
            add(scale(half_a if plus_a else -half_a, a), scale(half_b if plus_b else -half_b, b)),
        )
        label = bit + (bit_a if plus_a else 0) + (bit_b if plus_b else 0)
        _lay(corner, label, axes, first + row, polygon_out)
    return _slope(f, axes)


@kernel
def _lay_hull(geometry, shape, m, c, axes, first, polygon_out):
    """Write the face most orthogonal to c, among the faces with the farthest vertex."""
    R, p = shape[2], shape[3]
    _, top = support(geometry, shape, shape[4], m)
    x = load3(geometry.vertex, top, 0)
    slack = _ON_FACE * (abs(x[0]) + abs(x[1]) + abs(x[2]))
    best, most = -1, -math.inf
    for row in range(shape[6], shape[7]):
        f = load3(geometry.face_plane, row, 0)
        if dot(f, x) >= geometry.face_plane[row, 3] - slack and dot(f, c) > most:
            best, most = row, dot(f, c)
    if best < 0:
        _lay(add(p, mul_mv(R, x)), top - shape[4], axes, first, polygon_out)
        return 1, ZERO
    begin = geometry.face_start[best]
    corners = geometry.face_start[best + 1] - begin
    count = min(corners, MAX_CORNERS)
    for k in range(count):
        corner = geometry.face_vertex[begin + k * corners // count]
        x = add(p, mul_mv(R, load3(geometry.vertex, corner, 0)))
        _lay(x, corner - shape[4], axes, first + k, polygon_out)
    return count, mul_mv(R, load3(geometry.face_plane, best, 0))


@kernel
def _faces_cap(kind, size, c, radial):
    """Return whether a cylinder's or cone's flat end, not its side, faces the direction c."""
    if kind == CYLINDER:
        return abs(c[2]) > _CAP
    if abs(c[2]) <= _CAP or (c[2] > 0.0 and size[2] == 0.0):
        return False
    taper = size[0] - size[2]
    slant = math.sqrt(taper * taper + 4.0 * size[1] * size[1])
    return abs(c[2]) * slant >= 2.0 * size[1] * radial + taper * c[2]


@kernel
def _lay_cap(r, half, R, p, c, axes, first, polygon_out):
    """Write the centre, anchors and nearest rim point of the flat end towards c."""
    z = math.copysign(half, c[2])
    label = 8 if z > 0.0 else 0
    near_x, near_y = lean(c)
    for k in range(6):
        x, y = 0.0, 0.0
        if k == 5:
            x, y = r * near_x, r * near_y
        elif k > 0:
            side = r if k < 3 else -r
            x, y = (side, 0.0) if k % 2 == 1 else (0.0, side)
        _lay(add(p, mul_mv(R, (x, y, z))), label + k, axes, first + k, polygon_out)


@kernel
def lean(c):
    """
    Return the direction farthest along c within a disc whose axis is z.

    If the disc is orthogonal to c, all directions are equally far. The vector then shrinks to
    zero, so that it does not jump with the last bit of a pose.
    """
    radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
    s = 1.0 / (radial + _PARALLEL)
    return s * c[0], s * c[1]
