"""
Stage that keeps free trees' momentum to rounding in a step; compiled separately.

See `dynamics.tree_momentum` for the method.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.prepare import world_impulse
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.phases import MomentumPhase
from sim_bridge.engine.dynamics.active_set import is_driven_by_friction
from sim_bridge.engine.dynamics.tree_momentum import (
    end_step,
    find_momenta,
    find_outer_impulses,
    find_systems,
    note_start,
)
from sim_bridge.engine.math.vec3 import ZERO


def momentum(table, phase):
    """Run one momentum phase in a step."""
    if phase == MomentumPhase.START:
        return start(table)
    if phase == MomentumPhase.ADD_UP:
        return add_up_systems(table)
    return end(table)


@subroutine
def start(table):
    """Compute the momenta at the step's start; overwrites the poses."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    find_systems(model, world.loops(table).body, state.loop_broken, ws)
    find_momenta(model, state.q, state.v, ws)
    note_start(model, state, ws)
    return 0


@subroutine
def add_up_systems(table):
    """Compute the impulses on the trees, before bodies are placed at the step's end."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    find_outer_impulses(model, state, ws, world.options(table).time_step)
    return 0


@subroutine
def end(table):
    """Set the trees' momentum to the balance, in ws.q and ws.v_next; keep ws.pose."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    find_held(table)
    for joint in range(ws.mode.shape[0]):
        # as `step.commit` will do later, too late for joints stopping here
        if is_driven_by_friction(ws.mode[joint], ws.v_next[joint]):
            ws.v_next[joint] = 0.0
    ws.pose_before[:, :] = ws.pose
    find_momenta(model, ws.q, ws.v_next, ws)
    ws.pose[:, :] = ws.pose_before
    end_step(model, state, ws, world.options(table).time_step)
    return 0


@kernel
def find_held(table):
    """Mark in ws.held the systems on which contacts from outside the system push in this step."""
    model, ws, geometry = world.model(table), world.workspace(table), world.geometry(table)
    contacts, laws, solution = world.contacts(table), world.laws(table), world.solution(table)
    for body in range(ws.held.shape[0]):
        ws.held[body] = 0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] == 0:
            continue
        if world_impulse(laws, solution, contact)[0] == ZERO and solution.shift[contact] == 0.0:
            continue
        a = system_of(model, ws, geometry.body[contacts.geometry[contact, 0]])
        b = system_of(model, ws, geometry.body[contacts.geometry[contact, 1]])
        if a != b:
            if a >= 0:
                ws.held[a] = 1
            if b >= 0:
                ws.held[b] = 1


@kernel
def system_of(model, ws, body):
    """Return the first body of a body's system, or -1."""
    return ws.system[model.root[body]] if body >= 0 else -1


MOMENTUM = Stage(momentum)
