"""Contacts for pairs with a hollow shape."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.contact_rows import claim_rows, geometry_pose, pair_of
from sim_bridge.engine.collision.hollow.bore import collide_bore
from sim_bridge.engine.collision.hollow.linked import are_linked, collide_linked
from sim_bridge.engine.collision.hollow.outside import (
    collide_cone,
    collide_outside,
    drop_beyond_wall,
    drop_through_bore,
    keep_on_wall,
    move_candidate,
)
from sim_bridge.engine.collision.hollow.slices import leaves_through_bore
from sim_bridge.engine.collision.mesh.surface import (
    candidates_from,
    collide_convex_surface,
    keep_candidates,
    make_room,
    write_candidates,
)
from sim_bridge.engine.collision.mesh.triangles import (
    box_in_frame,
    corners_in_world,
    has_normal,
    is_outer,
    next_triangle,
    triangle_number,
    triangle_of_feature,
)
from sim_bridge.engine.collision.narrow.plane import collide_with_plane
from sim_bridge.engine.collision.support import shape_of, triangle_of
from sim_bridge.engine.data.collision_scratch import PairClass, PairCount
from sim_bridge.engine.data.geometry import HOLLOW, MESH, PLANE
from sim_bridge.engine.math.mat3 import column, mul_tv
from sim_bridge.engine.math.vec3 import dot, load3, scale, store3, sub

SLACK = 1e-3
"""Greatest error of gaps in the bore, as a share of the greatest contact gap [1]."""
# added to the features of contacts with the second bore in a pair of hollow shapes
_OTHER = 1 << 39


@kernel
def collide_hollow_pairs(
    geometry,  # model
    scratch_inout,
    contacts_inout,
):
    """Find the contact points for HOLLOW pairs."""
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        first = claim_rows(geometry, scratch_inout, contacts_inout, row, PairClass.HOLLOW)
        if first < 0:
            continue
        a, b, limit = pair_of(scratch_inout, row)
        # normals point from `lower` to `upper`
        upper, lower, sign = a, b, 1.0
        if is_lower(geometry, a, b):
            upper, lower, sign = b, a, -1.0
        count = collide_hollow(geometry, upper, lower, limit, scratch_inout)
        count = keep_candidates(geometry, a, b, count, scratch_inout.most_points[0], scratch_inout)
        write_candidates(geometry, row, first, count, sign, scratch_inout, contacts_inout)


@kernel
def is_lower(geometry, a, b):
    """Return whether a is `lower` in a pair with a hollow shape: normals point from a to b."""
    shape, other = geometry.shape[a], geometry.shape[b]
    if shape == HOLLOW and other == HOLLOW:
        return is_outer(geometry, a, b)
    if shape == HOLLOW:
        return other != PLANE and other < MESH
    return shape == PLANE or shape >= MESH


@subroutine
def collide_hollow(
    geometry,  # model
    upper,
    lower,
    limit,
    scratch_inout,
):
    """
    Collect the contacts of a pair with a hollow shape; normals point from `lower` to `upper`.

    The hollow shape is `lower` in a pair with a convex or another hollow shape, else `upper`.
    Returns the candidate count.
    """
    pose, pose_l = geometry_pose(scratch_inout, upper), geometry_pose(scratch_inout, lower)
    slack = SLACK * limit
    if geometry.shape[lower] == PLANE:
        n = column(pose_l[0], 2)
        count = collide_with_plane(
            geometry,
            scratch_inout,
            shape_of(geometry, upper, pose, pose[1]),
            n,
            dot(n, sub(pose_l[1], pose[1])),
            limit,
            pose[1],
            candidates_from(scratch_inout, 0),
        )
        for k in range(count):
            store3(scratch_inout.candidate_normal, k, 0, n)
        return count
    if geometry.shape[lower] != HOLLOW:
        return collide_hollow_surface(geometry, upper, lower, limit, scratch_inout)

    is_pair = geometry.shape[upper] == HOLLOW
    if is_pair:
        if are_linked(geometry, upper, lower, pose, pose_l):
            return collide_linked(geometry, scratch_inout, upper, lower, pose, pose_l, limit)
        return collide_hollow_shapes(geometry, upper, lower, limit, scratch_inout)
    shape = shape_of(geometry, upper, pose, pose_l[1])
    outer, is_near = collide_outside(geometry, scratch_inout, shape, lower, pose_l, limit, 0, 0)
    if not is_near:
        return outer
    count, _ = collide_bore(
        geometry, scratch_inout, shape, lower, pose_l, limit, slack, outer == 0, 0, outer
    )
    return drop_beyond_wall(geometry, lower, outer, count, scratch_inout)


@subroutine
def collide_hollow_shapes(
    geometry,  # model
    upper,
    lower,
    limit,
    scratch_inout,
):
    """Collect the contacts of two hollow shapes, not linked; see `collide_hollow`."""
    pose, pose_l = geometry_pose(scratch_inout, upper), geometry_pose(scratch_inout, lower)
    slack, sunk, sunk_l = SLACK * limit, 0.0, 0.0
    shape = shape_of(geometry, upper, pose, pose_l[1])
    other = shape_of(geometry, lower, pose_l, pose[1])
    outer, is_near = collide_outside(geometry, scratch_inout, shape, lower, pose_l, limit, 0, 0)
    count = outer
    if is_near:
        count, sunk_l = collide_bore(
            geometry, scratch_inout, shape, lower, pose_l, limit, slack, False, 0, outer
        )
        count = drop_beyond_wall(geometry, lower, outer, count, scratch_inout)
    count = keep_on_wall(geometry, upper, pose, True, 0, count, scratch_inout)
    count = drop_through_bore(geometry, scratch_inout, other, upper, pose, 0, count)
    first = count
    count, sunk = collide_bore(
        geometry, scratch_inout, other, upper, pose, limit, slack, False, _OTHER, first
    )
    for k in range(first, count):
        store3(
            scratch_inout.candidate_normal,
            k,
            0,
            scale(-1.0, load3(scratch_inout.candidate_normal, k, 0)),
        )
    count = keep_on_wall(geometry, lower, pose_l, False, first, count, scratch_inout)
    if count == 0 and sunk < 0.0 and sunk_l < 0.0:
        # each has come through the other's wall, so no contact is on a wall
        count, _, _ = collide_cone(geometry, scratch_inout, shape, lower, pose_l, limit, 0, 0)
    return count


@subroutine
def collide_hollow_surface(
    geometry,  # model
    hollow,
    surface,
    limit,
    scratch_inout,
):
    """Collect a hollow shape's contacts with a surface; see `collide_hollow` for the arguments."""
    pose, pose_s = geometry_pose(scratch_inout, hollow), geometry_pose(scratch_inout, surface)
    count = collide_convex_surface(geometry, hollow, surface, limit, scratch_inout)
    count = keep_on_wall(geometry, hollow, pose, True, 0, count, scratch_inout)
    count = drop_triangles_in_bore(geometry, hollow, surface, count, scratch_inout)
    low, high = box_in_frame(geometry, hollow, pose, pose_s, limit)
    cursor = 0
    while True:
        t, cursor = next_triangle(geometry, surface, low, high, cursor)
        if t < 0:
            return count
        x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
        count = make_room(geometry, hollow, surface, count, scratch_inout)
        end, _ = collide_bore(
            geometry,
            scratch_inout,
            triangle_of(x0, x1, x2, pose[1]),
            hollow,
            pose,
            limit,
            SLACK * limit,
            False,
            _OTHER + (triangle_number(geometry, surface, t) << 45),
            count,
        )
        for k in range(count, end):
            n = scale(-1.0, load3(scratch_inout.candidate_normal, k, 0))
            if has_normal(geometry, surface, t, mul_tv(pose_s[0], n)):
                move_candidate(k, count, scratch_inout)
                store3(scratch_inout.candidate_normal, count, 0, n)
                count += 1


@kernel
def drop_triangles_in_bore(geometry, hollow, surface, count, scratch_inout):
    """
    Drop the contacts with triangles whose way out of the wall through the bore is shorter.

    Returns the candidate count.
    """
    pose, pose_s = geometry_pose(scratch_inout, hollow), geometry_pose(scratch_inout, surface)
    kept = 0
    for k in range(count):
        t = triangle_of_feature(geometry, surface, scratch_inout.candidate_feature[k])
        x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
        shape, gap = triangle_of(x0, x1, x2, pose[1]), scratch_inout.candidate_gap[k]
        x = sub(load3(scratch_inout.candidate_point, k, 0), pose[1])
        if leaves_through_bore(geometry, scratch_inout, shape, hollow, pose[0], x, gap):
            continue
        move_candidate(k, kept, scratch_inout)
        kept += 1
    return kept
