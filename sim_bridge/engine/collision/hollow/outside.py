"""Contacts with a hollow shape's outside: contacts with its cone, except in the bore."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.clip import clip_faces
from sim_bridge.engine.collision.hollow.slices import leaves_through_bore
from sim_bridge.engine.collision.mesh.surface import candidates_from
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.data.geometry import CONE, CYLINDER
from sim_bridge.engine.math.mat3 import column, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, sub, ZERO

# rounding error, relative to the greatest radius
_ROUNDING = 1e-9
# cosine between a normal and the axis above which an end is touched, as in `clip.support_face`
_CAP = math.sqrt(0.5)
# least wall that bounds the depth of contacts in the bore, relative to the greatest radius
_LEAST_WALL = 0.1
# added to the features of points on the bore's rim
RIM = 1 << 38


@kernel
def cone_of(geometry, hollow, R):
    """Return the shape tuple for a hollow shape without its bore, at the origin."""
    return CONE, load3(geometry.size, hollow, 0), R, ZERO, 0, 0, 0, 0


@kernel
def bore_of(geometry, hollow, R):
    """Return the shape tuple for the bore as a solid, at the origin."""
    size = (geometry.bore[hollow, 0], geometry.size[hollow, 1], geometry.bore[hollow, 1])
    return CONE, size, R, ZERO, 0, 0, 0, 0


@kernel
def bore_radius(geometry, hollow, z):
    """Return the bore's radius at a height in the shape's frame, constant beyond its ends [m]."""
    half, low, high = geometry.size[hollow, 1], geometry.bore[hollow, 0], geometry.bore[hollow, 1]
    share = 0.5 + 0.5 * min(max(z / half, -1.0), 1.0) if half > 0.0 else 0.5
    return low + share * (high - low)


@kernel
def is_on_wall(geometry, hollow, R, y, x):
    """
    Return whether a contact with the outside of the cone is a contact with the wall.

    y: contact point on the cone, x: contact point on the other shape, relative to the hollow
    shape's origin. The result is False if y is in the mouth of the bore, or if x has come through
    the wall.
    """
    a, b = mul_tv(R, y), mul_tv(R, x)
    slack = _ROUNDING * max(geometry.size[hollow, 0], geometry.size[hollow, 2])
    radial = math.sqrt(a[0] * a[0] + a[1] * a[1])
    if radial < bore_radius(geometry, hollow, a[2]) - slack:
        return False
    if radial <= slack:
        return True
    along = (a[0] * b[0] + a[1] * b[1]) / radial
    return along >= bore_radius(geometry, hollow, b[2]) - slack


@kernel
def keep_on_wall(geometry, hollow, pose, is_above, first, count, scratch_inout):
    """
    Drop the candidates from `first` on that are not on a hollow shape's wall.

    is_above: whether the normals point to the hollow shape. Returns the candidate count.
    """
    kept, side = first, 0.5 if is_above else -0.5
    for k in range(first, count):
        n, gap = load3(scratch_inout.candidate_normal, k, 0), scratch_inout.candidate_gap[k]
        point = sub(load3(scratch_inout.candidate_point, k, 0), pose[1])
        way = scale(side * gap, n)
        if not is_on_wall(geometry, hollow, pose[0], add(point, way), sub(point, way)):
            continue
        move_candidate(k, kept, scratch_inout)
        kept += 1
    return kept


@kernel
def drop_through_bore(geometry, scratch_inout, shape, hollow, pose, first, count):
    """
    Drop the candidates from `first` on if a convex shape's way into the bore is shorter.

    shape: as for `leaves_through_bore`. Returns the candidate count.
    """
    kept = first
    for k in range(first, count):
        x = sub(load3(scratch_inout.candidate_point, k, 0), pose[1])
        gap = scratch_inout.candidate_gap[k]
        if leaves_through_bore(geometry, scratch_inout, shape, hollow, pose[0], x, gap):
            continue
        move_candidate(k, kept, scratch_inout)
        kept += 1
    return kept


@kernel
def drop_beyond_wall(geometry, hollow, first, count, scratch_inout):
    """
    Drop the contacts with the bore that lie beyond the wall of a hollow shape.

    A shape outside that is wide enough also overlaps a slice of the bore from the outside, where
    the depth has no meaning. Its contacts with the outside, those before `first`, are not as deep.
    Returns the candidate count.
    """
    wall = max(
        _LEAST_WALL * max(geometry.size[hollow, 0], geometry.size[hollow, 2]),
        geometry.size[hollow, 0] - geometry.bore[hollow, 0],
        geometry.size[hollow, 2] - geometry.bore[hollow, 1],
    )
    outside = 0.0
    for k in range(first):
        outside = min(outside, scratch_inout.candidate_gap[k])
    kept = first
    for k in range(first, count):
        if first > 0 and scratch_inout.candidate_gap[k] < outside - wall:
            continue
        move_candidate(k, kept, scratch_inout)
        kept += 1
    return kept


@kernel
def move_candidate(source, target, scratch_inout):
    """Copy a candidate to another row."""
    scratch_inout.candidate_feature[target] = scratch_inout.candidate_feature[source]
    scratch_inout.candidate_gap[target] = scratch_inout.candidate_gap[source]
    for vectors in (scratch_inout.candidate_point, scratch_inout.candidate_normal):
        store3(vectors, target, 0, load3(vectors, source, 0))


@kernel
def label(first, count, feature, n, scratch_inout):
    """Set the candidates' normal, and add to their features."""
    for k in range(first, count):
        scratch_inout.candidate_feature[k] += feature
        store3(scratch_inout.candidate_normal, k, 0, n)


@subroutine
def collide_cone(geometry, scratch_inout, shape, hollow, pose, limit, feature, count):
    """
    Append a convex shape's contacts with a hollow shape's cone, bore included.

    Arguments as for `collide_outside`. Returns the candidate count, the signed distance (a lower
    bound beyond the limit), and the normal.
    """
    R, origin = pose
    cone = cone_of(geometry, hollow, R)
    gap, x, _, n = measure_shapes(geometry, scratch_inout, shape, cone, limit)
    end = count
    if gap <= limit:
        end += clip_faces(
            geometry,
            scratch_inout,
            shape,
            cone,
            n,
            limit,
            (gap, x),
            origin,
            candidates_from(scratch_inout, count),
        )
        label(count, end, feature, n, scratch_inout)
    return end, gap, n


@subroutine
def collide_outside(geometry, scratch_inout, shape, hollow, pose, limit, feature, count):
    """
    Append a convex shape's contacts with the outside of a hollow one; normals point to the shape.

    shape: relative to the hollow shape's origin. feature: added to all features. Returns the
    candidate count, and whether the shape is within the limit from the cone.
    """
    R, origin = pose
    end, gap, n = collide_cone(geometry, scratch_inout, shape, hollow, pose, limit, feature, count)
    if gap > limit:
        return count, False
    along = dot(column(R, 2), n)
    bore = geometry.bore[hollow, 1 if along > 0.0 else 0]
    if abs(along) > _CAP and bore > 0.0:
        # a flat end: its inner rim touches, too
        disc = (CYLINDER, (bore, geometry.size[hollow, 1], 0.0), R, ZERO, 0, 0, 0, 0)
        rim = end
        end += clip_faces(
            geometry,
            scratch_inout,
            shape,
            disc,
            n,
            limit,
            (math.inf, n),
            origin,
            candidates_from(scratch_inout, rim),
        )
        label(rim, end, feature + RIM, n, scratch_inout)
    end = keep_on_wall(geometry, hollow, pose, False, count, end, scratch_inout)
    return drop_through_bore(geometry, scratch_inout, shape, hollow, pose, count, end), True
