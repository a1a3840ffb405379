"""
Contacts between two linked rings, each with its wall through the other's bore.

Linked walls touch with a rim of at least one ring, because bores are hollow and ends flat. The
contacts are therefore at the local minima of the distance from a rim's points to the other wall.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.hollow.outside import label
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, store3, sub, ZERO

POINTS = 32
"""Rim points tested, before the least distances are found exactly."""
STEPS = 40
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# share of a rim's radius: two contacts nearer than this, with about the same gap, are one
_SAME = 1e-6
# sine between planes, below which rings are not linked
_PARALLEL = 1e-9


@kernel
def are_linked(geometry, a, b, pose_a, pose_b):
    """
    Return whether two hollow shapes are linked.

    Two shapes are linked if the circle in the middle of one wall meets the other's plane in two
    points, exactly one of them inside the other's circle.
    """
    z, w = column(pose_a[0], 2), column(pose_b[0], 2)
    d = cross(z, w)
    d_2 = dot(d, d)
    if d_2 < _PARALLEL * _PARALLEL:
        return False
    # common line of both planes, relative to a's centre: p is its nearest point, u its direction
    way = sub(pose_b[1], pose_a[1])
    p, u = scale(dot(w, way) / d_2, cross(d, z)), scale(1.0 / math.sqrt(d_2), d)
    q = sub(way, p)
    middle = dot(q, u)
    r, s = middle_radius(geometry, a), middle_radius(geometry, b)
    half_2, other_2 = r * r - dot(p, p), s * s - dot(q, q) + middle * middle
    if half_2 <= 0.0 or other_2 <= 0.0:
        return False
    half, other = math.sqrt(half_2), math.sqrt(other_2)
    return (abs(middle - other) < half) != (abs(middle + other) < half)


@kernel
def middle_radius(geometry, hollow):
    """Return the radius of a wall's middle circle [m]."""
    size, bore = load3(geometry.size, hollow, 0), geometry.bore
    return 0.25 * (size[0] + size[2] + bore[hollow, 0] + bore[hollow, 1])


@kernel
def corner_of(geometry, hollow, k):
    """Return (radius, height) of a corner in a wall's section, counter-clockwise from corner 0."""
    size = load3(geometry.size, hollow, 0)
    if k == 0:
        return geometry.bore[hollow, 0], -size[1]
    if k == 1:
        return size[0], -size[1]
    if k == 2:
        return size[2], size[1]
    return geometry.bore[hollow, 1], size[1]


@subroutine
def wall_distance(geometry, hollow, x):
    """Return a point's signed distance to a wall, and the normal there; own frame."""
    radius = math.sqrt(x[0] * x[0] + x[1] * x[1])
    height, nearest, deepest = x[2], math.inf, -math.inf
    out = up = face_out = face_up = 0.0
    for k in range(4):
        r, z = corner_of(geometry, hollow, k)
        s, t = corner_of(geometry, hollow, (k + 1) % 4)
        dr, dz = s - r, t - z
        length = math.sqrt(dr * dr + dz * dz)
        if length == 0.0:
            continue
        dr, dz = dr / length, dz / length
        along = min(max((radius - r) * dr + (height - z) * dz, 0.0), length)
        a, b = radius - r - along * dr, height - z - along * dz
        apart, depth = math.sqrt(a * a + b * b), (radius - r) * dz - (height - z) * dr
        if apart < nearest:
            nearest, out, up = apart, a, b
        if depth > deepest:
            deepest, face_out, face_up = depth, dz, -dr
    if deepest <= 0.0 or nearest == 0.0:
        nearest, out, up = deepest, face_out, face_up
    else:
        out, up = out / nearest, up / nearest
    if radius > 0.0:
        return nearest, (out * x[0] / radius, out * x[1] / radius, up)
    return nearest, (out, 0.0, up)


@subroutine
def rim_point(geometry, hollow, rim, R, p, angle):
    """Return the rim point at an angle; rim: number of the section corner on the rim."""
    r, z = corner_of(geometry, hollow, rim)
    return add(p, mul_mv(R, (r * math.cos(angle), r * math.sin(angle), z)))


@subroutine
def rim_distance(geometry, hollow, rim, wall, poses, angle):
    """Return the distance from a rim point to the other wall; poses: both, with one origin."""
    R, p, S, q = poses
    x = rim_point(geometry, hollow, rim, R, p, angle)
    gap, _ = wall_distance(geometry, wall, mul_tv(S, sub(x, q)))
    return gap


@subroutine
def least_angle(geometry, hollow, rim, wall, poses, angle, step):
    """Return the angle with the least `rim_distance` within a step of another (golden section)."""
    low, high = angle - step, angle + step
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f = rim_distance(geometry, hollow, rim, wall, poses, inner)
    g = rim_distance(geometry, hollow, rim, wall, poses, outer)
    for _ in range(STEPS):
        if f <= g:
            high, outer, g = outer, inner, f
            inner = high - GOLDEN * (high - low)
            f = rim_distance(geometry, hollow, rim, wall, poses, inner)
        else:
            low, inner, f = inner, outer, g
            outer = low + GOLDEN * (high - low)
            g = rim_distance(geometry, hollow, rim, wall, poses, outer)
    return 0.5 * (low + high)


@subroutine
def collide_linked(geometry, scratch_inout, upper, lower, pose, pose_l, limit):
    """Collect the contacts between two linked shapes; normals point to the upper one."""
    offset, count = sub(pose[1], pose_l[1]), 0
    for rim in range(4):
        count = collide_rim(
            geometry,
            scratch_inout,
            upper,
            rim,
            lower,
            (pose[0], offset, pose_l[0], ZERO),
            (pose_l[1], 1.0),
            limit,
            count,
        )
        count = collide_rim(
            geometry,
            scratch_inout,
            lower,
            rim,
            upper,
            (pose_l[0], ZERO, pose[0], offset),
            (pose_l[1], -1.0),
            limit,
            count,
        )
    return count


@subroutine
def collide_rim(geometry, scratch_inout, hollow, rim, wall, poses, world, limit, count):
    """Append a rim's contacts with the other wall; world: origin, and sign of the normals."""
    step, (radius, _) = 2.0 * math.pi / POINTS, corner_of(geometry, hollow, rim)
    before = rim_distance(geometry, hollow, rim, wall, poses, -step)
    here = rim_distance(geometry, hollow, rim, wall, poses, 0.0)
    for k in range(POINTS):
        after = rim_distance(geometry, hollow, rim, wall, poses, (k + 1) * step)
        if here < before and here <= after and here - radius * step <= limit:
            angle = least_angle(geometry, hollow, rim, wall, poses, k * step, step)
            x = rim_point(geometry, hollow, rim, poses[0], poses[1], angle)
            gap, n = wall_distance(geometry, wall, mul_tv(poses[2], sub(x, poses[3])))
            n = mul_mv(poses[2], n)
            point = add(world[0], sub(x, scale(0.5 * gap, n)))
            if gap <= limit and is_new(point, gap, _SAME * radius, count, scratch_inout):
                scratch_inout.candidate_feature[count] = k
                scratch_inout.candidate_gap[count] = gap
                store3(scratch_inout.candidate_point, count, 0, point)
                label(
                    count,
                    count + 1,
                    POINTS * (2 * rim + int(world[1] > 0.0)),
                    scale(world[1], n),
                    scratch_inout,
                )
                count += 1
        before, here = here, after
    return count


@kernel
def is_new(point, gap, same, count, scratch):
    """Return whether no candidate has this point and about this gap: rims meet at one place."""
    for k in range(count):
        apart = sub(point, load3(scratch.candidate_point, k, 0))
        if dot(apart, apart) < same * same and abs(gap - scratch.candidate_gap[k]) < same:
            return False
    return True
