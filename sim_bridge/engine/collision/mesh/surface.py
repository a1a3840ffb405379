"""
Contacts of meshes and height fields with all other shapes.

A surface is processed triangle by triangle. The candidate normal of a triangle's contact is the
minimum-translation direction to the other shape. It is accepted if the surface allows this
normal there. The penetration depth is then the minimum translation that separates the shape from
this one triangle. A triangle with a rejected candidate is left to its neighbours, with two
exceptions:

If triangles are penetrated much deeper than their neighbours push, for example after a corner has
passed through several cells, the shape is pushed out of the face with the least penetration.

A face that the shape's motion crosses within the step is a contact ahead, even if other faces are
nearer, and even if contacts deflect the shape first.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.reduce import is_listed, reduce_candidates, sort_candidates
from sim_bridge.engine.collision.contact_rows import claim_rows, geometry_pose, keep_rows, pair_of
from sim_bridge.engine.collision.contested import displaced, FAST
from sim_bridge.engine.collision.mesh.deep import push_meshes_apart
from sim_bridge.engine.collision.mesh.plane_mesh import collide_plane_mesh
from sim_bridge.engine.collision.mesh.sunk import (
    FACE,
    is_ground,
    MUCH_DEEPER,
    push_mesh_out,
    push_out,
    triangle_beyond,
    way_up,
)
from sim_bridge.engine.collision.mesh.triangles import (
    box_in_frame,
    corners_in_world,
    farthest_point,
    has_normal,
    is_beside,
    is_outer,
    is_solid,
    next_triangle,
    triangle_box,
    triangle_number,
    unit_normal,
)
from sim_bridge.engine.collision.narrow.gjk import nearest_on_triangle
from sim_bridge.engine.collision.narrow.narrow import (
    triangle_contacts,
    triangle_distance,
    triangles_contacts,
    triangles_distance,
)
from sim_bridge.engine.data.collision_scratch import CANDIDATES, PairClass, PairCount
from sim_bridge.engine.data.geometry import HEIGHT_FIELD, MESH, PLANE
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, store3, sub, ZERO

KEPT_BETWEEN = 64
"""Points kept if there are more than CANDIDATES."""
DEFLECTIONS, SWEEPS = 4, 8
"""Number of deflections for a fast shape, and sweeps over its contacts in each deflection."""
# least cosine between a face's normal and a distance perpendicular to the face, with rounding
_PARALLEL = 1.0 - 1e-6
# share of the overlap between two faces, below which another way out is shorter
_SHORTEST = 0.9
# depth along a face's normal, as a share of the least depth in any direction, up to which the
# crossing triangles of two surfaces separate along it even if it exceeds the motion in the step
_TWICE = 2.0
# depth of a convex shape in a closed mesh, as a share of its least half side, above which it goes
# out over one face, unless it came there in this step: single triangles push to opposite sides
_DEEP = 0.5


@kernel
def collide_surface_pairs(
    geometry,  # model
    scratch_inout,
    contacts_inout,
):
    """
    Find the contact points for SURFACE pairs.

    Height fields collide neither with each other nor with planes.
    """
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        first = claim_rows(geometry, scratch_inout, contacts_inout, row, PairClass.SURFACE)
        if first < 0:
            continue
        a, b, limit = pair_of(scratch_inout, row)
        # the surface and the other shape; normals point from the former to the latter
        surface, other, sign = b, a, 1.0
        if is_outer(geometry, a, b):
            surface, other, sign = a, b, -1.0
        count = 0
        if geometry.shape[other] == PLANE:
            if geometry.shape[surface] == MESH:
                count = collide_plane_mesh(
                    geometry,
                    surface,
                    geometry_pose(scratch_inout, surface),
                    geometry_pose(scratch_inout, other),
                    limit,
                    scratch_inout,
                )
            sign = -sign
        elif geometry.shape[other] == MESH:
            count = collide_surfaces(geometry, surface, other, limit, scratch_inout)
        elif geometry.shape[other] != HEIGHT_FIELD:
            count = collide_convex_surface(geometry, other, surface, limit, scratch_inout)
        most = scratch_inout.most_points[0]
        if geometry.shape[other] != PLANE or count > most:
            count = keep_candidates(geometry, a, b, count, most, scratch_inout)
        write_candidates(geometry, row, first, count, sign, scratch_inout, contacts_inout)


@subroutine
def collide_convex_surface(
    geometry,  # model
    convex,
    surface,
    limit,
    scratch_inout,
):
    """Collect contact points, normals from a surface to a convex shape; return their number."""
    pose, pose_s = geometry_pose(scratch_inout, convex), geometry_pose(scratch_inout, surface)
    low, high = box_in_frame(geometry, convex, pose, pose_s, limit)
    centre = add(pose[1], mul_mv(pose[0], load3(geometry.bounds, convex, 0)))
    motion = relative_motion(geometry, convex, surface, centre, pose_s, scratch_inout.motion)
    count, cursor, deepest = 0, 0, 0.0
    sunk, least_depth, way_out, over_depth, way_over = 0.0, math.inf, -1, math.inf, -1
    while True:
        t, cursor = next_triangle(geometry, surface, low, high, cursor)
        if t < 0:
            break
        x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
        gap, _, _, n = triangle_distance(geometry, scratch_inout, convex, pose, (x0, x1, x2))
        if gap > limit:
            continue
        count = make_room(geometry, convex, surface, count, scratch_inout)
        number = triangle_number(geometry, surface, t) << 20
        face = outward_normal(geometry, surface, x0, x1, x2, centre)
        foremost, height = ZERO, 0.0
        is_allowed = has_normal(geometry, surface, t, mul_tv(pose_s[0], n))
        if gap < 0.0 or not is_allowed:
            foremost = farthest_point(geometry, convex, pose, scale(-1.0, face))
            height = dot(face, sub(foremost, x0))
        if gap < 0.0 and height < 0.0 and -height < over_depth:
            over_depth, way_over = -height, t
        if is_allowed:
            added = triangle_contacts(
                geometry,
                scratch_inout,
                convex,
                pose,
                (x0, x1, x2),
                n,
                limit,
                candidates_from(scratch_inout, count),
            )
            count = label_candidates(count, added, number, n, scratch_inout)
            deepest = min(deepest, gap)
            continue
        if gap < 0.0:
            sunk = min(sunk, gap)
            if height < 0.0 and -height < least_depth and is_beside(foremost, face, x0, x1, x2):
                least_depth, way_out = -height, t
        elif passes(foremost, motion, face, height, x0, x1, x2):
            count = add_face(foremost, face, height, number, count, scratch_inout)
    half = load3(geometry.bounds, convex, 3)
    way = FAST * min(half[0], half[1], half[2])
    if count > 0 and dot(motion, motion) > way * way:
        count = add_faces_ahead(geometry, convex, surface, motion, low, high, count, scratch_inout)
    if is_ground(geometry, surface) and deepest == 0.0 and way_out < 0:
        # the shape may be completely below the surface
        t, _ = triangle_beyond(
            geometry, surface, pose_s, centre, way_up(geometry, surface, pose_s)
        )
        if t >= 0:
            sunk, way_out = -math.inf, t
    if way_out >= 0 and sunk < MUCH_DEEPER * deepest:
        count = make_room(geometry, convex, surface, count, scratch_inout)
        count = push_out(geometry, convex, surface, way_out, False, count, scratch_inout)
    is_deep = min(sunk, deepest) < -max(_DEEP * min(half[0], half[1], half[2]), limit)
    is_closed = is_solid(geometry, surface) and not is_ground(geometry, surface)
    if way_over >= 0 and is_closed and (count == 0 or is_deep):
        count = push_out(geometry, convex, surface, way_over, True, 0, scratch_inout)
    return count


@subroutine
def add_faces_ahead(
    geometry,  # model
    convex,
    surface,
    motion,
    low,
    high,
    count,
    scratch_inout,
):
    """
    Append the faces that a fast shape would still cross after its contacts have deflected it.

    low, high: corners of a box, in the surface's frame, that the shape stays in. Returns the
    candidate count.
    """
    pose, pose_s = geometry_pose(scratch_inout, convex), geometry_pose(scratch_inout, surface)
    centre = add(pose[1], mul_mv(pose[0], load3(geometry.bounds, convex, 0)))
    for _ in range(DEFLECTIONS):
        way = deflected(motion, count, scratch_inout.candidate_normal, scratch_inout.candidate_gap)
        before, cursor = count, 0
        while True:
            t, cursor = next_triangle(geometry, surface, low, high, cursor)
            if t < 0:
                break
            x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
            face = outward_normal(geometry, surface, x0, x1, x2, centre)
            foremost = farthest_point(geometry, convex, pose, scale(-1.0, face))
            height = dot(face, sub(foremost, x0))
            number = triangle_number(geometry, surface, t) << 20
            # at a ridge, either face's foremost point may pass beside it
            goes_in = passes(foremost, way, face, height, x0, x1, x2) or passes(
                centre, way, face, dot(face, sub(centre, x0)), x0, x1, x2
            )
            if not goes_in and height > 0.0 and dot(face, way) < 0.0:
                gap, _, _, _ = triangle_distance(
                    geometry, scratch_inout, convex, (pose[0], add(pose[1], way)), (x0, x1, x2)
                )
                goes_in = gap < 0.0 and height < -dot(face, way)
            is_new = not is_listed(number + FACE, count, scratch_inout)
            if goes_in and count < CANDIDATES and is_new:
                count = add_face(foremost, face, max(height, 0.0), number, count, scratch_inout)
        if count == before:
            break
    return count


@kernel
def deflected(motion, count, normal, gap):
    """Return a motion deflected by the contacts (projected Gauss-Seidel)."""
    for _ in range(SWEEPS):
        for k in range(count):
            n = load3(normal, k, 0)
            motion = sub(motion, scale(min(0.0, max(gap[k], 0.0) + dot(motion, n)), n))
    return motion


@kernel
def outward_normal(geometry, surface, x0, x1, x2, point):
    """Return a triangle's unit normal; for a surface without an inside, towards the point."""
    n = unit_normal(x0, x1, x2)
    if dot(n, sub(point, x0)) < 0.0 and not is_solid(geometry, surface):
        return scale(-1.0, n)
    return n


@kernel
def relative_motion(geometry, g, other, point, pose_other, motion):
    """Return the displacement of a point on g in the step, relative to the other geometry [m]."""
    centre = add(pose_other[1], mul_mv(pose_other[0], load3(geometry.bounds, other, 0)))
    carried = add(load3(motion, other, 0), cross(load3(motion, other, 3), sub(point, centre)))
    return sub(load3(motion, g, 0), carried)


@kernel
def passes(x, motion, n, height, x0, x1, x2):
    """Return whether a point above a face with the normal n moves through it within the step."""
    fall = -dot(n, motion)
    return height > 0.0 and fall > height and is_beside(x, motion, x0, x1, x2)


@kernel
def add_face(foremost, n, height, number, count, scratch_inout):
    """Append the contact between a shape's foremost point and a face's plane; return the count."""
    scratch_inout.candidate_feature[count] = 0
    store3(scratch_inout.candidate_point, count, 0, sub(foremost, scale(0.5 * height, n)))
    scratch_inout.candidate_gap[count] = height
    return label_candidates(count, 1, number + FACE, n, scratch_inout)


@kernel
def label_candidates(count, added, number, n, scratch_inout):
    """Set the new candidates' normal, and encode their triangle's number in the feature."""
    for k in range(count, count + added):
        scratch_inout.candidate_feature[k] += number
        store3(scratch_inout.candidate_normal, k, 0, n)
    return count + added


@subroutine
def collide_surfaces(
    geometry,  # model
    surface,
    other,
    limit,
    scratch_inout,
):
    """
    Collect contact points with normals from a surface to a mesh; return their number.

    Two solids sunk into each other a little overlap between two faces, back to back. Neither of
    these triangles touches the other.
    """
    pose_s, pose_o = geometry_pose(scratch_inout, surface), geometry_pose(scratch_inout, other)
    low, high = box_in_frame(geometry, surface, pose_s, pose_o, limit)
    count, outer, deepest, is_crossed = 0, 0, 0.0, False
    are_solid = is_solid(geometry, surface) and is_solid(geometry, other)
    while True:
        s, outer = next_triangle(geometry, other, low, high, outer)
        if s < 0:
            break
        y0, y1, y2 = corners_in_world(geometry, other, pose_o, s)
        y_n = unit_normal(y0, y1, y2)
        inner_low, inner_high = triangle_box(y0, y1, y2, pose_s, limit)
        cursor = 0
        while True:
            t, cursor = next_triangle(geometry, surface, inner_low, inner_high, cursor)
            if t < 0:
                break
            x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
            x_n = unit_normal(x0, x1, x2)
            gap, _, _, n = triangles_distance(geometry, scratch_inout, (y0, y1, y2), (x0, x1, x2))
            if gap > limit:
                continue
            is_sunk = False
            if not allows(geometry, surface, t, pose_s, other, s, pose_o, n):
                is_sunk = are_solid and gap >= 0.0 and are_back_to_back(n, y_n, x_n)
                if is_sunk:
                    n, gap = scale(-1.0, n), -gap
                elif gap < 0.0:
                    is_crossed = True
                    n, gap = way_between_faces(
                        geometry,
                        (surface, t, pose_s, x_n),
                        (other, s, pose_o, y_n),
                        _TWICE * gap,
                        scratch_inout,
                    )
                    if gap == -math.inf:
                        continue
                else:
                    continue
            count = make_room(geometry, surface, other, count, scratch_inout)
            added = triangles_contacts(
                geometry,
                scratch_inout,
                (y0, y1, y2),
                (x0, x1, x2),
                n,
                limit,
                candidates_from(scratch_inout, count),
            )
            if is_sunk and not is_shortest_way_out(
                geometry, surface, other, n, count, added, scratch_inout
            ):
                continue
            number = triangle_number(geometry, surface, t) << 20 | triangle_number(
                geometry, other, s
            )
            count = label_candidates(count, added, number << 20, n, scratch_inout)
            deepest = min(deepest, gap)
    if count == 0 and is_crossed and are_solid:
        count = push_meshes_apart(geometry, surface, other, low, high, scratch_inout)
    if is_ground(geometry, surface) and not is_ground(geometry, other):
        count = push_mesh_out(geometry, other, surface, deepest, 1.0, count, scratch_inout)
    elif is_ground(geometry, other) and not is_ground(geometry, surface):
        count = push_mesh_out(geometry, surface, other, deepest, -1.0, count, scratch_inout)
    return count


@kernel
def allows(geometry, surface, t, pose_s, other, s, pose_o, n):
    """Return whether two surfaces allow the normal n, from triangle t to s, in world axes."""
    return has_normal(geometry, surface, t, mul_tv(pose_s[0], n)) and has_normal(
        geometry, other, s, mul_tv(pose_o[0], scale(-1.0, n))
    )


@subroutine
def way_between_faces(geometry, below, above, least, scratch):
    """
    Return the face normal that frees a corner by the shortest way, and the distance along it.

    For crossing triangles: their shortest way may lead through a solid, because a single triangle
    has no inside. below, above: (surface, triangle, pose, unit normal). least: distance that may
    be exceeded only by the motion in the step. The distance is -inf if no corner is over a face,
    or if the surfaces do not allow the normals.
    """
    surface, t, pose_s, x_n = below
    other, s, pose_o, y_n = above
    x = corners_in_world(geometry, surface, pose_s, t)
    y = corners_in_world(geometry, other, pose_o, s)
    best, best_n = -math.inf, x_n
    for side in range(2):
        n, corners, face, is_known = x_n, y, x, is_solid(geometry, surface)
        if side == 1:
            n, corners, face, is_known = y_n, x, y, is_solid(geometry, other)
        foremost = farthest_corner(corners, scale(-1.0, n))
        apart = dot(n, sub(foremost, face[0]))
        if is_known and apart > best and is_beside(foremost, n, face[0], face[1], face[2]):
            if side == 1:
                n = scale(-1.0, n)
            way = sub(
                displaced(geometry, scratch, other, foremost),
                displaced(geometry, scratch, surface, foremost),
            )
            if apart < min(least, dot(n, way)):
                continue
            if allows(geometry, surface, t, pose_s, other, s, pose_o, n):
                best, best_n = apart, n
    return best_n, best


@kernel
def farthest_corner(corners, d):
    """Return a triangle's corner farthest along a direction."""
    farthest = corners[0]
    if dot(d, sub(corners[1], farthest)) > 0.0:
        farthest = corners[1]
    if dot(d, sub(corners[2], farthest)) > 0.0:
        farthest = corners[2]
    return farthest


@kernel
def are_back_to_back(n, y_n, x_n):
    """
    Return whether a triangle's inner side faces another triangle's inner side.

    n: unit vector from the second to the first, along their distance. y_n, x_n: their unit
    normals. At least one must be parallel to n: the other one's nearest point is opposite its
    face.
    """
    y_along, x_along = dot(y_n, n), -dot(x_n, n)
    return min(y_along, x_along) > 0.0 and max(y_along, x_along) > _PARALLEL


@subroutine
def is_shortest_way_out(
    geometry,  # model
    surface,
    other,
    n,
    first,
    added,
    scratch,
):
    """
    Return whether two overlapping solids separate along n by about the shortest way.

    n: from the surface to the other solid. first, added: candidate rows of their overlap between
    two faces. The test is made in its middle: no triangle of either solid may be much nearer to
    the opposite face than these faces are.
    """
    if added == 0:
        return False
    middle, gap = ZERO, 0.0
    for k in range(first, first + added):
        middle = add(middle, load3(scratch.candidate_point, k, 0))
        gap += scratch.candidate_gap[k]
    middle, half = scale(1.0 / added, middle), scale(0.5 * gap / added, n)
    shortest = -_SHORTEST * gap / added
    return is_clear(
        geometry, surface, geometry_pose(scratch, surface), add(middle, half), shortest
    ) and is_clear(geometry, other, geometry_pose(scratch, other), sub(middle, half), shortest)


@kernel
def is_clear(geometry, surface, pose, x, radius):
    """Return whether no triangle of a surface is nearer to a point than a radius."""
    low, high = triangle_box(x, x, x, pose, radius)
    cursor = 0
    while True:
        t, cursor = next_triangle(geometry, surface, low, high, cursor)
        if t < 0:
            return True
        x0, x1, x2 = corners_in_world(geometry, surface, pose, t)
        _, way = nearest_on_triangle(sub(x0, x), sub(x1, x), sub(x2, x))
        if dot(way, way) < radius * radius:
            return False


@kernel
def candidates_from(scratch, first_row):
    """Return the destination for a triangle's contact points, for `narrow.collide_pair`."""
    return (
        first_row,
        scratch.candidate_feature,
        scratch.candidate_point,
        scratch.candidate_normal,
        scratch.candidate_gap,
    )


@kernel
def make_room(geometry, a, b, count, scratch_inout):
    """Reduce the candidates if there is no room for another triangle's points."""
    if count + scratch_inout.most_points[0] <= CANDIDATES:
        return count
    return keep_candidates(geometry, a, b, count, KEPT_BETWEEN, scratch_inout)


@kernel
def write_candidates(geometry, row, first, count, sign, scratch_inout, contacts_inout):
    """Write the candidates in order as a pair's contact points; sign: multiplies the normals."""
    sort_candidates(count, scratch_inout)
    for k in range(count):
        contacts_inout.feature[first + k] = scratch_inout.candidate_feature[k]
        store3(contacts_inout.point, first + k, 0, load3(scratch_inout.candidate_point, k, 0))
        store3(
            contacts_inout.normal,
            first + k,
            0,
            scale(sign, load3(scratch_inout.candidate_normal, k, 0)),
        )
        contacts_inout.gap[first + k] = scratch_inout.candidate_gap[k]
    keep_rows(geometry, scratch_inout, contacts_inout, row, first, count)


@subroutine
def keep_candidates(geometry, a, b, count, most, scratch_inout):
    """Reduce the candidates to `most`; lengths are relative to the smaller geometry's size."""
    half_a, half_b = load3(geometry.bounds, a, 3), load3(geometry.bounds, b, 3)
    size = math.sqrt(min(dot(half_a, half_a), dot(half_b, half_b)))
    return reduce_candidates(size, most, count, scratch_inout)
