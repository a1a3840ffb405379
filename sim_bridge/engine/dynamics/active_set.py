"""
Exact active-set solution for joint stops, friction, motors and holds.

At the end of a step, each joint's velocity v⁺ and the effort λ of its elements lie on the graph of
its law (`joint_laws`), which decreases from piece to piece. The laws form a mixed linear
complementarity problem whose matrix is the tree's inverse inertia. A joint's *mode* says whether
the joint is loose on a piece, or locked at a velocity where the law jumps. The active set holds
the modes of all joints.

For a given active set, one linear-time elimination yields every v⁺ and λ. Wrong modes are then
changed: all at once (block pivoting, Júdice and Pires 1994), or, if that cycles, only the first
wrong one (Murty 1974). Murty's rule terminates because the matrix is positive definite. The active
set from one step is the warm start for the next: most steps cost no more than a step without
stops.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.joint_laws import (
    DRIVE_LAG,
    effort_range,
    HARD,
    HIGH,
    LEAST,
    locked_velocity,
    loose_effort,
    LOW,
    MOST,
    MOTOR,
    next_mode,
    piece_beside,
    rubs,
    SERVO,
    side,
    side_of,
    STOP,
    TARGET,
)
from sim_bridge.engine.data.model import PRISMATIC, REVOLUTE
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_TARGET,
    AT_UPPER,
    FRICTION_SIDE,
    HELD,
    LOCKED,
    LOOSE,
    MOTOR_SIDE,
    STOP_SIDE,
    STUCK,
)

VELOCITY_SLACK = 1e-11  # rad/s or m/s

# wrong modes changed by `update_active_set`
ALL, FIRST, RELEASE = range(3)

_INFINITY = float('inf')
# a motor with at least this effort is first assumed to reach its target [N m, N]
_STRONG = 1e5


@kernel
def guess_active_set(model, state, ws):
    """Guess the active set from the last step's modes and the state; write it into ws.mode."""
    for joint in range(model.q_of_v.shape[0]):
        guess = LOOSE
        if state.hold[joint] != 0:
            guess = HELD
        elif model.q_of_v[joint] >= 0:
            guess = guess_mode(ws.law[joint], state.v[joint], state.mode[joint])
        ws.mode[joint] = guess


@kernel
def guess_mode(law, v, last):
    """Return a joint's guessed mode, given its mode in the last step."""
    if law[MOTOR] == HARD and (
        last == AT_TARGET or law[MOST] >= _STRONG or law[LEAST] == -_INFINITY or v == law[TARGET]
    ):
        return AT_TARGET
    if (
        last == AT_UPPER
        and law[HIGH] <= max(v, 0.0)
        or last == AT_LOWER
        and law[LOW] >= min(v, 0.0)
    ):
        return last
    if rubs(law) and v == 0.0:
        return STUCK
    guess = LOOSE
    if rubs(law):
        guess += FRICTION_SIDE * side(v, 0)
    if law[MOTOR] == HARD:
        guess += MOTOR_SIDE * side(v - law[TARGET], 0)
    elif law[MOTOR] == SERVO and last < LOCKED:
        clamped = side_of(last, MOTOR_SIDE)
        # the effort bounds may have changed or become infinite since the last step
        if math.isfinite(law[MOST] if clamped < 0 else law[LEAST]):
            guess += MOTOR_SIDE * clamped
    return guess + STOP_SIDE * int(law[STOP])


@kernel
def set_right_hand_side(model, state, ws, h):
    """Write ws.rhs: effort of each loose joint, prescribed acceleration of each locked joint."""
    for joint in range(model.q_of_v.shape[0]):
        ws.rhs[joint] = ws.given[joint]
        if ws.mode[joint] >= LOCKED:
            ws.rhs[joint] = (locked_velocity(ws.law[joint], ws.mode[joint]) - state.v[joint]) / h
        elif model.q_of_v[joint] >= 0:
            ws.rhs[joint] += loose_effort(ws.law[joint], ws.mode[joint])
            ws.rhs[joint] -= ws.law[joint, DRIVE_LAG] * state.v[joint]


@kernel
def settle_locked(ws):
    """
    Set the velocities of locked joints exactly, as v + h (v⁺ - v) / h has rounding errors.

    Reduces ws.constraint from each locked joint's total effort to its elements' effort or hold
    effort; sets it to 0 for loose joints.
    """
    for joint in range(ws.mode.shape[0]):
        if ws.mode[joint] >= LOCKED:
            ws.v_next[joint] = locked_velocity(ws.law[joint], ws.mode[joint])
            ws.constraint[joint] -= ws.given[joint]
        else:
            ws.constraint[joint] = 0.0


@kernel
def is_driven_by_friction(mode, velocity):
    """
    Return whether a loose joint moves in its friction force's direction.

    Only rounding causes this, or an active-set iteration that was given up; otherwise
    `update_active_set` locks the joint as STUCK.
    """
    return mode < LOCKED and side_of(mode, FRICTION_SIDE) * velocity < 0.0


@kernel
def update_active_set(model, state, ws, h, v_slack, how):
    """
    Change wrong modes in ws.mode; return how many changed.

    A mode is wrong if a velocity violates it by more than `v_slack`, or an effort by more than the
    effort causing this velocity within the step. Where a stop just touches, rounding alone decides
    the sign. how: change ALL wrong modes, only the FIRST, or only RELEASE locked joints.
    """
    changed = 0
    for body in range(ws.kind.shape[0]):
        if ws.kind[body] != REVOLUTE and ws.kind[body] != PRISMATIC:
            continue
        joint = model.v_index[body]
        mode = next_mode(
            ws.law[joint],
            ws.mode[joint],
            state.v[joint],
            ws.v_next[joint],
            ws.constraint[joint],
            v_slack,
            ws.joint_factor[body, 6] * (v_slack / h),
        )
        if how == RELEASE and mode >= LOCKED:
            continue
        if mode != ws.mode[joint]:
            ws.mode[joint] = mode
            changed += 1
            if how == FIRST:
                break
    return changed


@kernel
def release_weakest(state, ws, blocked):
    """
    Release the locked joint yielding first to blocked contacts; return 1, or 0 if none yields.

    blocked: (nv,) joint efforts from unit normal forces at these contacts. No joint yields if all
    pushed joints are held, or are locked with unlimited effort.
    """
    weakest, _ = find_weakest(blocked, state.v, ws.law, ws.v_next, ws.constraint, ws.mode)
    if weakest < 0:
        return 0
    release(weakest, blocked, state.v, ws.law, ws.v_next, ws.mode)
    return 1


@kernel
def find_weakest(blocked, v, law, v_next, constraint, mode):
    """Return the locked joint yielding first (-1 for none), and the push that releases it."""
    weakest, least_push = -1, _INFINITY
    for joint in range(blocked.shape[0]):
        if blocked[joint] == 0.0 or mode[joint] < LOCKED or mode[joint] == HELD:
            continue
        least, most = effort_range(law[joint], v[joint], v_next[joint])
        room = constraint[joint] - least if blocked[joint] > 0.0 else most - constraint[joint]
        push = max(room, 0.0) / abs(blocked[joint])
        if push < least_push:
            weakest, least_push = joint, push
    return weakest, least_push


@kernel
def release(joint, blocked, v, law, v_next, mode_inout):
    """Switch a locked joint to the law piece beside its velocity, in the push direction."""
    mode_inout[joint] = piece_beside(law[joint], v[joint], v_next[joint], side(blocked[joint], 0))
