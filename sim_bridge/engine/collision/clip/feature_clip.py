"""
Intersecting features of two faces, projected along the normal: helpers for the clippers.

p and q are the first rows of two forms written by `support_face`. A *meeting* of forms is a tuple
(is_turned, size, limit, stride): whether p belongs to b instead of a; the faces' size; the
greatest gap; the factor in feature numbers. A slope holds the slopes of a face's height along u
and v, and the cosine between the face's normal and the contact normal.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.clip.contact_manifold import CORNER_OF_A, CORNER_OF_B, EDGES, note
from sim_bridge.engine.data.collision_scratch import H, U, V
from sim_bridge.engine.math.vec3 import add, load3, scale, sub

# relative to the faces' size: distance between equal points, distance outside counting as inside
SAME = 1e-7
INSIDE = 1e-9
# cosine to n below which a face is too steep to have a height at foreign points
STEEP = 1e-3


@kernel
def note_met(found, u, v, h_p, h_q, name, meeting, polygon_out):
    """Collect a point on the forms p and q; name: kind and numbers as if p belonged to a."""
    kind, i, j = name
    is_turned, size, limit, stride = meeting
    above, below = h_p, h_q
    if is_turned:
        above, below = h_q, h_p
        if kind == EDGES:
            i, j = j, i
        else:
            kind = CORNER_OF_A + CORNER_OF_B - kind
    feature = (i * stride + j) * 4 + kind
    return note(found, u, v, above, below, limit, SAME * size, feature, polygon_out)


@kernel
def note_on_segment(found, along, h_q, name, p, meeting, polygon_out):
    """Collect a segment's point at the parameter `along`, from 0 to 1."""
    u, v, h_p = point_between(p, p + 1, along, polygon_out)
    return note_met(found, u, v, h_p, h_q, name, meeting, polygon_out)


@kernel
def point_between(row, after, along, polygon):
    """Return (u, v, h) at the parameter `along`, from 0 to 1, between two rows."""
    begin = load3(polygon, row, U)
    return add(begin, scale(along, sub(load3(polygon, after, U), begin)))


@kernel
def height_at(u, v, first, slope, polygon):
    """Return the height at (u, v) in a plane through the row `first`."""
    return (
        polygon[first, H] + slope[0] * (u - polygon[first, U]) + slope[1] * (v - polygon[first, V])
    )


@kernel
def turning_of(first, count, polygon):
    """Return 1 for a polygon counter-clockwise in u and v, else -1."""
    area = 0.0
    u0, v0 = polygon[first, U], polygon[first, V]
    for row in range(first + 1, first + count - 1):
        area += (polygon[row, U] - u0) * (polygon[row + 1, V] - v0) - (
            polygon[row + 1, U] - u0
        ) * (polygon[row, V] - v0)
    return 1.0 if area >= 0.0 else -1.0


@kernel
def edge_line(k, first, count, sign, polygon):
    """
    Return an edge's line as (a, b, c), and its length.

    a u + b v + c is the inward distance if `sign` is the polygon's orientation.
    """
    row = first + k
    after = first if k + 1 == count else row + 1
    du, dv = polygon[after, U] - polygon[row, U], polygon[after, V] - polygon[row, V]
    length = math.sqrt(du * du + dv * dv)
    scale = sign / length if length > 0.0 else 0.0
    a, b = -dv * scale, du * scale
    return a, b, -(a * polygon[row, U] + b * polygon[row, V]), length


@kernel
def is_inside(u, v, first, count, sign, slack, polygon):
    """Return whether a point lies in a polygon, or at most `slack` outside."""
    for k in range(count):
        a, b, c, _ = edge_line(k, first, count, sign, polygon)
        if a * u + b * v + c < -slack:
            return False
    return True
