"""Stage of the constraint joints, in steps and observations; compiled separately."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.constraints.axes import keep_axes, start_axes, switch_axes
from sim_bridge.engine.constraints.basis import find_impulses
from sim_bridge.engine.constraints.bearing import follow_loads
from sim_bridge.engine.constraints.blocked import release_blocked
from sim_bridge.engine.constraints.breaking import break_weakest
from sim_bridge.engine.constraints.closing import assemble, begin, close, follow_shift
from sim_bridge.engine.constraints.reactions import act_on_bodies, keep_reactions, react_at_instant
from sim_bridge.engine.constraints.respond import act, build_constraints
from sim_bridge.engine.constraints.rows import find_arms, find_drifts, find_errors, rate_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.loops import ALL_ROWS, CHANGED, JAMMED, JOINT_ROWS, RIGID_ROWS
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import DISABLED
from sim_bridge.engine.dynamics.evaluate import add_response
from sim_bridge.engine.dynamics.twists import find_twists


def constraints(table, phase):
    """Run one constraint phase in a step or an observation."""
    if phase == LoopPhase.PREPARE:
        return prepare_constraints(table)
    if phase == LoopPhase.BUILD:
        return build_constraints(table, world.loops(table).size[ALL_ROWS])
    if phase == LoopPhase.REBUILD:
        return rebuild(table)
    if phase == LoopPhase.SWITCH:
        return switch(table)
    if phase == LoopPhase.BUILD_PRESENT:
        world.loop_work(table).broken[:] = world.state(table).loop_broken
        find_arms(
            world.model(table),
            world.workspace(table),
            world.loops(table),
            world.loop_work(table).arm,
        )
        return build_constraints(table, world.loops(table).size[RIGID_ROWS])
    if phase == LoopPhase.OBEY or phase == LoopPhase.OBEY_MORE:
        return obey(table, phase == LoopPhase.OBEY)
    if phase == LoopPhase.OBEY_PRESENT:
        return obey_present(table)
    if phase == LoopPhase.REACT_PRESENT:
        return react_at_instant(table)
    if phase == LoopPhase.FOLLOW_SHIFT:
        return follow_shift(table)
    if phase == LoopPhase.CLOSE:
        return close(table)
    if phase == LoopPhase.ASSEMBLE:
        return assemble(table)
    if phase == LoopPhase.BEGIN:
        return begin(table)
    return keep_constraints(table)


@subroutine
def rebuild(table):
    """Rebuild the rows for axes whose modes the contact solution found; keep the impulses."""
    work = world.loop_work(table)
    work.change[:] = work.impulse
    build_constraints(table, world.loops(table).size[ALL_ROWS])
    work.impulse[:] = work.change
    return 0


@subroutine
def switch(table):
    """
    Change wrong modes; return their number.

    A blocking mode changes only if no other is wrong, and a joint breaks only if none is.
    """
    loops, work, h = world.loops(table), world.loop_work(table), world.options(table).time_step
    changed = follow_loads(world.workspace(table).pose, h, loops, work)
    changed += switch_axes(h, loops, work)
    work.pivot[JAMMED] = 0
    if changed == 0 and work.pivot[CHANGED] == 0:
        changed = release_blocked(
            world.model(table), world.workspace(table), loops, world.state(table), h, work
        )
        if changed == 0:
            changed = break_weakest(world.workspace(table).pose, h, loops, work)
    return changed


@subroutine
def prepare_constraints(table):
    """Compute the positions and velocities of rows and axes, once per step."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work, h = world.state(table), world.loop_work(table), world.options(table).time_step
    work.broken[:] = state.loop_broken
    find_arms(model, ws, loops, work.arm)
    if loops.size[ALL_ROWS] > loops.size[RIGID_ROWS]:
        find_errors(model, ws.q, ws, loops, work.error)
        find_twists(model, model.kind, ws, state.v, work.twist)
        for row in range(loops.size[RIGID_ROWS], loops.size[JOINT_ROWS]):
            # as in ODE: the error at the step's start
            start = work.error[row] - 0.5 * h * rate_of(model, loops, row, work, state.v)
            work.error[row] = -loops.erp[row] / h * start
            work.softness[row] = loops.cfm[row] / h
        start_axes(model.root, ws.pose, h, state, loops, work)
    return 0


@subroutine
def obey(table, is_first):
    """
    Add the rows' response to ws.ddq and ws.constraint, for the velocities at the step's end.

    is_first: no impulses were found yet in this evaluation. The rows belong to mid-step; adding
    half a step of their drift moves them to its end.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    work, state, h = world.loop_work(table), world.state(table), world.options(table).time_step
    if is_first:
        find_drifts(model, ws, loops, True, work.drift)
        push_axes(model, ws, h, loops, work)
    for joint in range(ws.ddq.shape[0]):
        ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
    find_twists(model, model.kind, ws, ws.v_next, work.twist)
    hard, rows = loops.size[RIGID_ROWS], loops.size[ALL_ROWS]
    for row in range(rows):
        wanted = -0.5 * h * work.drift[row] if row < hard else work.error[row]
        velocity = rate_of(model, loops, row, work, ws.v_next)
        work.right[row] = wanted - velocity - work.softness[row] * work.impulse[row]
    find_impulses(rows, True, work.right, work, work.change)
    for row in range(rows):
        work.impulse[row] += work.change[row]
    act(model, ws, loops, rows, 1.0 / h, work.change, work)
    add_response(work, ws)
    if loops.size[ALL_ROWS] > loops.size[JOINT_ROWS]:
        for joint in range(ws.ddq.shape[0]):
            ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
        find_twists(model, model.kind, ws, ws.v_next, work.twist)
        for axis in range(loops.axis_joint.shape[0]):
            row = loops.size[JOINT_ROWS] + axis
            work.v_next[axis] = rate_of(model, loops, row, work, ws.v_next)
    return 0


@kernel
def push_axes(model, ws, h, loops, work):
    """Start an evaluation: reset the impulses, and apply the axes' known efforts."""
    any_push = False
    for row in range(loops.size[ALL_ROWS]):
        if row < loops.size[JOINT_ROWS] or work.active[row] != 0:
            work.impulse[row] = 0.0
        any_push = any_push or work.impulse[row] != 0.0
    if any_push:
        act(model, ws, loops, loops.size[ALL_ROWS], 1.0 / h, work.impulse, work)
        add_response(work, ws)


@subroutine
def obey_present(table):
    """
    Add the response that keeps rigid errors' second derivatives at zero.

    Adds to ws.ddq, spatial accelerations for free joints, and to ws.constraint. Writes the rows'
    forces into work.impulse, and their wrench on each body, about its tree's O, into work.wrench.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    work = world.loop_work(table)
    rows = loops.size[RIGID_ROWS]
    find_drifts(model, ws, loops, False, work.drift)
    find_twists(model, model.kind, ws, ws.ddq, work.twist)
    for row in range(rows):
        work.right[row] = -work.drift[row] - rate_of(model, loops, row, work, ws.ddq)
    find_impulses(rows, True, work.right, work, work.impulse)
    act(model, ws, loops, rows, 1.0, work.impulse, work)
    add_response(work, ws)
    return 0


@subroutine
def keep_constraints(table):
    """Store the axes' positions, and the joints' reactions, in the state."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work = world.state(table), world.loop_work(table)
    state.loop_broken[:] = work.broken
    if loops.size[ALL_ROWS] > loops.size[RIGID_ROWS]:
        keep_awake(model.root, loops, state)
        # ws.pose has the poses last computed by `close`, less than _NEARLY from the final ones
        keep_axes(ws.pose, world.options(table).time_step, loops, work, state)
        keep_reactions(model.root, loops, work.yielded, state.idle, state.loop_wrench)
        act_on_bodies(ws.pose, loops, state.loop_wrench, state.yield_wrench)
    keep_reactions(model.root, loops, work.mean, state.idle, state.loop_mean)
    return 0


@kernel
def keep_awake(root, loops, state):
    """Keep bodies driven by a motor awake."""
    for axis in range(loops.axis_joint.shape[0]):
        if state.axis_control[axis] != 0 or state.axis_u[axis] != 0.0:
            for side in range(2):
                body = loops.body[loops.axis_joint[axis], side]
                if body >= 0 and state.idle[root[body]] != DISABLED:
                    state.idle[root[body]] = 0


LOOPS = Stage(constraints)
