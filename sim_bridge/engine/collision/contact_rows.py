"""Rows of the contact arrays: claimed for all points of a pair, kept for those that it has."""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.collision_scratch import FIRST, FIRST_ROW, ROWS, SECOND
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.math.vec3 import load3, load_m

MOST_POINTS = 8
"""Contact points of one pair at most."""


@kernel
def geometry_pose(scratch, g):
    """Return (R, p) of a geometry in the world."""
    return load_m(scratch.pose, g, 0), load3(scratch.pose, g, 9)


@kernel
def claim_rows(contacts_inout):
    """Return the first free row if there is room for all points of a pair, else -1."""
    first = contacts_inout.size[COUNT]
    if first + MOST_POINTS > contacts_inout.feature.shape[0]:
        contacts_inout.size[OVERFLOW] = 1
        return -1
    return first


@kernel
def keep_rows(row, first, count, pair_inout, contacts_inout):
    """Note that a pair has contact points in the rows from `first` on."""
    for k in range(first, first + count):
        contacts_inout.geometry[k, 0] = pair_inout[row, FIRST]
        contacts_inout.geometry[k, 1] = pair_inout[row, SECOND]
    contacts_inout.size[COUNT] = first + count
    pair_inout[row, FIRST_ROW], pair_inout[row, ROWS] = first, count
