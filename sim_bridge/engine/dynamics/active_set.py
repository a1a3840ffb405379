"""
The active set of joints: an exact solution of their stops, friction, motors and holds.

At the end of a step each joint's velocity v⁺ and the effort λ of its elements lie on the graph of
its law (`joint_laws`), which falls from piece to piece. This is a mixed linear complementarity
problem with the tree's inverse inertia as its matrix. A joint's *mode* says whether it is loose on
a piece, or locked at one of the velocities where the law jumps; the modes of all joints are the
active set. For a given active set, one linear-time elimination yields every v⁺ and λ, and wrong
modes are changed: all at once (block pivoting, Júdice and Pires 1994), then, should that cycle,
only the first wrong one (Murty 1974), which terminates because the matrix is positive definite.
The active set of one step is a warm start for the next, which then mostly costs no more than a
step without stops.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.joint_laws import (
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

# which wrong modes `update_active_set` changes
ALL, FIRST, RELEASE = range(3)

_INFINITY = float('inf')
# effort with which a motor is taken to reach its target, till it proves not to [N m, N]
_STRONG = 1e5


@kernel
def guess_active_set(model, state, ws):
    """Write into ws.mode a guess of the active set, from the last step's and the state."""
    for joint in range(model.q_of_v.shape[0]):
        guess = LOOSE
        if state.hold[joint] != 0:
            guess = HELD
        elif model.q_of_v[joint] >= 0:
            guess = guess_mode(ws.law[joint], state.v[joint], state.mode[joint])
        ws.mode[joint] = guess


@kernel
def guess_mode(law, v, last):
    """Return a guess of a joint's mode from that of the last step."""
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
        # its bounds may be others by now, or none
        if math.isfinite(law[MOST] if clamped < 0 else law[LEAST]):
            guess += MOTOR_SIDE * clamped
    return guess + STOP_SIDE * int(law[STOP])


@kernel
def set_right_hand_side(model, state, ws, h):
    """Write into ws.rhs each joint's effort, or its prescribed acceleration if it is locked."""
    for joint in range(model.q_of_v.shape[0]):
        ws.rhs[joint] = ws.given[joint]
        if ws.mode[joint] >= LOCKED:
            ws.rhs[joint] = (locked_velocity(ws.law[joint], ws.mode[joint]) - state.v[joint]) / h
        elif model.q_of_v[joint] >= 0:
            ws.rhs[joint] += loose_effort(ws.law[joint], ws.mode[joint])


@kernel
def settle_locked(ws):
    """
    Set the velocities of locked joints exactly: v + h (v⁺ - v) / h has rounding errors.

    Reduces ws.constraint from the whole effort on each joint to that of its elements or its hold.
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
    Return whether a loose joint moves the way that friction pushes it.

    By rounding alone, or `update_active_set` would have had it stick, unless it was given up.
    """
    return mode < LOCKED and side_of(mode, FRICTION_SIDE) * velocity < 0.0


@kernel
def update_active_set(model, state, ws, h, v_slack, how):
    """
    Change wrong modes in ws.mode; return how many were changed.

    A mode is wrong if a velocity violates it by more than `v_slack`, or an effort by more than
    causes that velocity within the step: where a stop just touches, rounding alone decides the
    sign. how: change ALL wrong modes, only the FIRST, or only RELEASE locked joints.
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
    Release the locked joint that yields first to blocked contacts; return how many: 1 or 0.

    blocked: (nv,) efforts of unit normal forces at these contacts. No joint yields if all pushed
    joints are held, or are locked with unlimited effort.
    """
    weakest, _ = find_weakest(blocked, state.v, ws.law, ws.v_next, ws.constraint, ws.mode)
    if weakest < 0:
        return 0
    release(weakest, blocked, state.v, ws.law, ws.v_next, ws.mode)
    return 1


@kernel
def find_weakest(blocked, v, law, v_next, constraint, mode):
    """Return the first locked joint to yield, -1 for none, and the push at which it yields."""
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
    """Put a locked joint on its law's piece beside its velocity, in the direction of the push."""
    mode_inout[joint] = piece_beside(law[joint], v[joint], v_next[joint], side(blocked[joint], 0))
