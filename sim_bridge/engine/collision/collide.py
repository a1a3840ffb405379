"""
Collision pipeline from moving bodies to contact points.

The parts of the pipeline are kernels compiled separately, see `collision.stage`: the closed-form
pairs, sufficient for a robot on a plane (`start_collision`, `collide_closed_pairs`), the generic
convex shapes (`collide_convex_pairs`), meshes and height fields (`surface.collide_surface_pairs`),
hollow shapes (`hollow.pairs`), and lines (`line`). Each part appends its points; `order_contacts`
sorts the points from several parts.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.kept import find_pairs
from sim_bridge.engine.collision.contact_rows import (
    claim_rows,
    geometry_pose,
    keep_rows,
    pair_of,
    rows_from,
)
from sim_bridge.engine.collision.narrow.narrow import collide_closed, collide_pair
from sim_bridge.engine.data.collision_scratch import PairClass, PairColumn, PairCount
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW


@kernel
def start_collision(geometry, pose, twist, root, h, margin, scratch_inout, contacts_out):
    """
    Find the pairs within reach, and clear the contacts.

    A pair is within reach if it can come closer than the margin [m] in a step of h seconds.
    twist: (nb, 6) spatial velocities of the bodies about their trees' origins.
    """
    fits = find_pairs(geometry, pose, twist, root, h, margin, scratch_inout)
    clear_contacts(contacts_out, fits)


@kernel
def clear_contacts(contacts_out, fits):
    """Clear the contacts; fits: whether there was room for all pairs."""
    contacts_out.size[COUNT] = 0
    contacts_out.size[OVERFLOW] = 0 if fits else 1


@kernel
def collide_closed_pairs(geometry, scratch_inout, contacts_inout):
    """Find the contact points for CLOSED pairs."""
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        first = claim_rows(geometry, scratch_inout, contacts_inout, row, PairClass.CLOSED)
        if first >= 0:
            a, b, limit = pair_of(scratch_inout, row)
            count = collide_closed(
                geometry,
                scratch_inout,
                a,
                b,
                geometry_pose(scratch_inout, a),
                geometry_pose(scratch_inout, b),
                limit,
                rows_from(contacts_inout, first),
            )
            keep_rows(geometry, scratch_inout, contacts_inout, row, first, count)


@kernel
def collide_convex_pairs(geometry, scratch_inout, contacts_inout):
    """Find the contact points for CONVEX pairs."""
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        first = claim_rows(geometry, scratch_inout, contacts_inout, row, PairClass.CONVEX)
        if first >= 0:
            a, b, limit = pair_of(scratch_inout, row)
            count = collide_pair(
                geometry,
                scratch_inout,
                a,
                b,
                geometry_pose(scratch_inout, a),
                geometry_pose(scratch_inout, b),
                limit,
                rows_from(contacts_inout, first),
            )
            keep_rows(geometry, scratch_inout, contacts_inout, row, first, count)


@kernel
def needs_order(scratch):
    """Return whether the contact points may not be sorted: several parts have written them."""
    counts = scratch.counts
    return (
        counts[PairCount.CONVEX_PAIRS]
        + counts[PairCount.SURFACE_PAIRS]
        + counts[PairCount.HOLLOW_PAIRS]
        + counts[PairCount.LINE_PAIRS]
        + counts[PairCount.CONTESTED]
        > 0
    )


@kernel
def order_contacts(scratch_inout, contacts_inout):
    """Sort the contact points by pair."""
    spare, contacts, count = scratch_inout, contacts_inout, contacts_inout.size[COUNT]
    spare.spare_geometry[:count] = contacts.geometry[:count]
    spare.spare_feature[:count] = contacts.feature[:count]
    spare.spare_point[:count] = contacts.point[:count]
    spare.spare_normal[:count] = contacts.normal[:count]
    spare.spare_gap[:count] = contacts.gap[:count]
    at = 0
    for row in range(spare.counts[PairCount.PAIRS]):
        first, rows = spare.pair[row, PairColumn.FIRST_ROW], spare.pair[row, PairColumn.ROW_COUNT]
        contacts.geometry[at : at + rows] = spare.spare_geometry[first : first + rows]
        contacts.feature[at : at + rows] = spare.spare_feature[first : first + rows]
        contacts.point[at : at + rows] = spare.spare_point[first : first + rows]
        contacts.normal[at : at + rows] = spare.spare_normal[first : first + rows]
        contacts.gap[at : at + rows] = spare.spare_gap[first : first + rows]
        at += rows
    contacts.size[COUNT] = at
