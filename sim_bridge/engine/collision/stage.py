"""
Collision stages of a step, compiled separately; see `compiler.stage`.

`DETECT` finds the pairs within reach, and calls `NARROW` if there are any. `NARROW` suffices for a
robot on a plane, and calls the other stages for the pairs in their classes. An address of 0 means
that the stage is not compiled yet.
"""

from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.collision.broad.still import are_contacts_still, keep_still
from sim_bridge.engine.collision.collide import (
    collide_closed_pairs,
    collide_convex_pairs,
    needs_order,
    order_contacts,
    start_collision,
)
from sim_bridge.engine.collision.contested import mark_contested
from sim_bridge.engine.collision.hollow.pairs import collide_hollow_pairs
from sim_bridge.engine.collision.line import collide_line_pairs
from sim_bridge.engine.collision.mesh.surface import collide_surface_pairs
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.collision_scratch import ABSENT, PairCount
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.data.fields import STAGE
from sim_bridge.engine.dynamics.twists import find_twists


def detect(table, phase):
    """
    Find the contacts at the workspace's poses; return their number.

    Returns -1 without room, ABSENT if a required stage is not compiled.
    """
    model, geometry, options = world.model(table), world.geometry(table), world.options(table)
    state, ws, twist = world.state(table), world.workspace(table), world.response(table).twist
    scratch, contacts = world.collision(table), world.contacts(table)
    h, margin = options.time_step, options.contact_margin
    find_twists(model, model.kind, ws, state.v, twist)
    # user contacts and listeners change the contacts found by the last search
    may_stay = options.user_contacts == 0 and world.listening(table).call[STAGE] == 0
    may_stay = may_stay and scratch.counts[PairCount.IS_AHEAD] == 0
    if may_stay and are_contacts_still(ws.pose, twist, model.root, h, margin, scratch):
        return contacts.size[COUNT]
    scratch.counts[PairCount.IS_STILL] = 0
    scratch.counts[PairCount.SEARCHES] += 1
    start_collision(geometry, ws.pose, twist, model.root, h, margin, scratch, contacts)
    found = -1 if contacts.size[OVERFLOW] != 0 else 0
    if scratch.counts[PairCount.PAIRS] > 0:
        found = ABSENT if options.narrow == 0 else call_stage(options.narrow, table, phase)
    if may_stay and found >= 0:
        keep_still(geometry, ws.pose, twist, model.root, h, scratch)
    return found


def narrow(table, phase):
    """Find the contacts for the pairs within reach; return as `detect`."""
    geometry, options = world.geometry(table), world.options(table)
    scratch, contacts = world.collision(table), world.contacts(table)
    convex, surface = options.detect_convex, options.detect_surface
    hollow, line, counts = options.detect_hollow, options.detect_line, scratch.counts
    has_convex = counts[PairCount.CONVEX_PAIRS] > 0
    has_surface = counts[PairCount.SURFACE_PAIRS] > 0
    has_hollow = counts[PairCount.HOLLOW_PAIRS] > 0
    has_line = counts[PairCount.LINE_PAIRS] > 0
    if has_convex and convex == 0 or has_surface and surface == 0:
        return ABSENT
    if has_hollow and hollow == 0 or has_line and line == 0:
        return ABSENT
    while True:
        collide_closed_pairs(geometry, scratch, contacts)
        if has_convex:
            call_stage(convex, table, phase)
        if has_surface:
            call_stage(surface, table, phase)
        if has_hollow:
            call_stage(hollow, table, phase)
        if has_line:
            call_stage(line, table, phase)
        if counts[PairCount.IS_SECOND] != 0:
            break
        mark_contested(geometry, scratch, contacts)
        if counts[PairCount.CONTESTED] == 0 or contacts.size[OVERFLOW] != 0:
            break
        counts[PairCount.IS_SECOND] = 1
    counts[PairCount.IS_SECOND] = 0
    if needs_order(scratch):
        order_contacts(scratch, contacts)
    return -1 if contacts.size[OVERFLOW] != 0 else contacts.size[COUNT]


def detect_convex(table, phase):
    """Append the contacts for pairs that need the generic convex algorithms."""
    collide_convex_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


def detect_surface(table, phase):
    """Append the contacts for pairs with a mesh or a height field."""
    collide_surface_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


def detect_hollow(table, phase):
    """Append the contacts for pairs with a hollow shape."""
    collide_hollow_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


def detect_line(table, phase):
    """Append the contacts for pairs with a line."""
    collide_line_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


DETECT, NARROW, DETECT_CONVEX, DETECT_SURFACE, DETECT_HOLLOW, DETECT_LINE = map(
    Stage, (detect, narrow, detect_convex, detect_surface, detect_hollow, detect_line)
)
