"""
What a convex shape turns towards a contact: the face, edge or point to be clipped.

Points are written as rows (u, v, h, label): u and v along two axes square to the contact normal n,
h the height along n. The labels number the corners of a shape, so that a contact point keeps its
name from step to step.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.support import support, TRIANGLE
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, HULL, SPHERE
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, mul_mv, mul_tv, scale, sub

# what was written
POINT = 0  # one row
SEGMENT = 1  # two rows
POLYGON = 2  # a row for each corner
DISC = 3  # the centre, four anchors on the rim, the point of the rim that is nearest

# corners of a face that are looked at
MAX_CORNERS = 32
# a cap, rather than the side of a cylinder or cone, faces what is within 45 degrees of its axis
_CAP = math.sqrt(0.5)
# [rad] a cap is taken for parallel, without a nearest point of the rim, well below this tilt
_PARALLEL = 1e-8
# a face of a hull belongs to the contact if it holds the nearest vertex, to this share of its size
_ON_FACE = 1e-7


@subroutine
def lay_face(
    shape, vertex, ring_start, ring, face_plane, face_start, face_vertex, faces,  # model
    is_above, n, t, s, first,  # state (read)
    polygon_out,
):
    """
    Write what a shape turns towards a contact with the normal n and the axes t and s.

    The shape that lies above, where n points to, turns its lower side. Returns the form, the
    number of rows, and for faces the slope of h along u and v and how square they are to n.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    m = scale(-1.0 if is_above else 1.0, n)
    if kind == BOX:
        return POLYGON, 4, lay_box(size, R, p, m, n, t, s, first, polygon_out)
    c = mul_tv(R, m)
    if kind == HULL:
        count, f = _lay_hull(
            shape, vertex, ring_start, ring, face_plane, face_start, face_vertex, faces,
            m, c, n, t, s, first, polygon_out)
        return POLYGON, count, _slope(f, n, t, s)
    if kind == TRIANGLE:
        f = cross(sub(R[1], R[0]), sub(R[2], R[0]))
        _lay(add(p, R[0]), 0, n, t, s, first, polygon_out)
        _lay(add(p, R[1]), 1, n, t, s, first + 1, polygon_out)
        _lay(add(p, R[2]), 2, n, t, s, first + 2, polygon_out)
        length = math.sqrt(dot(f, f))
        f = scale(1.0 / length if length > 0.0 else 0.0, f)
        return POLYGON, 3, _slope(f, n, t, s)
    if kind == CAPSULE:
        lay_capsule(size, R, p, m, n, t, s, first, polygon_out)
        return SEGMENT, 2, (0.0, 0.0, 0.0)
    if kind == CYLINDER or kind == CONE:
        if c[2] < -_CAP or (kind == CYLINDER and c[2] > _CAP):
            _lay_cap(size, R, p, c, n, t, s, first, polygon_out)
            return DISC, 6, _slope((R[0][2], R[1][2], R[2][2]), n, t, s)
        radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
        x, y = size[0], 0.0
        if radial > 0.0:
            x, y = size[0] * c[0] / radial, size[0] * c[1] / radial
        _lay(add(p, mul_mv(R, (x, y, -size[1]))), 16, n, t, s, first, polygon_out)
        if kind == CONE:
            x, y = 0.0, 0.0
        _lay(add(p, mul_mv(R, (x, y, size[1]))), 17, n, t, s, first + 1, polygon_out)
        return SEGMENT, 2, (0.0, 0.0, 0.0)
    foremost, _ = support(shape, vertex, ring_start, ring, shape[4], m)
    if kind == SPHERE:
        foremost = add(foremost, scale(size[0], m))
    _lay(foremost, 0, n, t, s, first, polygon_out)
    return POINT, 1, (0.0, 0.0, 0.0)


@kernel
def _lay(x, label, n, t, s, row, polygon_out):
    """Write a row."""
    polygon_out[row, 0], polygon_out[row, 1], polygon_out[row, 2] = dot(x, t), dot(x, s), dot(x, n)
    polygon_out[row, 3] = label


@kernel
def _slope(f, n, t, s):
    """Return the slopes along u and v of the plane with the normal f, and |f . n|."""
    square = dot(f, n)
    if square == 0.0:
        return 0.0, 0.0, 0.0
    return -dot(f, t) / square, -dot(f, s) / square, abs(square)


@kernel
def lay_capsule(size, R, p, m, n, t, s, first, polygon_out):
    """Write the line on a capsule's surface that is farthest along m."""
    top = add(p, scale(size[0], m))
    z = (R[0][2], R[1][2], R[2][2])
    for end in range(2):
        _lay(add(top, scale(size[1] if end else -size[1], z)), end, n, t, s, first + end,
             polygon_out)


@kernel
def lay_box(size, R, p, m, n, t, s, first, polygon_out):
    """Write the four corners of the box face that is most square to m; give its slope."""
    c = mul_tv(R, m)
    x, y, z = abs(c[0]), abs(c[1]), abs(c[2])
    a, b, f = (R[0][1], R[1][1], R[2][1]), (R[0][2], R[1][2], R[2][2]), (R[0][0], R[1][0], R[2][0])
    half, half_a, half_b, along = size[0], size[1], size[2], c[0]
    bit, bit_a, bit_b = 1, 2, 4
    if y > x and y >= z:
        a, b, f = b, f, a
        half, half_a, half_b, along = size[1], size[2], size[0], c[1]
        bit, bit_a, bit_b = 2, 4, 1
    elif z > x:
        a, b, f = f, a, b
        half, half_a, half_b, along = size[2], size[0], size[1], c[2]
        bit, bit_a, bit_b = 4, 1, 2
    if along < 0.0:
        half, bit = -half, 0
    base = add(p, scale(half, f))
    for k in range(4):
        # around the face: + +, - +, - -, + -
        plus_a, plus_b = k == 0 or k == 3, k < 2
        corner = add(base, add(scale(half_a if plus_a else -half_a, a),
                               scale(half_b if plus_b else -half_b, b)))
        label = bit + (bit_a if plus_a else 0) + (bit_b if plus_b else 0)
        _lay(corner, label, n, t, s, first + k, polygon_out)
    return _slope(f, n, t, s)


@kernel
def _lay_hull(
    shape, vertex, ring_start, ring, face_plane, face_start, face_vertex, faces,  # model
    m, c, n, t, s, first,  # state (read)
    polygon_out,
):
    """Write the face most square to the direction c, among those that hold the farthest vertex."""
    R, p = shape[2], shape[3]
    _, top = support(shape, vertex, ring_start, ring, shape[4], m)
    x = load3(vertex, top, 0)
    slack = _ON_FACE * (abs(x[0]) + abs(x[1]) + abs(x[2]))
    best, most = -1, -math.inf
    for row in range(faces[0], faces[1]):
        f = load3(face_plane, row, 0)
        if dot(f, x) >= face_plane[row, 3] - slack and dot(f, c) > most:
            best, most = row, dot(f, c)
    if best < 0:
        _lay(add(p, mul_mv(R, x)), top - shape[4], n, t, s, first, polygon_out)
        return 1, (0.0, 0.0, 0.0)
    begin = face_start[best]
    corners = face_start[best + 1] - begin
    count = min(corners, MAX_CORNERS)
    for k in range(count):
        corner = face_vertex[begin + k * corners // count]
        x = add(p, mul_mv(R, load3(vertex, corner, 0)))
        _lay(x, corner - shape[4], n, t, s, first + k, polygon_out)
    return count, mul_mv(R, load3(face_plane, best, 0))


@kernel
def _lay_cap(size, R, p, c, n, t, s, first, polygon_out):
    """Write centre, anchors and nearest rim point of the flat end towards c."""
    z = math.copysign(size[1], c[2])
    label = 8 if z > 0.0 else 0
    r = size[0]
    near_x, near_y = lean(c)
    for k in range(6):
        x, y = 0.0, 0.0
        if k == 5:
            x, y = r * near_x, r * near_y
        elif k > 0:
            side = r if k < 3 else -r
            x, y = (side, 0.0) if k % 2 == 1 else (0.0, side)
        _lay(add(p, mul_mv(R, (x, y, z))), label + k, n, t, s, first + k, polygon_out)


@kernel
def lean(c):
    """
    Return the direction in a disc, the axis of which is z, that is farthest along c.

    Where the disc is square to c no direction is farther than another: the vector shrinks to zero
    there, so that it does not jump with the last bit of a pose.
    """
    radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
    s = 1.0 / (radial + _PARALLEL)
    return s * c[0], s * c[1]
