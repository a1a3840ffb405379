"""Correction of constraint errors: projection of positions and velocities on the rigid rows."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.axes import find_excesses, lock_excesses, may_exceed
from sim_bridge.engine.constraints.basis import find_impulses
from sim_bridge.engine.constraints.reactions import note_wrenches
from sim_bridge.engine.constraints.respond import act, build_constraints
from sim_bridge.engine.constraints.rows import find_arms, find_errors, rate_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.loops import ALL_ROWS, JAMMED, JOINT_ROWS, RIGID_ROWS
from sim_bridge.engine.dynamics.articulated import factorize
from sim_bridge.engine.dynamics.integrator import drift
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.dynamics.twists import find_twists

_ROUNDS = 4  # limit on position correction rounds
_HALVINGS = 4
_FARTHEST = 0.01  # greatest coordinate change in one round, but from stops [rad, m]
_CLOSED = 1e-13  # negligible error [m, 1]
_NEARLY = 1e-10  # one round suffices up to this error [m, 1]
_OPEN = 1e-6  # a loop is reported as open above this error [m, 1]
_WIDE_OPEN = 1e-3  # the same for dependent rows, since descriptions are rounded
_ASSEMBLY_ROUNDS = 200
_ASSEMBLED = 1e-12  # negligible error when a mechanism is assembled [m, 1]
_LONGEST = 0.2  # greatest coordinate change in one assembly round [rad, m]


@subroutine
def follow_shift(table):
    """Remove velocities forbidden by the rows from response.v_drift, the separating velocities."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    work, response = world.loop_work(table), world.response(table)
    rows = loops.size[ALL_ROWS]
    find_twists(model, model.kind, ws, response.ddq, work.twist)
    for row in range(rows):
        work.right[row] = -rate_of(model, loops, row, work, response.ddq)
    find_impulses(rows, False, work.right, work, work.change)
    act(model, ws, loops, rows, 1.0, work.change, work)
    for joint in range(work.ddq.shape[0]):
        response.v_drift[joint] += world.options(table).time_step * work.ddq[joint]
    return 0


@subroutine
def close(table):
    """
    Correct the positions at the step's end until the rigid rows' errors vanish.

    Uses Newton steps with the mid-step inertias and rows. This projection changes positions and
    leaves velocities unchanged (Gear, Gupta and Leimkuhler 1985). For nearly dependent rows, these
    matrices are not accurate enough and are rebuilt. A small error may then need a large
    correction: no step goes farther than _FARTHEST, and no step may increase the errors. Returns 1
    if the loops stay open, as loops with contradicting rows do.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work, h = world.state(table), world.loop_work(table), world.options(table).time_step
    note_wrenches(model.root, ws.pose, loops, h, work)
    work.found_mode[:], work.found_active[:] = work.mode, work.active
    work.found_impulse[:] = work.impulse
    farthest = _FARTHEST
    if may_exceed(h, loops, work):
        ws.pose_before[:, :] = ws.pose
        place(model, ws.q, ws)
        is_any = lock_excesses(ws.pose, h, state, loops, work)
        ws.pose[:, :] = ws.pose_before
        if is_any:
            build_constraints(table, loops.size[ALL_ROWS])
            # the joints go back at most the way that they have come
            farthest = max(farthest, 0.5 * h * greatest_size(ws.v_next))
    is_open = project(table, farthest)
    work.mode[:], work.active[:] = work.found_mode, work.found_active
    work.impulse[:] = work.found_impulse
    return is_open


@subroutine
def project(table, farthest):
    """Take the Newton steps of `close`, of at most `farthest`; returns as it does."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work, h = world.state(table), world.loop_work(table), world.options(table).time_step
    rows, is_exact = loops.size[ALL_ROWS], False
    worst, total = look(model, ws, h, state, loops, work)
    for _ in range(_ROUNDS):
        if worst <= _CLOSED:
            break
        if is_exact:
            build_anew(table)
        find_impulses(rows, False, work.right, work, work.change)
        act(model, ws, loops, rows, 1.0, work.change, work)
        greatest = greatest_size(work.ddq)
        if worst <= _NEARLY and greatest <= farthest:
            # Newton's method: the next error is about the current error times this motion
            drift(model, ws.kind, ws.q, work.ddq, 1.0, ws.q)
            break
        share = min(1.0, farthest / greatest) if greatest > 0.0 else 0.0
        before = total
        work.q_before[:] = ws.q
        for _ in range(_HALVINGS):
            drift(model, ws.kind, work.q_before, work.ddq, share, ws.q)
            worst, total = look(model, ws, h, state, loops, work)
            if total < before:
                break
            share *= 0.25
        if not total < before:
            ws.q[:] = work.q_before
            worst, total = look(model, ws, h, state, loops, work)
            if is_exact:
                break
            is_exact = True
    most = _OPEN if work.pivot[JAMMED] != 0 else _WIDE_OPEN
    for row in range(loops.size[RIGID_ROWS]):
        if work.active[row] != 0 and abs(work.error[row]) > most:
            worst = max(worst, abs(work.error[row]))
    return 1 if worst > _OPEN else 0


@subroutine
def look(model, ws, h, state, loops, work):
    """
    Compute the poses at ws.q, and write each row's required correction into work.right.

    Rigid rows are corrected to zero error, axes to their rigid stops. Returns the greatest
    correction [m, 1] among independent rows, and the scaled sum of squares.
    """
    place(model, ws.q, ws)
    find_errors(model, ws.q, ws, loops, work.error)
    for row in range(loops.size[JOINT_ROWS]):
        work.right[row] = -work.error[row] if row < loops.size[RIGID_ROWS] else 0.0
    find_excesses(ws.pose, h, state, loops, work)
    worst, total = 0.0, 0.0
    for row in range(loops.size[ALL_ROWS]):
        if work.own[row] >= 0:
            worst = max(worst, abs(work.right[row]))
            scaled = work.scale[row] * work.right[row]
            total += scaled * scaled
    return worst, total


@subroutine
def build_anew(table):
    """Rebuild the rigid rows with the inertias at the bodies' current poses."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    factorize(model, ws, 0.0)
    find_arms(model, ws, loops, world.loop_work(table).arm)
    build_constraints(table, loops.size[RIGID_ROWS])


@subroutine
def assemble(table):
    """
    Move ws.q to a configuration that closes all loops, with the least mass-weighted motion.

    Joints locked in ws.mode do not move. Returns the Newton step count, -1 if the loops did not
    close. Errors of dependent rows need not vanish.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    work, rows = world.loop_work(table), loops.size[RIGID_ROWS]
    work.broken[:] = world.state(table).loop_broken
    for done in range(_ASSEMBLY_ROUNDS):
        place(model, ws.q, ws)
        find_errors(model, ws.q, ws, loops, work.error)
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
        greatest = greatest_size(work.ddq)
        share = min(1.0, _LONGEST / greatest) if greatest > 0.0 else 0.0
        drift(model, ws.kind, ws.q, work.ddq, share, ws.q)
    return -1


@subroutine
def begin(table):
    """
    Remove velocities forbidden by the rigid rows from the state, as an impact would.

    Steps drift with their initial velocities, so these must be compatible with new joints.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work, rows = world.state(table), world.loop_work(table), loops.size[RIGID_ROWS]
    place(model, state.q, ws)
    ws.mode[:] = 0
    work.broken[:] = state.loop_broken
    build_anew(table)
    find_twists(model, model.kind, ws, state.v, work.twist)
    for row in range(rows):
        work.right[row] = -rate_of(model, loops, row, work, state.v)
    find_impulses(rows, True, work.right, work, work.change)
    act(model, ws, loops, rows, 1.0, work.change, work)
    for joint in range(state.v.shape[0]):
        state.v[joint] += work.ddq[joint]
    return 0


@kernel
def greatest_size(vector):
    """Return the greatest magnitude in a vector."""
    greatest = 0.0
    for k in range(vector.shape[0]):
        greatest = max(greatest, abs(vector[k]))
    return greatest
