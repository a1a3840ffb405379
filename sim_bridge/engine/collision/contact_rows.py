"""Rows in the contact arrays: reserved for a pair's points, then kept for the points found."""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.contested import close_ahead, open_ahead
from sim_bridge.engine.data.collision_scratch import PairColumn, PairCount
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.math.spatial import load_pose


@kernel
def geometry_pose(scratch, g):
    """Return a geometry's world pose (R, p)."""
    return load_pose(scratch.pose, g)


@kernel
def pair_of(scratch, row):
    """Return a pair's two geometries, and the greatest contact gap between them [m]."""
    a, b = scratch.pair[row, PairColumn.GEOMETRY_A], scratch.pair[row, PairColumn.GEOMETRY_B]
    return a, b, scratch.reach[a] + scratch.reach[b]


@kernel
def rows_from(contacts, first):
    """Return the contact arrays from row `first` on, as `points_out` for `narrow.collide_pair`."""
    return first, contacts.feature, contacts.point, contacts.normal, contacts.gap


@kernel
def claim_rows(geometry, scratch_inout, contacts_inout, row, kind):
    """
    Return the first free row for a pair's points; -1 without room or for another class.

    In a search ahead only contested pairs get rows, and their first geometry is moved.
    """
    if scratch_inout.pair[row, PairColumn.CLASS] != kind:
        return -1
    is_ahead = scratch_inout.counts[PairCount.IS_SECOND] != 0
    if is_ahead and scratch_inout.pair[row, PairColumn.IS_CONTESTED] == 0:
        return -1
    first, most = contacts_inout.size[COUNT], scratch_inout.most_points[0]
    if first + (2 * most if is_ahead else most) > contacts_inout.feature.shape[0]:
        contacts_inout.size[OVERFLOW] = 1
        scratch_inout.pair[row, PairColumn.ROW_COUNT] = 0
        return -1
    if is_ahead:
        open_ahead(geometry, scratch_inout, row)
    return first


@kernel
def keep_rows(geometry, scratch_inout, contacts_inout, row, first, count):
    """Record that a pair has contact points, now or ahead, in the rows from `first` on."""
    if scratch_inout.counts[PairCount.IS_SECOND] != 0:
        close_ahead(geometry, scratch_inout, contacts_inout, row, first, count)
        return
    pair_inout = scratch_inout.pair
    for k in range(first, first + count):
        contacts_inout.geometry[k, 0] = pair_inout[row, PairColumn.GEOMETRY_A]
        contacts_inout.geometry[k, 1] = pair_inout[row, PairColumn.GEOMETRY_B]
    contacts_inout.size[COUNT] = first + count
    pair_inout[row, PairColumn.FIRST_ROW], pair_inout[row, PairColumn.ROW_COUNT] = first, count
