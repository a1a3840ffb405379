"""
Stops, Coulomb friction and holds of single joints, solved exactly.

They lock joints inside the elimination. At the end of a step each joint's velocity v⁺ and the
effort λ of its stop and friction satisfy

    lo <= v⁺ <= hi,
    λ = -friction sign(v⁺) where lo < v⁺ < hi and v⁺ ≠ 0,
    |λ| <= friction where v⁺ = 0,
    λ additionally <= 0 where v⁺ = hi and >= 0 where v⁺ = lo,

a mixed linear complementarity problem with the tree's inverse inertia as its matrix. A joint is
either loose or locked at a velocity (lo, 0 or hi); given that choice one linear-time elimination
yields every v⁺ and λ, and the choice is changed where a sign is wrong: all wrong joints at once
(block pivoting, Júdice and Pires 1994), then, should that cycle, only the first wrong one (Murty
1974), which ends because the matrix is positive definite. A choice that was right in one step
mostly is in the next, which then costs no more than a step without stops.
"""

from __future__ import annotations

from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import (
    DAMPING,
    FRICTION,
    LOWER,
    PRISMATIC,
    REFERENCE,
    REVOLUTE,
    STIFFNESS,
    UPPER,
    VELOCITY,
)
from sim_bridge.engine.state import (
    AT_LOWER,
    AT_UPPER,
    HELD,
    LOOSE,
    SLIDING_BACK,
    SLIDING_FORTH,
    STUCK,
)

VELOCITY_SLACK = 1e-11  # rad/s or m/s

# which wrong modes `update_modes` changes
ALL, FIRST, RELEASE = range(3)


@kernel
def highest_velocity(limits, joint, q, h):
    """Give the velocity that just reaches the upper stop; q after half a step's drift."""
    return min(max(limits[joint, UPPER] - q, 0.0) * (2.0 / h), limits[joint, VELOCITY])


@kernel
def lowest_velocity(limits, joint, q, h):
    """Give the velocity that just reaches the lower stop; q after half a step's drift."""
    return max(min(limits[joint, LOWER] - q, 0.0) * (2.0 / h), -limits[joint, VELOCITY])


@kernel
def start_modes(
    q_of_v, passive, limits,  # model
    q, v, hold, mode,  # state (read)
    h, mode_out,
):
    """Guess every joint's mode from the last step's and the state; q after half a step's drift."""
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        guess = LOOSE
        if at >= 0:
            hi = highest_velocity(limits, joint, q[at], h)
            lo = lowest_velocity(limits, joint, q[at], h)
            rests_at_stop = (mode[joint] == AT_UPPER and hi <= max(v[joint], 0.0)
                             or mode[joint] == AT_LOWER and lo >= min(v[joint], 0.0))
            if hold[joint] != 0:
                guess = HELD
            elif rests_at_stop:
                guess = mode[joint]
            elif passive[joint, FRICTION] > 0.0:
                guess = STUCK
                if v[joint] != 0.0:
                    guess = SLIDING_FORTH if v[joint] > 0.0 else SLIDING_BACK
        mode_out[joint] = guess


@kernel
def explicit_effort(passive, joint, u, q, v):
    """Give the effort on a joint at the start of the step: command, damper and spring."""
    stretch = q - passive[joint, REFERENCE]
    return u - passive[joint, DAMPING] * v - passive[joint, STIFFNESS] * stretch


@kernel
def _locked_velocity(limits, joint, mode, q, h):
    """Give the velocity at the end of the step of a joint that is locked."""
    if mode == AT_UPPER:
        return highest_velocity(limits, joint, q, h)
    if mode == AT_LOWER:
        return lowest_velocity(limits, joint, q, h)
    return 0.0


@kernel
def set_right_hand_side(
    q_of_v, passive, limits,  # model
    q, v, u, mode,  # state (read)
    h, rhs_out,
):
    """Write each joint's effort, or its prescribed acceleration where it is locked."""
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        if at < 0:
            rhs_out[joint] = u[joint]
        elif mode[joint] < STUCK:
            rhs_out[joint] = (explicit_effort(passive, joint, u[joint], q[at], v[joint])
                              - passive[joint, FRICTION] * mode[joint])
        else:
            v_next = _locked_velocity(limits, joint, mode[joint], q[at], h)
            rhs_out[joint] = (v_next - v[joint]) / h


@kernel
def next_mode(mode, v, effort, friction, lo, hi, v_slack, effort_slack):
    """
    Give the mode a joint should have.

    A loose joint's is decided by its velocity, a locked one's by its constraint effort.
    """
    sliding_forth = SLIDING_FORTH if friction > 0.0 else LOOSE
    sliding_back = SLIDING_BACK if friction > 0.0 else LOOSE
    slack = effort_slack + 1e-12 * (friction + abs(effort))
    if mode == HELD:
        return mode
    if mode < STUCK:
        if v > hi + v_slack:
            return AT_UPPER
        if v < lo - v_slack:
            return AT_LOWER
        return STUCK if mode * v < -v_slack else mode
    # the interval of efforts that the friction and the stop can give at the locked velocity
    if mode == AT_UPPER and hi > 0.0:
        return sliding_forth if effort > -friction + slack else mode
    if mode == AT_LOWER and lo < 0.0:
        return sliding_back if effort < friction - slack else mode
    if effort > friction + slack and mode != AT_LOWER:
        return sliding_back
    if effort < -friction - slack and mode != AT_UPPER:
        return sliding_forth
    return mode


@kernel
def settle_locked(
    q_of_v, passive, limits,  # model
    q, v, u, mode,  # state (read)
    h, v_next_inout, constraint_inout,
):
    """
    Give locked joints their velocity to the last bit, without the rounding of v + h (v⁺ - v) / h.

    constraint_inout: reduced from the whole effort on each joint to what its stop, friction or
    hold gives.
    """
    for joint in range(q_of_v.shape[0]):
        if mode[joint] >= STUCK:
            at = q_of_v[joint]
            v_next_inout[joint] = _locked_velocity(limits, joint, mode[joint], q[at], h)
            constraint_inout[joint] -= explicit_effort(passive, joint, u[joint], q[at], v[joint])
        else:
            constraint_inout[joint] = 0.0


@kernel
def update_modes(
    kind, q_index, v_index, passive, limits,  # model
    q, hinge, v_next, constraint,  # state (read)
    h, v_slack, how, mode_inout,
):
    """
    Change the modes whose signs are wrong; give how many were changed.

    A sign counts as wrong by a velocity of `v_slack` or more, or by the effort that gives it to
    the joint within the step: where a stop just touches, rounding alone decides the sign.
    how: ALL, no more than the FIRST wrong joint, or only to RELEASE locked ones.
    """
    changed = 0
    for body in range(kind.shape[0]):
        if kind[body] != REVOLUTE and kind[body] != PRISMATIC:
            continue
        joint, at = v_index[body], q_index[body]
        lo = lowest_velocity(limits, joint, q[at], h)
        hi = highest_velocity(limits, joint, q[at], h)
        mode = next_mode(mode_inout[joint], v_next[joint], constraint[joint],
                          passive[joint, FRICTION], lo, hi,
                          v_slack, hinge[body, 6] * (v_slack / h))
        if how == RELEASE and mode >= STUCK:
            continue
        if mode != mode_inout[joint]:
            mode_inout[joint] = mode
            changed += 1
            if how == FIRST:
                break
    return changed
