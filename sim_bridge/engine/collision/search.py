"""Contact points and pairs outside steps, at the state in a handle's table."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage
from sim_bridge.engine.collision.broad.filters import may_collide
from sim_bridge.engine.collision.broad.overlaps import find_overlaps
from sim_bridge.engine.collision.broad.pairs import classify_pairs
from sim_bridge.engine.collision.broad.place import place_geometries
from sim_bridge.engine.collision.collide import (
    clear_contacts,
    collide_closed_pairs,
    needs_order,
    order_contacts,
)
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.collision_scratch import PairCount
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.dynamics.kinematics import place


@entry
def search_near(table: Table, margin: float):
    """
    Find the contact points for all pairs that may collide, up to a gap of `margin` [m].

    Returns their number in the handle's `contacts`, -1 without room.
    """
    scratch = world.collision(table)
    place_still(table, margin)
    find_overlaps(scratch.box, scratch)
    return collide_found(table, scratch.counts[PairCount.FOUND], True)


@entry
def search_pairs(table: Table, pairs: IntMatrix, margin: float):
    """
    Find the contact points for given pairs of geometries; results as for `search_near`.

    pairs: (n, 2), lower number first, no more pairs than the scratch has room for.
    """
    scratch = world.collision(table)
    place_still(table, margin)
    for row in range(pairs.shape[0]):
        scratch.found[row, 0], scratch.found[row, 1] = pairs[row, 0], pairs[row, 1]
    return collide_found(table, pairs.shape[0], False)


@entry
def mark_collidable(table: Table, pairs: IntMatrix, marks_out: IntVector):
    """Write 1 for each pair of geometries (n, 2) that may collide in a step, 0 for other pairs."""
    geometry = world.geometry(table)
    for row in range(pairs.shape[0]):
        may = may_collide(
            geometry.body,
            geometry.shape,
            geometry.flags,
            geometry.group,
            geometry.mask,
            geometry.excluded,
            pairs[row, 0],
            pairs[row, 1],
        )
        marks_out[row] = 1 if may else 0


@kernel
def place_still(table, margin):
    """Place bodies and geometries at zero velocities; margin: greatest gap [m]."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    twist = world.response(table).twist
    place(model, state.q, ws)
    twist[:, :] = 0.0
    place_geometries(
        world.geometry(table), ws.pose, twist, model.root, 0.0, margin, world.collision(table)
    )


@kernel
def collide_found(table, found, is_filtered):
    """Collide the pairs listed in scratch.found; return the point count, -1 without room."""
    geometry, options = world.geometry(table), world.options(table)
    scratch, contacts = world.collision(table), world.contacts(table)
    fits = found < scratch.found.shape[0]
    classify_pairs(geometry, scratch, found if fits else 0, is_filtered)
    clear_contacts(contacts, fits)
    collide_closed_pairs(geometry, scratch, contacts)
    if scratch.counts[PairCount.CONVEX_PAIRS] > 0:
        call_stage(options.detect_convex, table, 0)
    if scratch.counts[PairCount.SURFACE_PAIRS] > 0:
        call_stage(options.detect_surface, table, 0)
    if scratch.counts[PairCount.HOLLOW_PAIRS] > 0:
        call_stage(options.detect_hollow, table, 0)
    if scratch.counts[PairCount.LINE_PAIRS] > 0:
        call_stage(options.detect_line, table, 0)
    if needs_order(scratch):
        order_contacts(scratch, contacts)
    return -1 if contacts.size[OVERFLOW] != 0 else contacts.size[COUNT]
