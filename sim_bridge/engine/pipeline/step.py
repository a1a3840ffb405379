"""One step of simulated time."""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage
from sim_bridge.engine.collision.broad.ahead import may_outrun, outruns_reach
from sim_bridge.engine.contact.sleep import fall_asleep, set_kinds, wake_tied, wake_written
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.collision_scratch import ABSENT, PairCount
from sim_bridge.engine.data.fields import FAILED, STAGE
from sim_bridge.engine.data.joint_laws import INERTIA, share_effort
from sim_bridge.engine.data.loops import CHANGED, HOW
from sim_bridge.engine.data.model import CENTRE, EFFORT, FREE_SINGLE, GROUND, LOWER_EFFORT, PULL
from sim_bridge.engine.data.state import BY_SERVO, NOT_PUSHED, RESTS
from sim_bridge.engine.dynamics.active_set import (
    ALL,
    FIRST,
    guess_active_set,
    is_driven_by_friction,
    RELEASE,
    release_weakest,
    set_right_hand_side,
    settle_locked,
    update_active_set,
    VELOCITY_SLACK,
)
from sim_bridge.engine.dynamics.articulated import coordinates_of
from sim_bridge.engine.dynamics.audit import kinetic_energy_at, work_of_step
from sim_bridge.engine.dynamics.evaluate import (
    accelerate,
    add_response,
    factorize_trees,
    obey_mimic,
    to_origin_acceleration,
)
from sim_bridge.engine.dynamics.fields import push_in_step, stay_awake
from sim_bridge.engine.dynamics.fluid_forces import advance_lags, lag_targets
from sim_bridge.engine.dynamics.free_body import advance_free_body
from sim_bridge.engine.dynamics.integrator import drift, keep_within_stops
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.dynamics.mimic import follow
from sim_bridge.engine.dynamics.pull import push_bodies
from sim_bridge.engine.dynamics.set_joint_laws import set_joint_laws
from sim_bridge.engine.dynamics.target_course import advance_course
from sim_bridge.engine.math.mat3 import load_m, mul_mv
from sim_bridge.engine.math.rotation import load_quat, quat_to_matrix
from sim_bridge.engine.math.spatial import FORCE, ROTATION, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, sub
from sim_bridge.engine.pipeline.phase_calls import (
    add_up_momentum,
    add_user_contacts,
    build_contacts,
    build_loops,
    close_joint_laws,
    close_loops,
    detect_contacts,
    evaluate_actuators,
    keep_actuators,
    keep_contacts,
    keep_loops,
    obey_loops,
    obey_loops_after_contacts,
    open_joint_laws,
    prepare_contacts,
    prepare_loops,
    project_contact_positions,
    rebuild_loops,
    restore_momentum,
    set_actuator_efforts,
    shift_loops,
    solve_contact_rows,
    start_momentum,
    switch_actuators,
    switch_loop_axes,
)

# first result of `step`
DONE = 0
NOT_FINITE = 1
NOT_CONVERGED = 2
NO_ROOM = 3  # more contacts than allocated
INTERRUPTED = 5  # a Python function has raised; 4 belongs to `step_and_sample`
NOT_COMPILED = 6  # the step needs a stage that is not compiled yet
DIVERGED = 7  # values are finite but meaningless: see `gains_from_nothing`, FASTEST

# no further evaluation up to this mid-step velocity change
MIDDLE_SLACK = 1e-13  # m/s or rad/s

# a step that reaches this velocity counts as diverged [m/s, rad/s]
FASTEST = 1e9
# no step diverges up to this velocity change times the time step [m, rad]
_FARTHEST = 1.0
# growth of kinetic energy in a step above which its source is checked; the same if the step
# `leads_away`
_MUCH_ENERGY, _MORE_ENERGY = 4.0, 2.0

_RELEASES = 20  # limit on releases of locked joints after the last pivot
_SEARCHES = 4  # contact searches while bodies gain speed by contacts found in the last search
_PIVOTS_AROUND = 4  # pivots around contacts before joint laws are solved with the contacts


@entry
def step(table: Table, n: int):
    """
    Advance the world in a handle's table by n steps of options.time_step.

    Returns (status, steps completed, most pivots in one step). After NOT_FINITE, DIVERGED,
    NO_ROOM, INTERRUPTED and NOT_COMPILED the state is the one before the failing step; after
    DIVERGED, ws.v_next holds the velocities it would have reached. NOT_CONVERGED: in at least one
    step, some joint's stop, friction or motor was left on a wrong piece of its law, or a loop
    stayed open.
    """
    model, options = world.model(table), world.options(table)
    state, ws = world.state(table), world.workspace(table)
    h = options.time_step
    status, most_pivots = DONE, 0
    if not (is_finite(state.q) and is_finite(state.u)):
        return NOT_FINITE, 0, 0
    for done in range(n):
        limit_efforts(model.limits, state.u)
        if options.momentum != 0:
            start_momentum(options, table)
        is_at_rest = state.contact_size[0] > 0 and rests(options, state.v)
        if is_at_rest:
            ws.q[:] = state.q
        else:
            drift(model, model.kind, state.q, state.v, 0.5 * h, ws.q)
        follow(model, ws.q)
        place(model, ws.q, ws)
        if options.sleeps != 0:
            stay_awake(model, world.fields(table), state.idle)
            wake_written(model, world.geometry(table), state)
            wake_tied(model, world.loops(table).body, state)
            set_kinds(model, state, ws)
        push_bodies(model, state.wrench, ws)
        if push_in_step(model, options, state, ws, table, done) < 0:
            return INTERRUPTED, done, most_pivots
        if options.actuators != 0:
            evaluate_actuators(options, table)
        for _ in range(_SEARCHES):
            touching = find_contacts(options, table)
            if touching < 0:
                end_searches(options, table)
                return failure_of(touching), done, most_pivots
            pivots = solve_step(model, options, state, ws, table, touching)
            change = greatest_difference(state.v, ws.v_next)
            if not is_search_short(model, options, state, ws, table, change):
                break
        end_searches(options, table)
        is_violent = h * change > _FARTHEST
        work = work_of_step(model, state, ws, h) if is_violent and not leads_away(ws, h) else 0.0
        is_open = advance_positions(model, options, state, ws, table, touching, is_at_rest)
        if not (is_finite(ws.v_next) and is_finite(ws.q)):
            return NOT_FINITE, done, most_pivots
        if greatest_magnitude(ws.v_next) > FASTEST or (
            is_violent and gains_from_nothing(model, state, ws, h, work)
        ):
            return DIVERGED, done, most_pivots
        if is_open or pivots > options.max_pivots:
            status = NOT_CONVERGED
        most_pivots = max(most_pivots, pivots)
        commit(model, options, state, ws)
        advance_lags(world.fields(table), state, h)
        if options.actuators != 0:
            keep_actuators(options, table)
        if options.loops != 0:
            keep_loops(options, table)
        if options.contact != 0:
            keep_contacts(options, table)
        elif options.detect != 0:
            forget_contacts_of_awake(model, state)
        elif state.contact_size[0] > 0:
            forget_contacts(state)
        if options.sleeps != 0:
            fall_asleep(table, touching)
    return status, n, most_pivots


@kernel
def solve_step(model, options, state, ws, table, touching):
    """Find the end-of-step velocities with the contacts found; return the pivot count."""
    set_joint_laws(
        model,
        model.q_of_v,
        ws.q,
        state.v,
        state.u,
        state.control,
        state.target,
        state.course,
        options.time_step,
        ws,
    )
    lag_targets(world.fields(table), state, options.time_step, ws)
    if options.loops != 0:
        prepare_loops(options, table)
    if options.actuators != 0:
        set_actuator_efforts(options, table)
    guess_active_set(model, state, ws)
    return choose_velocities(model, options, state, ws, table, touching)


@kernel
def is_search_short(model, options, state, ws, table, change):
    """
    Return whether the new velocities lead beyond the reach of the contact search.

    change: greatest change of a velocity coordinate in the step [m/s, rad/s].
    """
    h, margin = options.time_step, options.contact_margin
    if options.detect == 0 or not may_outrun(change, h, margin):
        return False
    return outruns_reach(
        model,
        world.geometry(table),
        ws,
        state.v,
        ws.ddq,
        h,
        margin,
        world.collision(table),
        world.response(table).twist,
    )


@kernel
def end_searches(options, table):
    """Let the next step's search begin without gains."""
    if options.detect != 0:
        world.collision(table).counts[PairCount.IS_AHEAD] = 0


@kernel
def find_contacts(options, table):
    """
    Find the contacts at mid-step, without contacts removed by listeners.

    Returns their number, -1 without room, FAILED if a Python function has raised (a listener, or a
    friction function), ABSENT if a required stage is not compiled.
    """
    if options.detect == 0:
        return 0
    found = detect_contacts(options, table)
    if options.user_contacts != 0 and found >= 0:
        found = add_user_contacts(options, table)
    if found > 0 and options.contact == 0:
        return ABSENT
    listening = world.listening(table)
    if found >= 0 and listening.call[STAGE] != 0:
        found = call_stage(listening.call[STAGE], table, 0)
    if found > 0 and prepare_contacts(options, table) < 0:
        return FAILED
    return found


@kernel
def failure_of(found):
    """Return the status for a failure code from `find_contacts`."""
    if found == FAILED:
        return INTERRUPTED
    return NOT_COMPILED if found == ABSENT else NO_ROOM


@kernel
def forget_contacts_of_awake(model, state):
    """Clear the state's contacts, as the contact stage does if nothing touches."""
    state.contact_size[0] = 0
    for body in range(state.contact_wrench.shape[0]):
        if state.idle[model.root[body]] >= 0:
            state.pushed[body] = NOT_PUSHED
            state.contact_wrench[body, :] = 0.0


@kernel
def forget_contacts(state):
    """Clear the state's contacts: nothing touched in this step."""
    state.contact_size[0] = 0
    state.contact_wrench[:, :] = 0.0
    state.pushed[:] = NOT_PUSHED


@kernel
def limit_efforts(limits, u_inout):
    """Clamp the commanded efforts to the joints' limits."""
    for joint in range(u_inout.shape[0]):
        least, most = limits[joint, LOWER_EFFORT], limits[joint, EFFORT]
        u_inout[joint] = min(max(u_inout[joint], least), most)


@kernel
def choose_velocities(model, options, state, ws, table, touching):
    """
    Find the end-of-step velocities and joint modes; return the pivot count.

    With many pivots, the tolerance for wrong signs grows; in the second half of the pivots only
    one joint at a time is changed. After the last, joints are only released: a joint locked at a
    stop that it has not reached would be thrown there.

    Around contacts pivots can cycle, and each takes a whole contact problem. After a few pivots
    all tree joints' laws are solved together with the contacts.
    """
    pivots, slack, how = 0, VELOCITY_SLACK, ALL
    while True:
        find_velocities(model, options, state, ws, table, touching)
        settle_locked(ws)
        if pivots > options.max_pivots:
            how = RELEASE
        elif 2 * pivots > options.max_pivots:
            how = FIRST
        changed = update_active_set(model, state, ws, options.time_step, slack, how)
        if options.loops != 0 and (changed == 0 or how != FIRST):
            work = world.loop_work(table)
            work.slack[0], work.pivot[HOW], work.pivot[CHANGED] = slack, how, changed
            changed += switch_loop_axes(options, table)
        if options.actuators != 0 and how == ALL:
            changed += switch_actuators(options, table)
        if changed == 0 and touching > 0:
            changed = release_weakest(state, ws, world.response(table).blocked)
        if changed == 0 or pivots > options.max_pivots + _RELEASES:
            return pivots
        pivots += 1
        if pivots % 10 == 0:
            slack *= 10.0
        if touching > 0 and pivots == _PIVOTS_AROUND:
            is_settled = solve_with_contacts(model, options, state, ws, table, touching)
            return pivots if is_settled else options.max_pivots + 1


@kernel
def find_velocities(model, options, state, ws, table, touching):
    """Compute the velocities at the step's end for the current joint modes."""
    factorize_trees(model, ws, options.time_step, False)
    if options.loops != 0:
        build_loops(options, table)
    if touching > 0:
        build_contacts(options, table)
    advance_velocities(model, options, state, ws, table, touching)


@kernel
def solve_with_contacts(model, options, state, ws, table, touching):
    """
    Solve joint and axis laws together with the contacts.

    Some laws cannot be elements of this problem and pivot: axis motors and friction without
    limits, load-dependent friction, and breaking joints. Writes the velocities at the step's end
    and the modes; returns whether these pivots have ended.
    """
    for _ in range(options.max_pivots):
        open_joint_laws(options, table)
        find_velocities(model, options, state, ws, table, touching)
        changed = 0
        if options.loops != 0:
            work = world.loop_work(table)
            work.slack[0], work.pivot[HOW], work.pivot[CHANGED] = VELOCITY_SLACK, ALL, 0
            changed = switch_loop_axes(options, table)
        close_joint_laws(options, table)
        if options.loops != 0:
            rebuild_loops(options, table)
        if options.actuators != 0:
            changed += switch_actuators(options, table)
        if changed == 0:
            return True
    return False


@kernel
def advance_velocities(model, options, state, ws, table, touching):
    """
    Compute the velocities at the step's end from the current factors and rows.

    The velocity-dependent forces belong to mid-step. The first pass extrapolates to mid-step from
    the last step's acceleration. Each further pass takes the mean of the old and the new velocity.
    """
    h = options.time_step
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = state.v[joint] + 0.5 * h * state.acceleration[joint]
    set_right_hand_side(model, state, ws, h)
    ws.middle_change[0], ws.middle_change[1] = 0.0, 0.0
    passes = options.velocity_passes
    if touching == 0 and options.loops == 0 and is_loose(ws.kind):
        passes = 1
    for turn in range(passes):
        accelerate(model, ws.v, ws.wrench, state.v, 1.0 / h, ws, ws.ddq)
        to_origin_acceleration(ws.kind, model.v_index, ws.v, ws.ddq)
        if options.loops != 0:
            obey_loops(options, table)
        if touching > 0:
            if turn == 0 or h * greatest_difference(ws.ddq, ws.ddq_smooth) > MIDDLE_SLACK:
                for joint in range(ws.v.shape[0]):
                    ws.ddq_smooth[joint] = ws.ddq[joint]
                    ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
                solve_contact_rows(options, table)
            add_response(world.response(table), ws)
            if options.loops != 0:
                obey_loops_after_contacts(options, table)
            else:
                obey_mimic(model, state.v, 1.0 / h, ws, ws.ddq)
        for joint in range(ws.v.shape[0]):
            ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
        change = 0.0
        for joint in range(ws.v.shape[0]):
            middle = 0.5 * (state.v[joint] + ws.v_next[joint])
            change = max(change, abs(middle - ws.v[joint]))
            ws.v[joint] = middle
        ws.middle_change[min(turn, 1)] = change
        if change < MIDDLE_SLACK:
            break


@kernel
def is_loose(kind):
    """Return whether all mobile bodies are single free bodies, see `advance_free_body`."""
    for body in range(kind.shape[0]):
        if kind[body] != FREE_SINGLE and kind[body] != GROUND:
            return False
    return True


@kernel
def greatest_difference(a, b):
    """Return the greatest difference between two vectors' entries."""
    greatest = 0.0
    for at in range(a.shape[0]):
        greatest = max(greatest, abs(a[at] - b[at]))
    return greatest


@kernel
def greatest_magnitude(vector):
    """Return the greatest magnitude in a vector."""
    greatest = 0.0
    for at in range(vector.shape[0]):
        greatest = max(greatest, abs(vector[at]))
    return greatest


@kernel
def advance_positions(model, options, state, ws, table, touching, is_at_rest):
    """
    Drift from mid-step with the new velocities, into ws.q and ws.v_next.

    is_at_rest: the step began at rest. Returns whether a loop stays open.
    """
    h, is_open = options.time_step, False
    if options.momentum != 0:
        add_up_momentum(options, table)
    if touching > 0 and project_contact_positions(options, table) > 0:
        if options.loops != 0:
            shift_loops(options, table)
        drift(model, model.kind, ws.q, world.response(table).v_drift, 0.5 * h, ws.q)
    elif not (is_at_rest and rests(options, ws.v_next)):
        drift(model, model.kind, ws.q, ws.v_next, 0.5 * h, ws.q)
    keep_within_stops(model, state.q, ws.q)
    follow(model, ws.q)
    if options.loops != 0:
        is_open = close_loops(options, table) > 0
    if options.momentum != 0:
        restore_momentum(options, table)
    pushed, tied = world.response(table).pushed, world.loop_work(table).tied
    for body in range(model.kind.shape[0]):
        is_free = (touching == 0 or pushed[body] == 0) and tied[body] == 0
        if ws.kind[body] == FREE_SINGLE and is_free:
            at = model.v_index[body]
            force = add(load_v(state.u, at), load3(ws.wrench, body, FORCE))
            torque = add(load_v(state.u, at + 3), load3(ws.wrench, body, TORQUE))
            has_pushes = world.fields(table).call[STAGE] != 0 or options.actuators != 0
            if has_pushes or model.gravity[PULL] != 0.0:
                torque = sub(torque, torque_of_turn(model, state, ws, body))
            advance_free_body(model, state, ws, body, torque, force, h)
    return is_open


@kernel
def torque_of_turn(model, state, ws, body):
    """
    Return the torque by which fields at mid-step exceed those at the start, about the origin.

    The mass centre's arm has turned meanwhile; `advance_free_body` uses the arm at the start,
    right for the given wrenches.
    """
    c_B = load_v(model.inertia[body], CENTRE)
    given = load3(state.wrench, body, FORCE)
    start = mul_mv(quat_to_matrix(load_quat(state.q, model.q_index[body] + 3)), c_B)
    middle = mul_mv(load_m(ws.pose, body, ROTATION), c_B)
    return cross(sub(middle, start), sub(load3(ws.wrench, body, FORCE), given))


@kernel
def rests(options, v):
    """
    Return whether velocities are only rounding, ignored by positions.

    Bodies resting on contacts then keep their positions bit by bit, so contacts and rows can be
    reused.
    """
    for at in range(v.shape[0]):
        if not abs(v[at]) <= RESTS:
            return False
    return options.momentum == 0


@kernel
def is_finite(values):
    """Return whether all values are finite."""
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k]
    return math.isfinite(total)


@kernel
def leads_away(ws, h):
    """
    Return whether velocity-dependent forces make the evaluations diverge.

    Each evaluation has changed the mid-step velocities more than the one before, and by large
    angles. The step's work is then meaningless.
    """
    first, last = ws.middle_change[0], ws.middle_change[1]
    return last > first and h * last > _FARTHEST


@kernel
def gains_from_nothing(model, state, ws, h, work):
    """
    Return whether much kinetic energy at the step's end has no source.

    ws.pose stays unchanged. work: work of the step's forces [J], 0 if it is meaningless.
    """
    ws.pose_before[:, :] = ws.pose
    start = kinetic_energy_at(model, state.q, state.v, ws)
    end = kinetic_energy_at(model, ws.q, ws.v_next, ws)
    ws.pose[:, :] = ws.pose_before
    if leads_away(ws, h):
        return end > _MORE_ENERGY * start
    return end > _MUCH_ENERGY * (start + max(work, 0.0))


@kernel
def commit(model, options, state, ws):
    """Store the new velocities, positions and joint modes in the state."""
    for joint in range(state.v.shape[0]):
        if state.control[joint] == BY_SERVO:
            advance_course(state.target[joint], state.course[joint])
        if options.sleeps != 0 and ws.still[joint] != 0:
            continue
        mode = ws.mode[joint]
        if is_driven_by_friction(mode, ws.v_next[joint]):
            ws.v_next[joint] = 0.0
        friction, motor, stop = share_effort(
            ws.law[joint], mode, state.v[joint], ws.v_next[joint], ws.constraint[joint]
        )
        state.friction[joint], state.motor[joint] = friction, motor
        state.force[joint] = friction + stop
        state.acceleration[joint] = (ws.v_next[joint] - state.v[joint]) / options.time_step
        state.v[joint] = ws.v_next[joint]
        state.v_left[joint] = ws.v_next[joint]
        state.inertia[joint] = ws.law[joint, INERTIA]
        state.mode[joint] = mode
    if options.sleeps != 0:
        keep_positions(model.kind, model.q_index, ws.kind, state.q, ws.q)
    for at in range(state.q.shape[0]):
        state.q[at] = ws.q[at]


@kernel
def keep_positions(kind, q_index, present_kind, q, q_out):
    """Keep the sleepers' positions unchanged, to the last bit."""
    for body in range(kind.shape[0]):
        if present_kind[body] != kind[body]:
            for at in range(q_index[body], q_index[body] + coordinates_of(kind[body])[0]):
                q_out[at] = q[at]
