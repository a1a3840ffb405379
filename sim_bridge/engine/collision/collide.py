"""
The collision pipeline: from moving bodies to contact points.

The parts of this pipeline are kernels that can be compiled separately, see `collision.stage`: the
closed-form pairs, enough for a robot on a plane (`start_collision`, `collide_closed_pairs`), the
generic convex shapes (`collide_convex_pairs`), and meshes and height fields
(`surface.collide_surface_pairs`). Each part appends its points; `order_contacts` sorts the points
of several parts.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.pairs import choose_pairs, find_overlaps
from sim_bridge.engine.collision.broad.place import place_geometries
from sim_bridge.engine.collision.contact_rows import (
    claim_rows,
    geometry_pose,
    keep_rows,
    pair_of,
    rows_from,
)
from sim_bridge.engine.collision.narrow.narrow import collide_closed, collide_pair
from sim_bridge.engine.data.collision_scratch import (
    CLOSED,
    CONVEX,
    CONVEX_PAIRS,
    FIRST_ROW,
    FOUND,
    PAIRS,
    ROW_COUNT,
    SURFACE_PAIRS,
)
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.math.vec3 import load3, store3


@kernel
def start_collision(geometry, pose, twist, root, h, margin, scratch_out, contacts_out):
    """
    Find the pairs within reach, and clear the contacts.

    A pair is within reach if it can come closer than the margin [m] in a step of h seconds at the
    spatial velocities `twist` of the bodies, (nb, 6) about their trees' origins.
    """
    place_geometries(geometry, pose, twist, root, h, margin, scratch_out)
    find_overlaps(scratch_out)
    room = scratch_out.found.shape[0] - 1
    found = scratch_out.counts[FOUND]
    choose_pairs(geometry, scratch_out, found if found <= room else 0)
    contacts_out.size[COUNT] = 0
    contacts_out.size[OVERFLOW] = 1 if found > room else 0


@kernel
def collide_closed_pairs(geometry, scratch_inout, contacts_inout):
    """Find the contact points of the pairs of class CLOSED."""
    for row in range(scratch_inout.counts[PAIRS]):
        first = claim_rows(scratch_inout, contacts_inout, row, CLOSED)
        if first >= 0:
            a, b, limit = pair_of(scratch_inout, row)
            count = collide_closed(
                geometry, scratch_inout, a, b, geometry_pose(scratch_inout, a),
                geometry_pose(scratch_inout, b), limit, rows_from(contacts_inout, first))
            keep_rows(row, first, count, scratch_inout.pair, contacts_inout)


@kernel
def collide_convex_pairs(geometry, scratch_inout, contacts_inout):
    """Find the contact points of the pairs of class CONVEX."""
    for row in range(scratch_inout.counts[PAIRS]):
        first = claim_rows(scratch_inout, contacts_inout, row, CONVEX)
        if first >= 0:
            a, b, limit = pair_of(scratch_inout, row)
            count = collide_pair(
                geometry, scratch_inout, a, b, geometry_pose(scratch_inout, a),
                geometry_pose(scratch_inout, b), limit, rows_from(contacts_inout, first))
            keep_rows(row, first, count, scratch_inout.pair, contacts_inout)


@kernel
def needs_order(scratch):
    """Return whether pairs of classes other than CLOSED wrote contact points."""
    return scratch.counts[CONVEX_PAIRS] + scratch.counts[SURFACE_PAIRS] > 0


@kernel
def order_contacts(scratch_inout, contacts_inout):
    """Sort the contact points by pair."""
    count = contacts_inout.size[COUNT]
    for k in range(count):
        scratch_inout.spare_geometry[k, 0] = contacts_inout.geometry[k, 0]
        scratch_inout.spare_geometry[k, 1] = contacts_inout.geometry[k, 1]
        scratch_inout.spare_feature[k] = contacts_inout.feature[k]
        store3(scratch_inout.spare_place, k, 0, load3(contacts_inout.point, k, 0))
        store3(scratch_inout.spare_place, k, 3, load3(contacts_inout.normal, k, 0))
        scratch_inout.spare_place[k, 6] = contacts_inout.gap[k]
    at = 0
    for row in range(scratch_inout.counts[PAIRS]):
        first = scratch_inout.pair[row, FIRST_ROW]
        for k in range(first, first + scratch_inout.pair[row, ROW_COUNT]):
            contacts_inout.geometry[at, 0] = scratch_inout.spare_geometry[k, 0]
            contacts_inout.geometry[at, 1] = scratch_inout.spare_geometry[k, 1]
            contacts_inout.feature[at] = scratch_inout.spare_feature[k]
            store3(contacts_inout.point, at, 0, load3(scratch_inout.spare_place, k, 0))
            store3(contacts_inout.normal, at, 0, load3(scratch_inout.spare_place, k, 3))
            contacts_inout.gap[at] = scratch_inout.spare_place[k, 6]
            at += 1
