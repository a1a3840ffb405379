"""What joints that close loops do in a step and at an instant, compiled on its own."""

from __future__ import annotations

from sim_bridge.engine.articulated import factorize, solve
from sim_bridge.engine.contact.twists import find_twists
from sim_bridge.engine.evaluate import add_response, place
from sim_bridge.engine.handle import (
    open_loop_work,
    open_loops,
    open_model,
    open_options,
    open_state,
    open_workspace,
)
from sim_bridge.engine.integrator import drift
from sim_bridge.engine.jit import kernel, subroutine
from sim_bridge.engine.loops.axes import (
    axis_wrench,
    find_excesses,
    keep_axes,
    start_axes,
    switch_axes,
)
from sim_bridge.engine.loops.basis import build_basis, find_impulses
from sim_bridge.engine.loops.blocked import release_blocked
from sim_bridge.engine.loops.loops import ALL, HARD, ROWS
from sim_bridge.engine.loops.phases import (
    ASSEMBLE,
    BEGIN,
    BUILD,
    BUILD_PRESENT,
    CLOSE,
    OBEY,
    OBEY_MORE,
    OBEY_PRESENT,
    PREPARE,
    SWITCH,
)
from sim_bridge.engine.loops.rows import (
    add_mimic_effort,
    find_arms,
    find_drifts,
    find_errors,
    frame_of,
    frames_of,
    joint_of,
    rate_of,
    row_wrench,
)
from sim_bridge.engine.stages import Stage
from sim_bridge.engine.state import LOCKED
from sim_bridge.engine.vec3 import add, cross, load3, sub

_ROUNDS = 4  # at most, of bringing positions back
_HALVINGS = 4
_FARTHEST = 0.01  # change of a coordinate in such a round [rad, m]
_CLOSED = 1e-13  # error that counts as none [m, 1]
_NEARLY = 1e-10  # and that one round brings close to it
_ASSEMBLY_ROUNDS = 200
_ASSEMBLED = 1e-12  # error that counts as none when a mechanism is put together [m, 1]
_LONGEST = 0.2  # change of a coordinate in a round [rad, m]


def loops(table, phase):
    """Go through one phase of a step's loops, or of an observation's."""
    if phase == PREPARE:
        return prepare_loops(table)
    if phase == BUILD:
        return build_loops(table, open_loops(table).size[ALL])
    if phase == SWITCH:
        return switch(table)
    if phase == BUILD_PRESENT:
        find_arms(open_model(table).root, open_workspace(table).pose, open_loops(table),
                  open_loop_work(table).arm)
        return build_loops(table, open_loops(table).size[HARD])
    if phase == OBEY or phase == OBEY_MORE:
        return obey(table, phase == OBEY)
    if phase == OBEY_PRESENT:
        return obey_present(table)
    if phase == CLOSE:
        return close(table)
    if phase == ASSEMBLE:
        return assemble(table)
    if phase == BEGIN:
        return begin(table)
    return keep_loops(table)


@subroutine
def switch(table):
    """Change modes that are wrong; give how many. One that blocks a loop only if no other is."""
    loops, work, h = open_loops(table), open_loop_work(table), open_options(table).time_step
    changed = switch_axes(h, loops, work)
    if changed == 0 and work.pivot[2] == 0.0:
        changed = release_blocked(
            open_model(table), open_workspace(table), loops, open_state(table), h, work)
    return changed


@subroutine
def prepare_loops(table):
    """Find out where and how fast things are, once in a step."""
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    state, work, h = open_state(table), open_loop_work(table), open_options(table).time_step
    find_arms(model.root, ws.pose, loops, work.arm)
    if loops.size[ALL] > loops.size[HARD]:
        find_errors(model.mimic, model.mimic_law, model.q_of_v, ws.q, ws.pose, loops, work.error)
        find_twists(model.parent, model.kind, model.v_index, ws.axis, state.v, work.twist)
        for row in range(loops.size[HARD], loops.size[ROWS]):
            # as ODE: the error at the start of the step
            start = work.error[row] - 0.5 * h * rate_of(model, loops, row, work, state.v)
            work.error[row] = -loops.erp[row] / h * start
            work.softness[row] = loops.cfm[row] / h
        start_axes(model.root, ws.pose, h, state, loops, work)
    return 0


@subroutine
def build_loops(table, count):
    """Build so many rows, whenever the trees were factorized; work.arm is that of the poses."""
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    build_basis(model, ws.kind, ws.pose, ws.axis, ws.hinge, ws.articulated, loops, count,
                open_options(table).time_step, open_state(table), open_loop_work(table))
    return 0


@subroutine
def obey(table, is_first):
    """
    Add to ws.ddq and ws.constraint what the rows demand of the velocities at the step's end.

    is_first: no impulses were found yet in this evaluation. The rows are those of the middle of
    the step; half a step's drift of theirs makes them those of its end.
    """
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    work, state, h = open_loop_work(table), open_state(table), open_options(table).time_step
    if is_first:
        find_drifts(model.root, ws.kind, model.v_index, model.gravity, ws.pose, ws.velocity,
                    ws.drift, loops, True, work.drift)
        push_axes(model, ws, h, loops, work)
    for joint in range(ws.ddq.shape[0]):
        ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
    find_twists(model.parent, model.kind, model.v_index, ws.axis, ws.v_next, work.twist)
    hard, rows = loops.size[HARD], loops.size[ALL]
    for row in range(rows):
        wanted = -0.5 * h * work.drift[row] if row < hard else work.error[row]
        velocity = rate_of(model, loops, row, work, ws.v_next)
        work.right[row] = wanted - velocity - work.softness[row] * work.impulse[row]
    find_impulses(rows, True, work.right, work, work.change)
    for row in range(rows):
        work.impulse[row] += work.change[row]
    act(model, ws, loops, rows, 1.0 / h, work.change, work)
    add_response(work, ws)
    if loops.size[ALL] > loops.size[ROWS]:
        for joint in range(ws.ddq.shape[0]):
            ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
        find_twists(model.parent, model.kind, model.v_index, ws.axis, ws.v_next, work.twist)
        for axis in range(loops.axis_joint.shape[0]):
            work.v_next[axis] = rate_of(model, loops, loops.size[ROWS] + axis, work, ws.v_next)
    return 0


@kernel
def push_axes(model, ws, h, loops, work):
    """Begin an evaluation: no impulses but those of the axes' known efforts, which act."""
    any_push = False
    for row in range(loops.size[ALL]):
        if row < loops.size[ROWS] or work.active[row] != 0:
            work.impulse[row] = 0.0
        any_push = any_push or work.impulse[row] != 0.0
    if any_push:
        act(model, ws, loops, loops.size[ALL], 1.0 / h, work.impulse, work)
        add_response(work, ws)


@subroutine
def obey_present(table):
    """
    Add to ws.ddq and ws.constraint what keeps the rigid rows' errors from accelerating.

    ws.ddq: a free joint's as spatial accelerations. work.impulse: the rows' forces. work.wrench:
    what they do to each body, about its tree's O.
    """
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    work = open_loop_work(table)
    rows = loops.size[HARD]
    find_drifts(model.root, ws.kind, model.v_index, model.gravity, ws.pose, ws.velocity,
                ws.drift, loops, False, work.drift)
    find_twists(model.parent, model.kind, model.v_index, ws.axis, ws.ddq, work.twist)
    for row in range(rows):
        work.right[row] = -work.drift[row] - rate_of(model, loops, row, work, ws.ddq)
    find_impulses(rows, True, work.right, work, work.impulse)
    act(model, ws, loops, rows, 1.0, work.impulse, work)
    add_response(work, ws)
    return 0


@subroutine
def close(table):
    """
    Bring the positions at the end of the step back to where the rigid rows' errors vanish.

    By Newton steps with the inertias and rows of the middle of the step: a projection that moves
    positions and leaves velocities alone (Gear, Gupta and Leimkuhler 1985). Where rows are nearly
    dependent those are not near enough, and are built anew; and a small error asks for a long way:
    no step goes farther than _FARTHEST, and none is taken that makes the errors greater.
    """
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    state, work, h = open_state(table), open_loop_work(table), open_options(table).time_step
    rows, is_exact = loops.size[ALL], False
    note_yielded(ws, loops, 1.0 / h, work)
    worst, total = look(model, ws, h, state, loops, work)
    for _ in range(_ROUNDS):
        if worst <= _CLOSED:
            break
        if is_exact:
            build_anew(table)
        find_impulses(rows, False, work.right, work, work.change)
        act(model, ws, loops, rows, 1.0, work.change, work)
        greatest = 0.0
        for joint in range(work.ddq.shape[0]):
            greatest = max(greatest, abs(work.ddq[joint]))
        if worst <= _NEARLY and greatest <= _FARTHEST:
            # what is left is less by the step's share of the motion
            drift(ws.kind, model.q_index, model.v_index, ws.q, work.ddq, 1.0, ws.q)
            break
        share = min(1.0, _FARTHEST / greatest) if greatest > 0.0 else 0.0
        before = total
        for at in range(ws.q.shape[0]):
            work.q_before[at] = ws.q[at]
        for _ in range(_HALVINGS):
            drift(ws.kind, model.q_index, model.v_index, work.q_before, work.ddq, share, ws.q)
            worst, total = look(model, ws, h, state, loops, work)
            if total < before:
                break
            share *= 0.25
        if not total < before:
            for at in range(ws.q.shape[0]):
                ws.q[at] = work.q_before[at]
            worst, total = look(model, ws, h, state, loops, work)
            if is_exact:
                break
            is_exact = True
    return 0


@subroutine
def look(model, ws, h, state, loops, work):
    """
    Place the bodies at ws.q and write into work.right the way that each row has to go.

    For rigid rows to no error, for axes back to their rigid stops. Gives the greatest [m, 1] of
    the independent rows, and the sum of their squares, scaled.
    """
    place(model, ws.q, ws)
    find_errors(model.mimic, model.mimic_law, model.q_of_v, ws.q, ws.pose, loops, work.error)
    for row in range(loops.size[ROWS]):
        work.right[row] = -work.error[row] if row < loops.size[HARD] else 0.0
    find_excesses(ws.pose, h, state, loops, work)
    worst, total = 0.0, 0.0
    for row in range(loops.size[ALL]):
        if work.own[row] >= 0:
            worst = max(worst, abs(work.right[row]))
            scaled = work.scale[row] * work.right[row]
            total += scaled * scaled
    return worst, total


@subroutine
def build_anew(table):
    """Build the rigid rows, with the inertias, where the bodies were placed."""
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    factorize(model.parent, ws.kind, model.v_index, model.passive, ws.mode, ws.axis, ws.rigid,
              0.0, ws.law, ws.articulated, ws.hinge)
    find_arms(model.root, ws.pose, loops, open_loop_work(table).arm)
    build_loops(table, loops.size[HARD])


@subroutine
def assemble(table):
    """
    Move the configuration ws.q to one that closes all loops, as little as masses will have it.

    Joints that are locked in ws.mode stay. Gives the Newton steps it took, -1 if it did not close.
    Rows that depend on others are not waited for.
    """
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    work, rows = open_loop_work(table), open_loops(table).size[HARD]
    for done in range(_ASSEMBLY_ROUNDS):
        place(model, ws.q, ws)
        find_errors(model.mimic, model.mimic_law, model.q_of_v, ws.q, ws.pose, loops, work.error)
        build_anew(table)
        worst = 0.0
        for row in range(rows):
            work.right[row] = -work.error[row]
            if work.own[row] >= 0:
                worst = max(worst, abs(work.error[row]))
        if worst <= _ASSEMBLED:
            return done
        find_impulses(rows, False, work.right, work, work.change)
        act(model, ws, loops, rows, 1.0, work.change, work)
        greatest = 0.0
        for joint in range(work.ddq.shape[0]):
            greatest = max(greatest, abs(work.ddq[joint]))
        share = min(1.0, _LONGEST / greatest) if greatest > 0.0 else 0.0
        drift(ws.kind, model.q_index, model.v_index, ws.q, work.ddq, share, ws.q)
    return -1


@subroutine
def begin(table):
    """
    Take from the state's velocities what the rigid rows do not allow, as an impact would.

    Steps drift with the velocities they begin with: these must fit joints that are new.
    """
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    state, work, rows = open_state(table), open_loop_work(table), open_loops(table).size[HARD]
    place(model, state.q, ws)
    ws.mode[:] = 0
    build_anew(table)
    find_twists(model.parent, model.kind, model.v_index, ws.axis, state.v, work.twist)
    for row in range(rows):
        work.right[row] = -rate_of(model, loops, row, work, state.v)
    find_impulses(rows, True, work.right, work, work.change)
    act(model, ws, loops, rows, 1.0, work.change, work)
    for joint in range(state.v.shape[0]):
        state.v[joint] += work.ddq[joint]
    return 0


@subroutine
def keep_loops(table):
    """Keep in the state where the axes are, and what they and the yielding rows did."""
    model, ws, loops = open_model(table), open_workspace(table), open_loops(table)
    state, work = open_state(table), open_loop_work(table)
    if loops.size[ALL] == loops.size[HARD]:
        return 0
    keep_awake(model.root, loops, state)
    # the bodies are where `close` looked last, less than _NEARLY from where they are
    keep_axes(ws.pose, open_options(table).time_step, loops, work, state)
    carry_yielded(ws.pose, loops, work)
    for joint in range(state.loop_wrench.shape[0]):
        for k in range(6):
            state.loop_wrench[joint, k] = work.yielded[joint, k]
    for body in range(state.yield_wrench.shape[0]):
        for k in range(6):
            state.yield_wrench[body, k] = work.yielded_on[body, k]
    return 0


@kernel
def keep_awake(root, loops, state):
    """Let what a motor drives not fall asleep."""
    for axis in range(loops.axis_joint.shape[0]):
        if state.axis_control[axis] != 0 or state.axis_u[axis] != 0.0:
            for side in range(2):
                body = loops.body[loops.axis_joint[axis], side]
                if body >= 0:
                    state.idle[root[body]] = 0


@subroutine
def act(model, ws, loops, count, rate, impulse, work):
    """Compute what impulses of the first so many rows, times `rate`, do to the trees."""
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
                    work.wrench[body, k] += amount * work.arm[row, 6 * side + k]
    for body in range(work.wrench.shape[0]):
        for k in range(6):
            work.force[body, k] = -work.wrench[body, k]
    respond_to_rows(model, ws, work)


@kernel
def respond_to_rows(model, ws, work):
    """Compute accelerations, and efforts of locked joints, that work.force and work.rhs give."""
    nv = work.rhs.shape[0]
    for joint in range(nv):
        work.effort[joint] = work.rhs[joint]
        if ws.mode[joint] >= LOCKED:
            # a locked joint takes the row's effort itself
            work.rhs[joint] = 0.0
    solve(model.parent, ws.kind, model.v_index, ws.articulated, ws.hinge, ws.axis, work.rhs,
          work.force, ws.acceleration, work.ddq, work.constraint)
    for joint in range(nv):
        if ws.mode[joint] >= LOCKED:
            work.constraint[joint] -= work.effort[joint]


@kernel
def note_yielded(ws, loops, rate, work):
    """
    Write down the mean wrenches of rows that yield and of axes, before bodies are placed anew.

    On the second body about B's origin, for each joint.
    """
    work.yielded[:, :] = 0.0
    for row in range(loops.size[HARD], loops.size[ALL]):
        joint = joint_of(loops, row)
        R_A, p_A, R_B, p_B = frames_of(ws.pose, loops, joint)
        if row < loops.size[ROWS]:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
        else:
            torque, force = axis_wrench(loops, row - loops.size[ROWS], R_A, R_B)
        amount = rate * work.impulse[row]
        for k in range(3):
            work.yielded[joint, k] += amount * torque[k]
            work.yielded[joint, 3 + k] += amount * force[k]


@kernel
def carry_yielded(pose, loops, work):
    """Write what joints' mean wrenches do to each body where it is now, about its origin."""
    work.yielded_on[:, :] = 0.0
    for joint in range(loops.body.shape[0]):
        p_B = frame_of(pose, loops, joint, 1)[1]
        torque, force = load3(work.yielded, joint, 0), load3(work.yielded, joint, 3)
        for side in range(2):
            body, sign = loops.body[joint, side], 2.0 * side - 1.0
            if body >= 0:
                n = add(torque, cross(sub(p_B, load3(pose, body, 9)), force))
                for k in range(3):
                    work.yielded_on[body, k] += sign * n[k]
                    work.yielded_on[body, 3 + k] += sign * force[k]


LOOPS = Stage(loops)
