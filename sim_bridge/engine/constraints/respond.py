"""Response of the trees to impulses on the constraint rows."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.basis import build_basis
from sim_bridge.engine.constraints.rows import add_mimic_effort, joint_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.state import LOCKED
from sim_bridge.engine.dynamics.articulated import solve
from sim_bridge.engine.math.spatial import load_spatial, store_spatial, WRENCH_SIZE
from sim_bridge.engine.math.vec3 import scale


@subroutine
def build_constraints(table, count):
    """Build the first `count` rows after each factorization; work.arm must fit the poses."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    build_basis(
        model,
        ws,
        world.state(table),
        loops,
        world.loop_work(table),
        count,
        world.options(table).time_step,
    )
    return 0


@subroutine
def act(model, ws, loops, count, rate, impulse, work):
    """Compute the trees' response to impulses on the first `count` rows, times `rate`."""
    work.wrench[:, :] = 0.0
    work.rhs[:] = 0.0
    for row in range(count):
        amount = rate * impulse[row]
        joint = joint_of(loops, row)
        if joint < 0:
            add_mimic_effort(model, loops, row, amount, work.rhs)
            continue
        for side in range(2):
            body = loops.body[joint, side]
            if body >= 0:
                for k in range(6):
                    work.wrench[body, k] += amount * work.arm[row, WRENCH_SIZE * side + k]
    for body in range(work.wrench.shape[0]):
        n, f = load_spatial(work.wrench, body)
        store_spatial(work.force, body, scale(-1.0, n), scale(-1.0, f))
    respond_to_rows(model, ws, work)


@kernel
def respond_to_rows(model, ws, work):
    """Compute accelerations, and locked joint efforts, due to work.force and work.rhs."""
    nv = work.rhs.shape[0]
    for joint in range(nv):
        work.effort[joint] = work.rhs[joint]
        if ws.mode[joint] >= LOCKED:
            # a locked joint takes the row's effort itself
            work.rhs[joint] = 0.0
    solve(model, ws, work.rhs, work.force, work.ddq, work.constraint)
    for joint in range(nv):
        if ws.mode[joint] >= LOCKED:
            work.constraint[joint] -= work.effort[joint]
