"""Contacts with the bore of a hollow shape, at the least distances to its slices."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.clip import clip_faces
from sim_bridge.engine.collision.hollow.outside import bore_of, label
from sim_bridge.engine.collision.hollow.slices import (
    INWARD,
    measure_slice,
    ROUNDING,
    SLICES,
    turned,
    width_of,
)
from sim_bridge.engine.collision.mesh.surface import candidates_from
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.data.geometry import BOX, CAPSULE, HULL
from sim_bridge.engine.math.mat3 import column
from sim_bridge.engine.math.vec3 import add, cross, dot, scale, store3, sub

ANCHORS = 4
"""Number of slices that get a contact if the distance is the same all around."""
STEPS = 40
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# distance to a slice's middle that counts as zero, relative to the greatest radius
_MIDDLE = 1e-12
# gap differences neglected, relative to the radius
_OF_RADIUS = 5e-8
# feature numbers of slice contacts
SLICE_FEATURE = 1 << 40


@kernel
def slice_gap(geometry, scratch, shape, hollow, R, angle, limit):
    """
    Return the distance between a shape and a slice, and the angle to the shape's nearest point.

    The distance is infinity beyond a limit.
    """
    gap, x, _, f, _ = measure_slice(geometry, scratch, shape, hollow, R, angle, limit)
    turn = math.atan2(f, dot(column(turned(R, angle), 0), x))
    return (gap, turn) if gap <= limit else (math.inf, turn)


@subroutine
def is_corner(geometry, scratch, shape, hollow, R, angle):
    """Return whether a polytope has a corner at an angle, the nearest point to the slice there."""
    if shape[0] != BOX and shape[0] != HULL:
        return False
    _, _, _, f, _ = measure_slice(geometry, scratch, shape, hollow, R, angle, math.inf)
    return abs(f) <= _MIDDLE * width_of(geometry, hollow)


@subroutine
def least_near(geometry, scratch, shape, hollow, R, angle, step):
    """
    Return the angle with the least slice distance within a step of another angle.

    At this angle the shape's nearest point passes the middle of the slice. The first guess is the
    current angle of this point, exact for a corner; else the Illinois method follows.
    Also returns whether the angle was found. It is not found if the nearest point jumps.
    """
    enough, start = _MIDDLE * width_of(geometry, hollow), angle
    _, x, _, f, _ = measure_slice(geometry, scratch, shape, hollow, R, angle, math.inf)
    away = dot(column(turned(R, angle), 0), x)
    low, high = angle, angle + min(max(math.atan2(f, away), -step), step)
    _, _, _, g, _ = measure_slice(geometry, scratch, shape, hollow, R, high, math.inf)
    if abs(g) <= enough:
        return high, True
    if f * g >= 0.0:
        high = angle + (step if f > 0.0 else -step)
        _, _, _, g, _ = measure_slice(geometry, scratch, shape, hollow, R, high, math.inf)
    if f * g >= 0.0:
        return start, False
    for _ in range(STEPS):
        angle = (low * g - high * f) / (g - f)
        _, _, _, here, _ = measure_slice(geometry, scratch, shape, hollow, R, angle, math.inf)
        if abs(here) <= enough:
            return angle, True
        if here * g < 0.0:
            low, f = high, g
        else:
            f *= 0.5
        high, g = angle, here
    return start, False


@kernel
def line_of(geometry, hollow, axes):
    """Return the shape tuple for the bore's line in the middle of a slice."""
    low, high = geometry.bore[hollow, 0], geometry.bore[hollow, 1]
    half, e, t, z = geometry.size[hollow, 1], column(axes, 0), column(axes, 1), column(axes, 2)
    length = math.sqrt((high - low) * (high - low) + 4.0 * half * half)
    d = z
    if length > 0.0:
        d = add(scale((high - low) / length, e), scale(2.0 * half / length, z))
    f = cross(d, t)
    frame = ((t[0], f[0], d[0]), (t[1], f[1], d[1]), (t[2], f[2], d[2]))
    return CAPSULE, (0.0, 0.5 * length, 0.0), frame, scale(0.5 * (low + high), e), 0, 0, 0, 0


@subroutine
def line_gap(geometry, scratch, shape, hollow, R, angle):
    """Return the distance between a shape and the bore's line at an angle."""
    gap, _, _, _ = measure_shapes(
        geometry, scratch, shape, line_of(geometry, hollow, turned(R, angle)), math.inf
    )
    return gap


@subroutine
def nearest_line(geometry, scratch, shape, hollow, R, angle, step):
    """Return the angle with the nearest line, within a step of another angle (golden section)."""
    low, high = angle - step, angle + step
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f = line_gap(geometry, scratch, shape, hollow, R, inner)
    g = line_gap(geometry, scratch, shape, hollow, R, outer)
    for _ in range(STEPS):
        if f <= g:
            high, outer, g = outer, inner, f
            inner = high - GOLDEN * (high - low)
            f = line_gap(geometry, scratch, shape, hollow, R, inner)
        else:
            low, inner, f = inner, outer, g
            outer = low + GOLDEN * (high - low)
            g = line_gap(geometry, scratch, shape, hollow, R, outer)
    return inner if f <= g else outer


@subroutine
def add_line(geometry, scratch_inout, shape, hollow, pose, angle, limit, feature, count):
    """Append a convex shape's contact with the bore's line at an angle, if they are apart."""
    R, origin = pose
    gap, x, y, n = measure_shapes(
        geometry, scratch_inout, shape, line_of(geometry, hollow, turned(R, angle)), limit
    )
    if not 0.0 < gap <= limit:
        return count
    scratch_inout.candidate_feature[count] = 0
    scratch_inout.candidate_gap[count] = gap
    store3(scratch_inout.candidate_point, count, 0, add(origin, scale(0.5, add(x, y))))
    label(count, count + 1, feature, n, scratch_inout)
    return count + 1


@subroutine
def add_slice(geometry, scratch_inout, shape, hollow, pose, angle, limit, slack, feature, count):
    """
    Append a convex shape's contacts with a slice of the bore; return the candidate count.

    slack: greatest error of a gap [m]; infinite to accept a contact on any side of the slice.
    """
    R, origin = pose
    gap, x, n, aside, outwards = measure_slice(
        geometry, scratch_inout, shape, hollow, R, angle, limit
    )
    if not (gap <= limit and (outwards < INWARD or slack == math.inf)):
        return count
    axes = turned(R, angle)
    radius = dot(column(axes, 0), sub(x, scale(gap, n)))
    # beside the middle the wall is nearer than the slice
    if aside * aside > 2.0 * radius * max(slack, _OF_RADIUS * radius):
        return count
    line = line_of(geometry, hollow, axes)
    end = count + clip_faces(
        geometry,
        scratch_inout,
        shape,
        line,
        n,
        limit,
        (gap, x),
        origin,
        candidates_from(scratch_inout, count),
    )
    label(count, end, feature, n, scratch_inout)
    return end


@subroutine
def collide_bore(
    geometry, scratch_inout, shape, hollow, pose, limit, slack, is_whole, feature, count
):
    """
    Append a convex shape's contacts with the bore of a hollow shape; normals point to the shape.

    shape: relative to the hollow shape's origin. slack: greatest error of a gap [m]. is_whole:
    whether there are no other contacts, so that a shape piercing the wall gets one here. feature:
    added to all features. Returns the candidate count, and the least distance to a slice: 0 if
    none is negative beyond rounding.
    """
    R, first, pierced = pose[0], count, -1
    if limit < math.inf:
        gap, _, _, _ = measure_shapes(
            geometry, scratch_inout, shape, bore_of(geometry, hollow, R), limit
        )
        if gap > limit:
            return count, 0.0
    tolerance, step = ROUNDING * width_of(geometry, hollow), 2.0 * math.pi / SLICES
    # a corner between two slices is farther from both than from the bore
    near = limit + (1.0 - math.cos(0.5 * step)) * width_of(geometry, hollow)
    before, _ = slice_gap(geometry, scratch_inout, shape, hollow, R, -step, near)
    here, turn = slice_gap(geometry, scratch_inout, shape, hollow, R, 0.0, near)
    minima, deepest = 0, -tolerance
    for k in range(SLICES):
        angle = k * step
        after, turn_after = slice_gap(
            geometry, scratch_inout, shape, hollow, R, angle + step, near
        )
        if here < deepest:
            deepest, pierced = here, k
        if here <= near:
            if here < before - tolerance and here <= after:
                name = feature + SLICE_FEATURE * (ANCHORS + 1 + minima)
                minima += 1
                least, is_found = least_near(
                    geometry, scratch_inout, shape, hollow, R, angle, step
                )
                if is_found:
                    count = add_slice(
                        geometry,
                        scratch_inout,
                        shape,
                        hollow,
                        pose,
                        least,
                        limit,
                        slack,
                        name,
                        count,
                    )
                elif here > 0.0:
                    least = nearest_line(geometry, scratch_inout, shape, hollow, R, angle, step)
                    count = add_line(
                        geometry, scratch_inout, shape, hollow, pose, least, limit, name, count
                    )
            elif abs(turn) <= 0.5 * step and is_corner(
                geometry, scratch_inout, shape, hollow, R, angle + turn
            ):
                # a minimum that is narrower than the steps
                name = feature + SLICE_FEATURE * (ANCHORS + 1 + minima)
                minima += 1
                count = add_slice(
                    geometry,
                    scratch_inout,
                    shape,
                    hollow,
                    pose,
                    angle + turn,
                    limit,
                    slack,
                    name,
                    count,
                )
            elif k % (SLICES // ANCHORS) == 0:
                count = add_slice(
                    geometry,
                    scratch_inout,
                    shape,
                    hollow,
                    pose,
                    angle,
                    limit,
                    slack,
                    feature + SLICE_FEATURE * (1 + k // (SLICES // ANCHORS)),
                    count,
                )
        before, here, turn = here, after, turn_after
    for k in range(first, count):
        if scratch_inout.candidate_gap[k] < 0.5 * deepest:
            pierced = -1
    if is_whole and pierced >= 0:
        count = add_slice(
            geometry,
            scratch_inout,
            shape,
            hollow,
            pose,
            pierced * step,
            limit,
            math.inf,
            feature,
            count,
        )
    return count, deepest if deepest < -tolerance else 0.0
