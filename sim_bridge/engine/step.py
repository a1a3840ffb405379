"""One step of simulated time."""

from __future__ import annotations

import math

from sim_bridge.engine.articulated import factorize, solve
from sim_bridge.engine.free_body import advance_free_body
from sim_bridge.engine.handle import open_model, open_options, open_state, open_workspace
from sim_bridge.engine.integrator import drift, keep_within_stops
from sim_bridge.engine.jit import kernel
from sim_bridge.engine.kinematics import move_bodies, place_bodies
from sim_bridge.engine.mimic import apply_rows, compute_responses, follow
from sim_bridge.engine.model import EFFORT, FREE, FREE_SINGLE, FRICTION
from sim_bridge.engine.modes import (
    set_right_hand_side,
    settle_locked,
    start_modes,
    update_modes,
    VELOCITY_SLACK,
)
from sim_bridge.engine.state import SLIDING_BACK, SLIDING_FORTH
from sim_bridge.engine.vec3 import add, load3, load_v

# what `step` returns first
DONE = 0
NOT_FINITE = 1
NOT_CONVERGED = 2


@kernel
def step(table, n):
    """
    Advance the world behind a handle's table by n steps of options.time_step.

    Returns (status, steps completed, most pivots in one step). With NOT_FINITE the state is that
    before the failing step; with NOT_CONVERGED some joint's stop or friction was left with a wrong
    sign in at least one step.
    """
    model, options = open_model(table), open_options(table)
    state, ws = open_state(table), open_workspace(table)
    h = options.time_step
    status, most_pivots = DONE, 0
    for done in range(n):
        limit_efforts(model.limits, state.u)
        drift(model.kind, model.q_index, model.v_index, state.q, state.v, 0.5 * h, ws.q)
        follow(model.mimic, model.mimic_law, model.q_of_v, ws.q)
        place_bodies(model.parent, model.root, model.kind, model.q_index, model.frame,
                     model.inertia,
                     ws.q,
                     ws.pose, ws.axis, ws.rigid)
        start_modes(model.q_of_v, model.passive, model.limits,
                    ws.q, state.v, state.hold, state.mode,
                    h, ws.mode)
        pivots = choose_velocities(model, options, state, ws)
        advance_positions(model, options, state, ws)
        if not is_finite(ws.v_next):
            return NOT_FINITE, done, most_pivots
        if pivots > options.max_pivots:
            status = NOT_CONVERGED
        most_pivots = max(most_pivots, pivots)
        commit(model.passive, state, ws, h)
    return status, n, most_pivots


@kernel
def limit_efforts(limits, u_inout):
    """Clamp the commanded efforts to the joints' limits."""
    for joint in range(u_inout.shape[0]):
        u_inout[joint] = min(max(u_inout[joint], -limits[joint, EFFORT]), limits[joint, EFFORT])


@kernel
def choose_velocities(model, options, state, ws):
    """
    Find the velocities and joint modes at the end of the step; give the pivots it took.

    Should the pivots go on, more and more of a wrong sign is put up with; in their second half
    only one joint at a time is changed.
    """
    pivots, slack = 0, VELOCITY_SLACK
    while True:
        factorize(model.parent, model.kind, model.v_index, model.passive,
                  ws.mode, ws.axis, ws.rigid, options.time_step,
                  ws.articulated, ws.hinge)
        if model.mimic.shape[0] > 0:
            compute_responses(model.parent, model.kind, model.v_index,
                              model.mimic, model.mimic_law,
                              ws.articulated, ws.hinge, ws.axis, ws.mode,
                              ws.rhs, ws.force, ws.acceleration,
                              ws.response, ws.delassus)
        advance_velocities(model, options, state, ws)
        settle_locked(model.q_of_v, model.passive, model.limits,
                      ws.q, state.v, state.u, ws.mode,
                      options.time_step, ws.v_next, ws.constraint)
        changed = update_modes(model.kind, model.q_index, model.v_index,
                               model.passive, model.limits,
                               ws.q, ws.hinge, ws.v_next, ws.constraint,
                               options.time_step, slack, 2 * pivots > options.max_pivots, ws.mode)
        if changed == 0 or pivots > options.max_pivots:
            return pivots
        pivots += 1
        if pivots % 10 == 0:
            slack *= 10.0


@kernel
def advance_velocities(model, options, state, ws):
    """
    Compute the velocities at the end of the step for the present joint modes.

    The velocity-dependent forces belong to the middle of the step: the first pass extrapolates
    there from the last step's acceleration, each further pass takes the mean of the old velocity
    and the one just found.
    """
    h = options.time_step
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = state.v[joint] + 0.5 * h * state.acceleration[joint]
    set_right_hand_side(model.q_of_v, model.passive, model.limits,
                        ws.q, state.v, state.u, ws.mode,
                        h, ws.rhs)
    for _ in range(options.velocity_passes):
        move_bodies(model.parent, model.root, model.kind, model.v_index, model.gravity,
                    ws.v, state.wrench, ws.pose, ws.axis, ws.rigid,
                    ws.velocity, ws.drift, ws.force)
        solve(model.parent, model.kind, model.v_index,
              ws.articulated, ws.hinge, ws.axis, ws.rhs,
              ws.force, ws.acceleration, ws.ddq, ws.constraint)
        if model.mimic.shape[0] > 0:
            apply_rows(model.mimic, model.mimic_law,
                       state.v, ws.response, 1.0 / h,
                       ws.delassus, ws.ddq, ws.constraint)
        to_origin_acceleration(model.kind, model.v_index, ws.v, ws.ddq)
        for joint in range(ws.v.shape[0]):
            ws.v_next[joint] = state.v[joint] + h * ws.ddq[joint]
            ws.v[joint] = 0.5 * (state.v[joint] + ws.v_next[joint])


@kernel
def to_origin_acceleration(kind, v_index, v, ddq_inout):
    """Turn a free joint's spatial acceleration into that of its body's origin: add w x v."""
    for body in range(kind.shape[0]):
        if kind[body] >= FREE:
            at = v_index[body]
            w0, w1, w2 = v[at + 3], v[at + 4], v[at + 5]
            ddq_inout[at] += w1 * v[at + 2] - w2 * v[at + 1]
            ddq_inout[at + 1] += w2 * v[at] - w0 * v[at + 2]
            ddq_inout[at + 2] += w0 * v[at + 1] - w1 * v[at]


@kernel
def advance_positions(model, options, state, ws):
    """Drift on from the middle of the step with the new velocities, into ws.q and ws.v_next."""
    h = options.time_step
    drift(model.kind, model.q_index, model.v_index, ws.q, ws.v_next, 0.5 * h, ws.q)
    keep_within_stops(model.q_of_v, model.limits, state.q, options.stop_erp, ws.q)
    follow(model.mimic, model.mimic_law, model.q_of_v, ws.q)
    for body in range(model.kind.shape[0]):
        if model.kind[body] == FREE_SINGLE:
            at = model.v_index[body]
            force = add(load_v(state.u, at), load3(state.wrench, body, 3))
            torque = add(load_v(state.u, at + 3), load3(state.wrench, body, 0))
            advance_free_body(model.inertia, body, model.gravity, model.q_index[body], at,
                              state.q, state.v, torque, force,
                              h, ws.q, ws.v_next)


@kernel
def is_finite(values):
    """Tell whether no value is infinite or not a number."""
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k]
    return math.isfinite(total)


@kernel
def commit(passive, state, ws, h):
    """Make the new velocities, positions and joint modes the state."""
    for joint in range(state.v.shape[0]):
        mode = ws.mode[joint]
        state.force[joint] = ws.constraint[joint]
        if mode == SLIDING_FORTH or mode == SLIDING_BACK:
            state.force[joint] = -mode * passive[joint, FRICTION]
            if mode * ws.v_next[joint] < 0.0:
                # by rounding alone, or `update_modes` would have had it stick
                ws.v_next[joint] = 0.0
        state.acceleration[joint] = (ws.v_next[joint] - state.v[joint]) / h
        state.v[joint] = ws.v_next[joint]
        state.v_left[joint] = ws.v_next[joint]
        state.mode[joint] = mode
    for at in range(state.q.shape[0]):
        state.q[at] = ws.q[at]
