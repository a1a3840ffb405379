"""Joint laws for a step from the current state, for the rows of a contact problem."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.dynamics.active_set import guess_active_set
from sim_bridge.engine.dynamics.articulated import factorize
from sim_bridge.engine.dynamics.integrator import drift
from sim_bridge.engine.dynamics.mimic import follow
from sim_bridge.engine.dynamics.set_joint_laws import set_joint_laws


@entry
def current_joint_laws(table: Table, applied: FloatVector):
    """
    Write the one-axis joints' laws into ws.law, and their guessed modes into ws.mode.

    The bodies must be placed at the state's positions. applied: (nv,) efforts within their limits
    [N, N m]; motors act in addition. On return the trees are factorized for a step of
    options.time_step.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    h = world.options(table).time_step
    drift(model, model.kind, state.q, state.v, 0.5 * h, ws.q)
    follow(model, ws.q)
    set_joint_laws(
        model,
        model.q_of_v,
        ws.q,
        state.v,
        applied,
        state.control,
        state.target,
        state.course,
        h,
        ws,
    )
    guess_active_set(model, state, ws)
    factorize(model, ws, h)
