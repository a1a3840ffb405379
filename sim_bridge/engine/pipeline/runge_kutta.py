"""
Fifth-order steps for smooth motion.

The explicit method of Dormand and Prince (1980), without its error estimate: six evaluations of
the forward dynamics per step. It does not handle stops, friction or holds. If one of them becomes
active, or a motor, a loop, or too stiff drag, the step is not taken, and the caller uses `step`
instead.
"""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.contact.sleep import set_kinds
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.fields import AT_INSTANT, START
from sim_bridge.engine.data.model import BALL, BALL_STAGE, FREE, LOWER, UPPER, WELD
from sim_bridge.engine.data.state import LOOSE
from sim_bridge.engine.dynamics.evaluate import accelerate, factorize_trees, to_origin_acceleration
from sim_bridge.engine.dynamics.fields import push_at
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.dynamics.mimic import follow
from sim_bridge.engine.dynamics.pull import push_bodies
from sim_bridge.engine.dynamics.set_joint_laws import explicit_effort, position_of
from sim_bridge.engine.math.rotation import quat_mul, quat_normalize
from sim_bridge.engine.pipeline.phase_calls import detect_contacts
from sim_bridge.engine.pipeline.smooth import may_be_smooth
from sim_bridge.engine.pipeline.step import (
    FASTEST,
    forget_contacts,
    greatest_magnitude,
    is_finite,
    limit_efforts,
)

STAGES = 6

TABLEAU = (
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0),
    (3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0),
    (44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Weights of the earlier slopes in each stage, and in the step itself, (7, 6)."""


@entry
def step_smoothly(table: Table, tableau: FloatMatrix, n: int):
    """
    Advance the world in a handle's table by up to n steps, while its motion is smooth.

    Returns the completed steps; the state is the one after them.
    """
    model, options = world.model(table), world.options(table)
    state, ws = world.state(table), world.workspace(table)
    h = options.time_step
    if not may_be_smooth(model, options, state):
        return 0
    if options.sleeps != 0:
        # trees asleep until now may have woken
        set_kinds(model, state, ws)
    for joint in range(ws.mode.shape[0]):
        ws.mode[joint] = LOOSE
    limit_efforts(model.limits, state.u)
    for done in range(n):
        if options.detect != 0:
            place(model, state.q, ws)
            has_user_contacts = (
                options.user_contacts != 0 and world.user_contacts(table).size[COUNT] > 0
            )
            if has_user_contacts or detect_contacts(options, table) != 0:
                return done
        for stage in range(STAGES):
            combine(state.q, ws.q_slopes, tableau, stage, h, ws.q)
            combine(state.v, ws.v_slopes, tableau, stage, h, ws.v)
            if not is_within_stops(model.q_of_v, model.limits, ws.q):
                return done
            normalize_quaternions(model.kind, model.q_index, ws.q)
            time = world.fields(table).time[START] + (float(done) + step_share(tableau, stage)) * h
            find_slopes(model, state, ws, table, time, ws.q_slopes[stage], ws.v_slopes[stage])
        combine(state.q, ws.q_slopes, tableau, STAGES, h, ws.q)
        combine(state.v, ws.v_slopes, tableau, STAGES, h, ws.v)
        if not is_within_stops(model.q_of_v, model.limits, ws.q) or not is_finite(ws.v):
            return done
        if greatest_magnitude(ws.v) > FASTEST:
            return done
        normalize_quaternions(model.kind, model.q_index, ws.q)
        follow(model, ws.q)
        for at in range(state.q.shape[0]):
            state.q[at] = ws.q[at]
        for joint in range(state.v.shape[0]):
            state.acceleration[joint] = (ws.v[joint] - state.v[joint]) / h
            state.v[joint] = ws.v[joint]
            state.v_left[joint] = ws.v[joint]
            state.mode[joint] = LOOSE
            state.force[joint] = state.friction[joint] = state.motor[joint] = 0.0
        forget_contacts(state)
    return n


@kernel
def combine(start, slopes, tableau, stage, h, value_out):
    """Write start + h times the weighted sum of the earlier slopes."""
    for k in range(start.shape[0]):
        total = 0.0
        for earlier in range(min(stage, STAGES)):
            total += tableau[stage, earlier] * slopes[earlier, k]
        value_out[k] = start[k] + h * total


@kernel
def step_share(tableau, stage):
    """Return a stage's time, as a share of the step."""
    total = 0.0
    for earlier in range(stage):
        total += tableau[stage, earlier]
    return total


@kernel
def is_within_stops(q_of_v, limits, q):
    """Return whether all joints are strictly within their stops."""
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        if at >= 0 and not limits[joint, LOWER] < q[at] < limits[joint, UPPER]:
            return False
    return True


@kernel
def normalize_quaternions(kind, q_index, q_inout):
    """Normalize the quaternions of ball and free joints."""
    for body in range(kind.shape[0]):
        if kind[body] >= BALL:
            at = q_index[body] if kind[body] == BALL else q_index[body] + 3
            q_inout[at], q_inout[at + 1], q_inout[at + 2], q_inout[at + 3] = quat_normalize(
                (q_inout[at], q_inout[at + 1], q_inout[at + 2], q_inout[at + 3])
            )


@kernel
def find_slopes(model, state, ws, table, time, q_slope_out, v_slope_out):
    """Evaluate the rates of change at ws.q, ws.v and a time, under the state's efforts."""
    place(model, ws.q, ws)
    factorize_trees(model, ws, 0.0, False)
    for joint in range(ws.rhs.shape[0]):
        x = position_of(model.q_of_v, ws.q, joint)
        ws.rhs[joint] = explicit_effort(model.passive, joint, state.u[joint], x, ws.v[joint])
    push_bodies(model, state.wrench, ws)
    push_at(table, time, AT_INSTANT)
    accelerate(model, ws.v, ws.wrench, ws.v, 0.0, ws, v_slope_out)
    to_origin_acceleration(model.kind, model.v_index, ws.v, v_slope_out)

    for body in range(model.kind.shape[0]):
        at, at_v = model.q_index[body], model.v_index[body]
        if model.kind[body] <= WELD or model.kind[body] == BALL_STAGE:
            continue
        if model.kind[body] == BALL:
            _find_turn(ws.q, ws.v, at, at_v - 2, q_slope_out)
            continue
        q_slope_out[at] = ws.v[at_v]
        if model.kind[body] >= FREE:
            q_slope_out[at + 1], q_slope_out[at + 2] = ws.v[at_v + 1], ws.v[at_v + 2]
            _find_turn(ws.q, ws.v, at + 3, at_v + 3, q_slope_out)


@kernel
def _find_turn(q, v, at, at_v, q_slope_out):
    """Compute the rate of change of a quaternion: dq/dt = (w, 0) q / 2."""
    rate = (0.5 * v[at_v], 0.5 * v[at_v + 1], 0.5 * v[at_v + 2], 0.0)
    slope = quat_mul(rate, (q[at], q[at + 1], q[at + 2], q[at + 3]))
    q_slope_out[at], q_slope_out[at + 1], q_slope_out[at + 2], q_slope_out[at + 3] = slope
