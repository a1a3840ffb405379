"""
Laws of stops, friction and motors at one instant: for accelerations instead of velocities.

A joint at rest at its upper stop has an acceleration a <= 0 or pushes against the stop. A joint at
rest with friction starts to slide or stays. A joint at a hard motor's target velocity keeps it or
is too heavy. This is the same complementarity problem as in `active_set`, solved by the same
locking of joints. All other efforts are known: friction and hard motors at another velocity,
servos, elastic stops. Servos and elastic stops too stiff for the step also depend on the
acceleration, like dampers, see `articulated.implicit_inertia`. If an element changed a joint's
velocity in the last step, and the velocity was not written since, its mean effort over the step
represents the impact. A hard motor that changed the velocity keeps the joint at the step's mean
acceleration.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.joint_laws import (
    clear_law,
    HARD,
    HIGH,
    INERTIA,
    LEAST,
    locked_velocity,
    loose_effort,
    LOW,
    MOST,
    MOTOR,
    motor_range,
    next_mode,
    NO_MOTOR,
    rubs,
    side_of,
    STOP,
    STOP_SLOPE,
    TARGET,
)
from sim_bridge.engine.data.model import (
    BACK_FRICTION,
    CFM,
    EFFORT,
    FRICTION,
    LOWER,
    LOWER_EFFORT,
    PRISMATIC,
    REVOLUTE,
    UPPER,
)
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_TARGET,
    AT_UPPER,
    BY_EFFORT,
    FRICTION_SIDE,
    HELD,
    LOCKED,
    LOOSE,
    STOP_SIDE,
    STUCK,
)
from sim_bridge.engine.dynamics.set_joint_laws import (
    can_act,
    explicit_effort,
    lagging_slope,
    set_elastic_stop,
    set_friction,
    set_motor,
)
from sim_bridge.engine.dynamics.target_course import aim_of_instant

_ACCELERATION_SLACK = 1e-8  # rad/s² or m/s²
_INFINITY = float('inf')


@kernel
def set_current_laws(model, state, ws, h):
    """
    Set the laws for joint accelerations and guess the modes.

    ws.given becomes the known efforts, with the command clamped as in a step.
    """
    for joint in range(model.q_of_v.shape[0]):
        at, law = model.q_of_v[joint], ws.law[joint]
        clear_law(law)
        ws.mode[joint] = LOOSE
        if at < 0:
            ws.given[joint] = explicit_effort(model.passive, joint, ws.u[joint], 0.0, ws.v[joint])
            if state.hold[joint] != 0 and is_in_impact(state, joint, ws.v[joint], -1.0, -1.0):
                ws.given[joint] += state.force[joint]
            elif state.hold[joint] != 0 and ws.v[joint] == 0.0:
                ws.mode[joint] = HELD
            continue
        law[INERTIA] = state.inertia[joint]
        limits, stop = model.limits[joint], model.stop[joint]
        command = min(max(ws.u[joint], limits[LOWER_EFFORT]), limits[EFFORT])
        above, below = ws.q[at] - limits[UPPER], limits[LOWER] - ws.q[at]
        ws.given[joint] = explicit_effort(model.passive, joint, command, ws.q[at], ws.v[joint])
        if stop[CFM] > 0.0:
            set_elastic_stop(stop, above, below, ws.v[joint], h, law)
            law[STOP_SLOPE] = lagging_slope(stop, h)
            above = below = -1.0
        if is_in_impact(state, joint, ws.v[joint], above, below):
            ws.given[joint] += state.force[joint] + state.motor[joint]
            continue
        if state.control[joint] != BY_EFFORT and can_act(model.motor[joint]):
            set_motor(
                limits,
                model.motor[joint],
                ws.q[at],
                ws.v[joint],
                command,
                state.control[joint],
                state.target[joint],
                aim_of_instant(state.target[joint], state.course[joint]),
                h * last_mean_velocity(state, joint, ws.v[joint], h),
                h,
                law,
            )
            if law[MOTOR] == HARD:
                ws.given[joint] += known_motor_effort(state, joint, ws.v[joint], law)
        if ws.v[joint] == 0.0:
            set_friction(model.passive, joint, law)
            law[HIGH] = 0.0 if above >= 0.0 else _INFINITY
            law[LOW] = 0.0 if below >= 0.0 else -_INFINITY
        else:
            forwards = ws.v[joint] > 0.0
            ws.given[joint] += (
                -model.passive[joint, FRICTION]
                if forwards
                else model.passive[joint, BACK_FRICTION]
            )
        ws.mode[joint] = guess_current_mode(law, state.hold[joint], ws.v[joint])


@kernel
def is_in_impact(state, joint, v, above, below):
    """Return whether the element that locked a joint changed its velocity in the last step."""
    last = state.mode[joint]
    holds = (
        last == STUCK
        or last == HELD
        and state.hold[joint] != 0
        or last == AT_UPPER
        and above >= 0.0
        or last == AT_LOWER
        and below >= 0.0
        or last < LOCKED
        and side_of(last, FRICTION_SIDE) != 0
        and v == 0.0
    )
    return holds and v == state.v_left[joint] and state.acceleration[joint] != 0.0


@kernel
def known_motor_effort(state, joint, v, law_inout):
    """
    Return a hard motor's effort if the velocity determines it, and remove the motor's law.

    At its target velocity the motor stays, with effort 0: it then demands zero acceleration. A
    motor that brought the joint to this velocity in the last step demands the step's acceleration.
    """
    kept = state.mode[joint] == AT_TARGET and v == state.v_left[joint]
    effort = motor_range(law_inout, v, v)[0]
    if kept or v == law_inout[TARGET] or not math.isfinite(effort):
        law_inout[TARGET] = state.acceleration[joint] if kept else 0.0
        return 0.0
    law_inout[MOTOR] = NO_MOTOR
    law_inout[MOST] = law_inout[LEAST] = 0.0
    return effort


@kernel
def last_mean_velocity(state, joint, v, h):
    """Return the mean velocity in the last step, or the current one if it was written since."""
    return v - 0.5 * h * state.acceleration[joint] if v == state.v_left[joint] else v


@kernel
def guess_current_mode(law, hold, v):
    """Guess a joint's law piece at its acceleration."""
    if law[MOTOR] == HARD and (law[MOST] == _INFINITY or law[LEAST] == -_INFINITY):
        return AT_TARGET
    if v == 0.0 and hold != 0:
        return HELD
    if law[HIGH] == 0.0:
        return AT_UPPER
    if law[LOW] == 0.0:
        return AT_LOWER
    if rubs(law):
        return STUCK
    return AT_TARGET if law[MOTOR] == HARD else LOOSE + STOP_SIDE * int(law[STOP])


@kernel
def set_current_efforts(ws):
    """Set each joint's current effort, or its acceleration if it is locked."""
    for joint in range(ws.mode.shape[0]):
        law, mode = ws.law[joint], ws.mode[joint]
        if mode >= LOCKED:
            ws.rhs[joint] = locked_velocity(law, mode)
        else:
            ws.rhs[joint] = ws.given[joint] + loose_effort(law, mode)


@kernel
def update_current_active_set(model, ws, only_first):
    """Change the wrong modes; return the number changed."""
    changed = 0
    for body in range(model.kind.shape[0]):
        if model.kind[body] != REVOLUTE and model.kind[body] != PRISMATIC:
            continue
        joint = model.v_index[body]
        mode = next_mode(
            ws.law[joint],
            ws.mode[joint],
            0.0,
            ws.ddq[joint],
            ws.constraint[joint] - ws.given[joint],
            _ACCELERATION_SLACK,
            ws.joint_factor[body, 6] * _ACCELERATION_SLACK,
        )
        if mode != ws.mode[joint]:
            ws.mode[joint] = mode
            changed += 1
            if only_first:
                break
    return changed
