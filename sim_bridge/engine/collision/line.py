"""Contacts between a line segment and a geometry, after AGX's line shape."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.contact_rows import claim_rows, geometry_pose, keep_rows, pair_of
from sim_bridge.engine.collision.narrow.closed_form import axis_distance
from sim_bridge.engine.collision.ray.spans import convex_span
from sim_bridge.engine.collision.ray.strike import normal_at, strike
from sim_bridge.engine.data.collision_scratch import PairClass, PairCount
from sim_bridge.engine.data.geometry import LINE, MESH
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    load3,
    norm,
    perpendicular,
    scale,
    store3,
    sub,
    ZERO,
)

_CROSSING = 1e-9
"""Two lines cross if they pass each other within this share of their summed lengths."""


@kernel
def collide_line_pairs(geometry, scratch_inout, contacts_inout):
    """Find the contact point, at most one, for each LINE pair."""
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        first = claim_rows(geometry, scratch_inout, contacts_inout, row, PairClass.LINE)
        if first < 0:
            continue
        a, b, _ = pair_of(scratch_inout, row)
        line, other, sign = a, b, 1.0
        if geometry.flags[a] & LINE == 0:
            line, other, sign = b, a, -1.0
        depth, point, n = meet_line(
            geometry,
            line,
            other,
            geometry_pose(scratch_inout, line),
            geometry_pose(scratch_inout, other),
        )
        count = int(depth < math.inf)
        if count > 0:
            contacts_inout.feature[first] = 0
            store3(contacts_inout.point, first, 0, point)
            store3(contacts_inout.normal, first, 0, scale(sign, n))
            contacts_inout.gap[first] = -depth
        keep_rows(geometry, scratch_inout, contacts_inout, row, first, count)


@kernel
def ends_of(geometry, line, pose):
    """Return a line's start and the vector to its end [m], world."""
    first = geometry.vertex_range[line, 0]
    start = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, first, 0)))
    end = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, first + 1, 0)))
    return start, sub(end, start)


@subroutine
def meet_line(geometry, line, other, pose, pose_o):
    """
    Return depth, point and outward normal of a line's contact, world; depth inf for no contact.

    For a convex solid hit by the segment, the point is the entry of the line, continued backwards.
    For a solid without an entry (a plane, from below) and for other shapes, the point is the
    segment's first crossing of the surface. The depth is the distance from the point to the end.
    """
    start, way = ends_of(geometry, line, pose)
    length = norm(way)
    if geometry.flags[other] & LINE != 0:
        return cross_lines(start, way, length, ends_of(geometry, other, pose_o))
    share, face = math.inf, 0
    if geometry.shape[other] < MESH:
        R, p = pose_o
        o, d = mul_tv(R, sub(start, p)), mul_tv(R, way)
        dd = dot(d, d)
        nearest = -dot(o, d) / dd
        first, face, last, _ = convex_span(geometry, other, add(o, scale(nearest, d)), d, dd)
        if first <= last and first + nearest <= 1.0 and last + nearest >= 0.0:
            share = first + nearest
    if not -math.inf < share < math.inf:
        share, face = strike(geometry, other, pose_o, start, way, 1.0, False)
    if not -math.inf < share < math.inf:
        return math.inf, ZERO, ZERO
    point = add(start, scale(share, way))
    return (1.0 - share) * length, point, normal_at(geometry, other, pose_o, face, point)


@kernel
def cross_lines(start, way, length, other):
    """Return the contact with another line as `meet_line` does: depth 0, normal to both lines."""
    origin, direction = other
    other_length = norm(direction)
    z, w = scale(1.0 / length, way), scale(1.0 / other_length, direction)
    half, half_o = 0.5 * length, 0.5 * other_length
    p = sub(add(start, scale(0.5, way)), add(origin, scale(0.5, direction)))
    distance, n, s, _ = axis_distance(p, z, half, w, half_o)
    if distance > _CROSSING * (length + other_length):
        return math.inf, ZERO, ZERO
    turn = cross(z, w)
    sine = norm(turn)
    n = scale(1.0 / sine, turn) if sine > _CROSSING else perpendicular(z)
    return 0.0, add(start, scale(half + s, z)), n
