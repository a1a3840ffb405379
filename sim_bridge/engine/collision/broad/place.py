"""World poses of geometries, and their bounding boxes during the step."""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.collision_scratch import PairCount
from sim_bridge.engine.data.geometry import CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from sim_bridge.engine.math.mat3 import column, mul_mv
from sim_bridge.engine.math.spatial import carried, load_pose, load_spatial, ORIGIN, store_pose
from sim_bridge.engine.math.vec3 import add, cross, load3, norm, scale, store3, sub, ZERO

STILL = 1e-9
"""Motion in a step up to which a geometry counts as still [m], see `broad.still`."""


@kernel
def place_geometries(geometry, pose, twist, root, h, margin, scratch_out):
    """
    Compute the poses, reaches, motions and bounding boxes of all geometries.

    pose: (nb, 12) body poses. twist: (nb, 6) spatial body velocities about the origin of each
    tree's first body. root: (nb,) first body of each body's tree. h: time step [s]. margin:
    contact margin [m].
    """
    for g in range(geometry.body.shape[0]):
        place_geometry(geometry, g, pose, twist, root, h, margin, scratch_out)


@kernel
def place_geometry(geometry, g, pose, twist, root, h, margin, scratch_out):
    """Place one geometry; arguments as for `place_geometries`."""
    R, p = frame_in_world(geometry, g, pose)
    centre = add(p, mul_mv(R, load3(geometry.bounds, g, 0)))
    reach, w, v = 0.5 * margin, ZERO, ZERO
    body = geometry.body[g]
    if body >= 0:
        w, v = load_spatial(twist, body)
        v = add(v, cross(w, sub(centre, load3(pose, root[body], ORIGIN))))
        way = h * (norm(v) + geometry.radius[g] * norm(w))
        if way > STILL:
            reach += way
        else:
            w, v = ZERO, ZERO
        if scratch_out.counts[PairCount.IS_AHEAD] != 0:
            reach += way_gained(geometry, g, pose, root, h, scratch_out.gain)
    store3(scratch_out.motion, g, 0, scale(h, v))
    store3(scratch_out.motion, g, 3, scale(h, w))
    store_pose(scratch_out.pose, g, R, p)
    scratch_out.reach[g] = reach
    bound_geometry(geometry, g, R, p, centre, reach, scratch_out.box)


@kernel
def way_gained(geometry, g, pose, root, h, gain):
    """
    Return a bound on a geometry's motion in a step at the gain of its body's twist [m].

    gain: (carriers, 6) change of the twists, as `twist` in `place_geometries`.
    """
    body = geometry.body[g]
    w, v = load_spatial(gain, body)
    v = add(v, cross(w, sub(load3(pose, body, ORIGIN), load3(pose, root[body], ORIGIN))))
    R, p = load_pose(geometry.frame, g)
    arm = norm(add(p, mul_mv(R, load3(geometry.bounds, g, 0)))) + geometry.radius[g]
    return h * (norm(v) + arm * norm(w))


@kernel
def bound_geometry(geometry, g, R, p, centre, reach, box_out):
    """Compute a geometry's box at a pose; centre: centre of its bounds, reach: enlargement [m]."""
    half = half_extents(
        geometry.shape[g], load3(geometry.size, g, 0), load3(geometry.bounds, g, 3), R
    )
    half = add(half, (reach, reach, reach))
    store3(box_out, g, 0, sub(centre, half))
    store3(box_out, g, 3, add(centre, half))
    if geometry.shape[g] == PLANE:
        fit_plane(g, column(R, 2), p, reach, box_out)


@kernel
def frame_in_world(geometry, g, pose):
    """Return the world rotation and origin of a geometry's frame; pose: (nb, 12) body poses."""
    R, p = load_pose(geometry.frame, g)
    body = geometry.body[g]
    if body >= 0:
        R, p = carried(load_pose(pose, body), R, p)
    return R, p


@kernel
def half_extents(shape, size, half, R):
    """Return the half extents for the world-aligned box around a rotated shape."""
    if shape == SPHERE:
        return half
    if shape == CAPSULE:
        r, s = size[0], size[1]
        return abs(R[0][2]) * s + r, abs(R[1][2]) * s + r, abs(R[2][2]) * s + r
    if shape == CYLINDER:
        return (
            _along_cylinder(R[0][2], size),
            _along_cylinder(R[1][2], size),
            _along_cylinder(R[2][2], size),
        )
    if shape == ELLIPSOID:
        return (
            _along_ellipsoid(R[0], size),
            _along_ellipsoid(R[1], size),
            _along_ellipsoid(R[2], size),
        )
    # PLANE, BOX, CONE and shapes with vertices or heights: use the box around them
    return spread_along(R[0], half), spread_along(R[1], half), spread_along(R[2], half)


@kernel
def spread_along(axis, half):
    """Return a box's half extent along an axis given in the box's frame; half: half sides."""
    return abs(axis[0]) * half[0] + abs(axis[1]) * half[1] + abs(axis[2]) * half[2]


@kernel
def _along_cylinder(z, size):
    return size[0] * math.sqrt(max(0.0, 1.0 - z * z)) + size[1] * abs(z)


@kernel
def _along_ellipsoid(axis, size):
    x, y, z = axis[0] * size[0], axis[1] * size[1], axis[2] * size[2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def fit_plane(g, n, p, reach, box_out):
    """Compute a half-space's box: bounded on one side if its normal is an axis, else unbounded."""
    for axis in range(3):
        box_out[g, axis], box_out[g, 3 + axis] = -math.inf, math.inf
    for axis in range(3):
        if n[axis] == 1.0:
            box_out[g, 3 + axis] = p[axis] + reach
        elif n[axis] == -1.0:
            box_out[g, axis] = p[axis] - reach
