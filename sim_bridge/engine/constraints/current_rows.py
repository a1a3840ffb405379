"""Constraint rows at the current state, as Jacobian and errors."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.constraints.rows import find_arms, find_errors
from sim_bridge.engine.contact.current_terms import add_generalized_force
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.loops import JOINT_ROWS, MIMIC
from sim_bridge.engine.dynamics.mimic import mimic_row
from sim_bridge.engine.math.spatial import FORCE, TORQUE, WRENCH_SIZE
from sim_bridge.engine.math.vec3 import load3


@entry
def constraint_rows(table: Table, rows_out: FloatMatrix):
    """
    Compute the rows' Jacobian, (n, nv), and their errors in loop_work.error.

    The bodies must be placed at the state's positions.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    loops, work = world.loops(table), world.loop_work(table)
    find_arms(model, ws, loops, work.arm)
    find_errors(model, state.q, ws, loops, work.error)
    rows_out[:, :] = 0.0
    for row in range(loops.size[JOINT_ROWS]):
        if loops.kind[row] == MIMIC:
            following, followed, ratio = mimic_row(model, loops.axes[row, 0])
            rows_out[row, following] += 1.0
            rows_out[row, followed] -= ratio
            continue
        for side in range(2):
            body = loops.body[loops.joint[row], side]
            if body >= 0:
                at = WRENCH_SIZE * side
                add_generalized_force(
                    model,
                    ws,
                    body,
                    load3(work.arm, row, at + TORQUE),
                    load3(work.arm, row, at + FORCE),
                    rows_out[row],
                )
