"""Contacts with the bore of a hollow shape, at the least distances to its slices."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.clip import clip_faces
from sim_bridge.engine.collision.hollow.outside import bore_of, label
from sim_bridge.engine.collision.mesh.surface import candidates_from
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.data.geometry import CAPSULE, CONE, CYLINDER, SLICE
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, scale, store3, sub, ZERO

SLICES = 32
"""Slices tested all around, before the least distances are found exactly."""
ANCHORS = 4
"""Number of slices that get a contact if the distance is the same all around."""
STEPS = 40
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SPREAD = 2.0 * math.tan(math.pi / SLICES)
"""Half a slice's width, relative to the radius: it reaches to the middle of the next slice."""
WIDENINGS = 12
"""How often a slice's spread is doubled at most."""
# relative to the greatest radius: rounding error in distances; distance to a slice's middle that
# counts as zero
_ROUNDING, _MIDDLE = 1e-9, 1e-12
# cosine to the axis, above which a cylinder's or cone's normal counts as a normal of its side
_SIDE = 0.1
# least cosine between a normal and the tangent that counts as along the tangent
_ALONG = 1e-6
# greatest cosine between a normal and the direction away from the axis that counts as inwards
_INWARD = -1e-9
# gap differences neglected, relative to the radius
_OF_RADIUS = 5e-8
# feature numbers of slice contacts
SLICE_FEATURE = 1 << 40


@kernel
def turned(R, angle):
    """Return a slice's axes: away from the axis, along the tangent, along the axis."""
    c, s = math.cos(angle), math.sin(angle)
    x, y = column(R, 0), column(R, 1)
    e, t, z = add(scale(c, x), scale(s, y)), add(scale(c, y), scale(-s, x)), column(R, 2)
    return (e[0], t[0], z[0]), (e[1], t[1], z[1]), (e[2], t[2], z[2])


@kernel
def width_of(geometry, hollow):
    """Return a hollow shape's greatest radius [m]."""
    return max(geometry.size[hollow, 0], geometry.size[hollow, 2])


@subroutine
def measure_slice(geometry, scratch, shape, hollow, R, angle, reach):
    """
    Measure a convex shape against a slice; result as for `convex.measure_shapes`.

    If the shape has sunk into the slice, the slice is widened until it pushes the shape out within
    the plane of the axis. Returns the signed distance, the shape's nearest point x, the normal, x
    along the tangent, and the normal's component away from the axis.
    """
    axes, spread = turned(R, angle), SPREAD
    t, tries = column(axes, 1), 0
    gap, x, n = math.inf, ZERO, ZERO
    while tries < WIDENINGS:
        gap, x, _, n = measure_shapes(
            geometry,
            scratch,
            shape,
            (SLICE, (spread, 0.0, 0.0), axes, ZERO, hollow, 0, 0, 0),
            reach,
        )
        spread *= 2.0
        tries = WIDENINGS if gap >= 0.0 or abs(dot(t, n)) < _ALONG else tries + 1
    x = onto_side(shape, n, x)
    return gap, x, n, dot(t, x), dot(column(axes, 0), n)


@kernel
def onto_side(shape, n, x):
    """
    Return a shape's point x farthest against n, exactly if it is on a round side.

    On a straight line in the side of a cylinder or cone, `measure_shapes` returns a point only
    near this line.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    c = mul_tv(R, n)
    radial = math.sqrt(c[0] * c[0] + c[1] * c[1])
    if not (kind == CYLINDER or kind == CONE) or radial < _SIDE:
        return x
    top = size[2] if kind == CONE else size[0]
    c0, c1 = -c[0] / radial, -c[1] / radial
    low = add(p, mul_mv(R, (size[0] * c0, size[0] * c1, -size[1])))
    high = add(p, mul_mv(R, (top * c0, top * c1, size[1])))
    way = sub(high, low)
    square = dot(way, way)
    share = dot(sub(x, low), way) / square if square > 0.0 else 0.0
    return add(low, scale(min(max(share, 0.0), 1.0), way))


@kernel
def slice_gap(geometry, scratch, shape, hollow, R, angle, limit):
    """Return the distance between a shape and a slice, infinity beyond a limit."""
    gap, _, _, _, _ = measure_slice(geometry, scratch, shape, hollow, R, angle, limit)
    return gap if gap <= limit else math.inf


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
    if not (gap <= limit and (outwards < _INWARD or slack == math.inf)):
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
    added to all features. Returns the candidate count.
    """
    R, first, pierced = pose[0], count, -1
    if limit < math.inf:
        gap, _, _, _ = measure_shapes(
            geometry, scratch_inout, shape, bore_of(geometry, hollow, R), limit
        )
        if gap > limit:
            return count
    tolerance, step = _ROUNDING * width_of(geometry, hollow), 2.0 * math.pi / SLICES
    before = slice_gap(geometry, scratch_inout, shape, hollow, R, -step, limit)
    here = slice_gap(geometry, scratch_inout, shape, hollow, R, 0.0, limit)
    minima, deepest = 0, -tolerance
    for k in range(SLICES):
        angle = k * step
        after = slice_gap(geometry, scratch_inout, shape, hollow, R, angle + step, limit)
        if here < deepest:
            deepest, pierced = here, k
        if here <= limit:
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
        before, here = here, after
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
    return count
