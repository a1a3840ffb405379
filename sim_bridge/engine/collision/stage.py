"""
The collision stages of a step, compiled separately; see `compiler.stage`.

`DETECT` suffices for a robot on a plane. It calls the other stages for the pairs of their
classes, if their addresses are not 0.
"""

from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.collision.collide import (
    collide_closed_pairs,
    collide_convex_pairs,
    needs_order,
    order_contacts,
    start_collision,
)
from sim_bridge.engine.collision.hollow.pairs import collide_hollow_pairs
from sim_bridge.engine.collision.mesh.surface import collide_surface_pairs
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.collision_scratch import PairCount
from sim_bridge.engine.data.contact_points import COUNT, OVERFLOW
from sim_bridge.engine.dynamics.twists import find_twists


def detect(table, phase):
    """Find the contacts at the workspace's poses; return their number, -1 without room."""
    model, geometry, options = world.model(table), world.geometry(table), world.options(table)
    state, ws, twist = world.state(table), world.workspace(table), world.response(table).twist
    scratch, contacts = world.collision(table), world.contacts(table)
    find_twists(model, model.kind, ws, state.v, twist)
    start_collision(geometry, ws.pose, twist, model.root,
                    options.time_step, options.contact_margin, scratch, contacts)
    collide_closed_pairs(geometry, scratch, contacts)
    if scratch.counts[PairCount.CONVEX_PAIRS] > 0:
        call_stage(options.detect_convex, table, phase)
    if scratch.counts[PairCount.SURFACE_PAIRS] > 0:
        call_stage(options.detect_surface, table, phase)
    if scratch.counts[PairCount.HOLLOW_PAIRS] > 0:
        call_stage(options.detect_hollow, table, phase)
    if needs_order(scratch):
        order_contacts(scratch, contacts)
    return -1 if contacts.size[OVERFLOW] != 0 else contacts.size[COUNT]


def detect_convex(table, phase):
    """Append the contacts of the pairs that need the generic convex algorithms."""
    collide_convex_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


def detect_surface(table, phase):
    """Append the contacts of the pairs with a mesh or a height field."""
    collide_surface_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


def detect_hollow(table, phase):
    """Append the contacts of the pairs with a hollow shape."""
    collide_hollow_pairs(world.geometry(table), world.collision(table), world.contacts(table))
    return 0


DETECT, DETECT_CONVEX, DETECT_SURFACE, DETECT_HOLLOW = map(
    Stage, (detect, detect_convex, detect_surface, detect_hollow))
