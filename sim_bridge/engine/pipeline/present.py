"""
The laws of stops, friction and motors at one instant: for accelerations instead of velocities.

A joint at rest at its upper stop has an acceleration a <= 0 or pushes against the stop, one at
rest with friction starts to slide or stays, and one at the target velocity of a hard motor keeps
it or is too heavy: the same complementarity problem as in `modes`, solved by the same locking of
joints. All else is known: the friction and the hard motor of a joint at another velocity, servos,
elastic stops. Where an element has changed a joint's velocity in the last step, and nobody has
written it since, its mean effort over that step stands for the impact.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.laws import (
    clear_law,
    COULOMB,
    HARD,
    HIGH,
    LEAST,
    loose_effort,
    LOW,
    MOST,
    MOTOR,
    motor_range,
    next_mode,
    NO_MOTOR,
    SERVO_EFFORT,
    side,
    side_of,
    TARGET,
)
from sim_bridge.engine.data.model import (
    CFM,
    EFFORT,
    FRICTION,
    LOWER,
    MAX_EFFORT,
    PRISMATIC,
    REVOLUTE,
    UPPER,
)
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_TARGET,
    AT_UPPER,
    BY_EFFORT,
    BY_SERVO,
    FRICTION_SIDE,
    HELD,
    LOCKED,
    LOOSE,
    STUCK,
)
from sim_bridge.engine.dynamics.elements import elastic_effort, explicit_effort, set_motor

_ACCELERATION_SLACK = 1e-8  # rad/s² or m/s²
_INFINITY = float('inf')


@kernel
def set_present_laws(
    model,  # model
    state, q, v, u, h,  # state (read)
    given_out, law_out, mode_out,
):
    """
    Write the laws of the joints' accelerations and guess the modes.

    given_out: the efforts that are known, of the command as a step would clamp it and so on.
    """
    for joint in range(model.q_of_v.shape[0]):
        at, law = model.q_of_v[joint], law_out[joint]
        clear_law(law)
        mode_out[joint] = LOOSE
        if at < 0:
            given_out[joint] = explicit_effort(model.passive, joint, u[joint], 0.0, v[joint])
            if state.hold[joint] != 0 and is_in_impact(state, joint, v[joint], -1.0, -1.0):
                given_out[joint] += state.force[joint]
            elif state.hold[joint] != 0 and v[joint] == 0.0:
                mode_out[joint] = HELD
            continue
        limits, stop = model.limits[joint], model.stop[joint]
        command = min(max(u[joint], -limits[EFFORT]), limits[EFFORT])
        above, below = q[at] - limits[UPPER], limits[LOWER] - q[at]
        given_out[joint] = explicit_effort(model.passive, joint, command, q[at], v[joint])
        if stop[CFM] > 0.0:
            given_out[joint] += elastic_effort(stop, above, below, v[joint], h)
            above = below = -1.0
        if is_in_impact(state, joint, v[joint], above, below):
            given_out[joint] += state.force[joint] + state.motor[joint]
            continue
        if state.control[joint] != BY_EFFORT and model.motor[joint, MAX_EFFORT] > 0.0:
            set_motor(limits, model.motor[joint], q[at], v[joint], command,
                      state.control[joint], state.target[joint], h, law)
            given_out[joint] += known_motor_effort(state, joint, v[joint], law)
        if v[joint] == 0.0:
            law[COULOMB] = model.passive[joint, FRICTION]
            law[HIGH] = 0.0 if above >= 0.0 else _INFINITY
            law[LOW] = 0.0 if below >= 0.0 else -_INFINITY
        else:
            given_out[joint] -= side(v[joint], 0) * model.passive[joint, FRICTION]
        mode_out[joint] = guess_present_mode(law, state.hold[joint], v[joint])


@kernel
def is_in_impact(state, joint, v, above, below):
    """Return whether what locked a joint changed its velocity in the last step."""
    last, control = state.mode[joint], state.control[joint]
    holds = (last == STUCK or last == HELD and state.hold[joint] != 0
             or last == AT_UPPER and above >= 0.0 or last == AT_LOWER and below >= 0.0
             or last == AT_TARGET and control != BY_EFFORT and control != BY_SERVO
             or last < LOCKED and side_of(last, FRICTION_SIDE) != 0 and v == 0.0)
    return holds and v == state.v_left[joint] and state.acceleration[joint] != 0.0


@kernel
def known_motor_effort(state, joint, v, law_inout):
    """Return a motor's effort, and take it from the law, unless it keeps its target velocity."""
    kept = state.mode[joint] == AT_TARGET and v == state.v_left[joint]
    if law_inout[MOTOR] == HARD and (
            kept or v == law_inout[TARGET] or law_inout[MOST] == _INFINITY):
        law_inout[TARGET] = 0.0
        return 0.0
    effort = motor_range(law_inout, v, v)[0]
    law_inout[MOTOR] = NO_MOTOR
    law_inout[MOST] = law_inout[LEAST] = law_inout[SERVO_EFFORT] = 0.0
    return effort


@kernel
def guess_present_mode(law, hold, v):
    """Guess on which piece of its law a joint's acceleration is."""
    if law[MOTOR] == HARD and law[MOST] == _INFINITY:
        return AT_TARGET
    if v == 0.0 and hold != 0:
        return HELD
    if law[HIGH] == 0.0:
        return AT_UPPER
    if law[LOW] == 0.0:
        return AT_LOWER
    if law[COULOMB] > 0.0:
        return STUCK
    return AT_TARGET if law[MOTOR] == HARD else LOOSE


@kernel
def set_present_efforts(
    given, law, mode,  # state (read)
    rhs_out,
):
    """Write each joint's effort now; no acceleration where it is locked."""
    for joint in range(mode.shape[0]):
        rhs_out[joint] = 0.0
        if mode[joint] < LOCKED:
            rhs_out[joint] = given[joint] + loose_effort(law[joint], mode[joint])


@kernel
def update_present_modes(
    kind, v_index,  # model
    hinge, given, law, ddq, constraint,  # state (read)
    only_first, mode_inout,
):
    """Change the modes that are wrong; give how many were changed."""
    changed = 0
    for body in range(kind.shape[0]):
        if kind[body] != REVOLUTE and kind[body] != PRISMATIC:
            continue
        joint = v_index[body]
        mode = next_mode(law[joint], mode_inout[joint], 0.0, ddq[joint],
                         constraint[joint] - given[joint],
                         _ACCELERATION_SLACK, hinge[body, 6] * _ACCELERATION_SLACK)
        if mode != mode_inout[joint]:
            mode_inout[joint] = mode
            changed += 1
            if only_first:
                break
    return changed
