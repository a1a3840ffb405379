"""Signed distances between hollow shapes and all other shapes."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.hollow.bore import collide_bore
from sim_bridge.engine.collision.hollow.linked import are_linked, collide_linked
from sim_bridge.engine.collision.hollow.outside import collide_outside, cone_of, is_on_wall
from sim_bridge.engine.collision.hollow.slices import leaves_through_bore
from sim_bridge.engine.collision.mesh.triangles import (
    box_in_frame,
    corners_in_world,
    near_triangle,
)
from sim_bridge.engine.collision.narrow.convex import measure_shapes
from sim_bridge.engine.collision.narrow.narrow import distance
from sim_bridge.engine.collision.query import measure, measure_convex, next_triangle_near
from sim_bridge.engine.collision.support import shape_of, triangle_of
from sim_bridge.engine.data.geometry import HOLLOW, MESH, PLANE
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, load3, scale, sub, ZERO

# relative size for face-to-face contact: among many nearest points, some may be on the wall
_FLUSH = 1e-9


@kernel
def measure_any(
    geometry,  # model
    a,  # state (read)
    b,  # state (read)
    pose,  # state (read)
    scratch_inout,
):
    """Measure two geometries, hollow or not; result as for `query.measure`."""
    if geometry.shape[a] != HOLLOW and geometry.shape[b] != HOLLOW:
        return measure(geometry, a, b, pose, scratch_inout)
    pose_a, pose_b = load_pose(pose, a), load_pose(pose, b)
    if geometry.shape[b] == HOLLOW:
        return measure_hollow(geometry, scratch_inout, a, b, pose_a, pose_b)
    gap, y, x, n = measure_hollow(geometry, scratch_inout, b, a, pose_b, pose_a)
    return gap, x, y, scale(-1.0, n)


@subroutine
def measure_hollow(geometry, scratch_inout, other, hollow, pose, pose_h):
    """Measure a geometry against a hollow shape; result as for `query.measure`."""
    if geometry.shape[other] == PLANE:
        return distance(geometry, scratch_inout, other, hollow, pose, pose_h)
    if geometry.shape[other] == HOLLOW and are_linked(geometry, other, hollow, pose, pose_h):
        count = collide_linked(geometry, scratch_inout, other, hollow, pose, pose_h, math.inf)
        # rings of zero size may count as linked if they only touch
        if count > 0:
            return nearest_candidate(0, count, scratch_inout)
    if geometry.shape[other] == HOLLOW:
        gap, x, y, n = measure_solid(
            geometry, scratch_inout, shape_of(geometry, other, pose, pose_h[1]), hollow, pose_h
        )
        far, v, u, m = measure_solid(
            geometry, scratch_inout, shape_of(geometry, hollow, pose_h, pose[1]), other, pose
        )
        # both distances are lower bounds
        if far > gap:
            return far, u, v, scale(-1.0, m)
        return gap, x, y, n
    if geometry.shape[other] < MESH:
        return measure_solid(
            geometry, scratch_inout, shape_of(geometry, other, pose, pose_h[1]), hollow, pose_h
        )
    gap, y, x, n = measure_convex(geometry, hollow, other, pose_h, pose, scratch_inout)
    is_found = is_on_wall(geometry, hollow, pose_h[0], sub(y, pose_h[1]), sub(x, pose_h[1]))
    outside = gap, x, y, scale(-1.0, n)
    if is_found and gap >= 0.0:
        return outside
    low, high = box_in_frame(geometry, hollow, pose_h, pose, 0.0)
    best, cursor = math.inf, 0
    x = y = n = ZERO
    t = near_triangle(geometry, other, scale(0.5, add(low, high)))
    while t >= 0:
        x0, x1, x2 = corners_in_world(geometry, other, pose, t)
        gap, p, q, m = measure_solid(
            geometry, scratch_inout, triangle_of(x0, x1, x2, pose_h[1]), hollow, pose_h
        )
        if gap < best:
            best, x, y, n = gap, p, q, m
        t, cursor = next_triangle_near(geometry, other, low, high, best, cursor)
    # no triangle in the wall: the hollow shape may be inside the solid
    if is_found and best > 0.0:
        return outside
    return best, x, y, n


@kernel
def nearest_candidate(first, count, scratch):
    """Return gap, points and normal of the nearest candidate from `first` on, see `measure`."""
    best, x, y, n = math.inf, ZERO, ZERO, ZERO
    for k in range(first, count):
        here = scratch.candidate_gap[k]
        if here < best:
            best, n = here, load3(scratch.candidate_normal, k, 0)
            half, point = scale(0.5 * here, n), load3(scratch.candidate_point, k, 0)
            x, y = add(point, half), sub(point, half)
    return best, x, y, n


@subroutine
def measure_solid(geometry, scratch_inout, shape, hollow, pose):
    """
    Measure a convex shape against a hollow one; results as for `query.measure`, in the world.

    shape: relative to the hollow shape's origin. In contact, the depth is the greatest of the
    outside's depth and the local maxima in the bore.
    """
    R, origin = pose
    gap, x, y, n = measure_shapes(
        geometry, scratch_inout, shape, cone_of(geometry, hollow, R), math.inf
    )
    is_found = is_on_wall(geometry, hollow, R, y, x) and not leaves_through_bore(
        geometry, scratch_inout, shape, hollow, R, y, gap
    )
    x, y = add(origin, x), add(origin, y)
    if is_found and gap > 0.0:
        return gap, x, y, n
    best, flush = gap if is_found else math.inf, gap
    count = 0
    if not is_found:
        size = geometry.size[hollow, 0] + geometry.size[hollow, 1] + geometry.size[hollow, 2]
        flush = gap + _FLUSH * size
        count, _ = collide_outside(geometry, scratch_inout, shape, hollow, pose, flush, 0, 0)
    first = count
    count, _ = collide_bore(
        geometry, scratch_inout, shape, hollow, pose, math.inf, 0.0, not is_found, 0, first
    )
    near, u, v, m = nearest_candidate(0, count, scratch_inout)
    if near < best:
        best, x, y, n = near, u, v, m
    if best == math.inf:
        return gap, x, y, n
    return best, x, y, n
