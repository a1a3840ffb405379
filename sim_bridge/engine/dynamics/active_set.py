"""
Stops, friction, motors and holds of single joints, solved exactly.

At the end of a step each joint's velocity v⁺ and the effort λ of its elements are on the graph of
its law (`laws`), which falls from piece to piece: a mixed linear complementarity problem with the
tree's inverse inertia as its matrix. A joint is loose on a piece, or locked at one of the
velocities where the law jumps; given that choice one linear-time elimination yields every v⁺ and
λ, and the choice is changed where it was wrong: at all wrong joints at once (block pivoting,
Júdice and Pires 1994), then, should that cycle, only at the first wrong one (Murty 1974), which
ends because the matrix is positive definite. A choice that was right in one step mostly is in the
next, which then costs no more than a step without stops.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.laws import (
    COULOMB,
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

# which wrong modes `update_modes` changes
ALL, FIRST, RELEASE = range(3)

_INFINITY = float('inf')
# effort with which a motor is taken to reach its target, till it proves not to [N m, N]
_STRONG = 1e5


@kernel
def start_modes(
    q_of_v,  # model
    v, hold, mode, law,  # state (read)
    mode_out,
):
    """Guess every joint's mode from the last step's and the state."""
    for joint in range(q_of_v.shape[0]):
        guess = LOOSE
        if hold[joint] != 0:
            guess = HELD
        elif q_of_v[joint] >= 0:
            guess = guess_mode(law[joint], v[joint], mode[joint])
        mode_out[joint] = guess


@kernel
def guess_mode(law, v, last):
    """Guess a joint's mode from the last step's."""
    if law[MOTOR] == HARD and (last == AT_TARGET or law[MOST] >= _STRONG or v == law[TARGET]):
        return AT_TARGET
    if (last == AT_UPPER and law[HIGH] <= max(v, 0.0)
            or last == AT_LOWER and law[LOW] >= min(v, 0.0)):
        return last
    if law[COULOMB] > 0.0 and v == 0.0:
        return STUCK
    guess = LOOSE
    if law[COULOMB] > 0.0:
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
def set_right_hand_side(
    q_of_v,  # model
    v, mode, given, law,  # state (read)
    h, rhs_out,
):
    """Write each joint's effort, or its prescribed acceleration where it is locked."""
    for joint in range(q_of_v.shape[0]):
        rhs_out[joint] = given[joint]
        if mode[joint] >= LOCKED:
            rhs_out[joint] = (locked_velocity(law[joint], mode[joint]) - v[joint]) / h
        elif q_of_v[joint] >= 0:
            rhs_out[joint] += loose_effort(law[joint], mode[joint])


@kernel
def settle_locked(
    mode, given, law,  # state (read)
    v_next_inout, constraint_inout,
):
    """
    Give locked joints their velocity to the last bit, without the rounding of v + h (v⁺ - v) / h.

    constraint_inout: reduced from the whole effort on each joint to what its elements, or the
    hold, give.
    """
    for joint in range(mode.shape[0]):
        if mode[joint] >= LOCKED:
            v_next_inout[joint] = locked_velocity(law[joint], mode[joint])
            constraint_inout[joint] -= given[joint]
        else:
            constraint_inout[joint] = 0.0


@kernel
def update_modes(
    kind, v_index,  # model
    v, hinge, law, v_next, constraint,  # state (read)
    h, v_slack, how, mode_inout,
):
    """
    Change the modes that are wrong; give how many were changed.

    One counts as wrong by a velocity of `v_slack` or more, or by the effort that gives it to the
    joint within the step: where a stop just touches, rounding alone decides the sign.
    how: ALL, no more than the FIRST wrong joint, or only to RELEASE locked ones.
    """
    changed = 0
    for body in range(kind.shape[0]):
        if kind[body] != REVOLUTE and kind[body] != PRISMATIC:
            continue
        joint = v_index[body]
        mode = next_mode(law[joint], mode_inout[joint], v[joint], v_next[joint],
                         constraint[joint], v_slack, hinge[body, 6] * (v_slack / h))
        if how == RELEASE and mode >= LOCKED:
            continue
        if mode != mode_inout[joint]:
            mode_inout[joint] = mode
            changed += 1
            if how == FIRST:
                break
    return changed


@kernel
def release_weakest(
    blocked, v, law, v_next, constraint,  # state (read)
    mode_inout,
):
    """
    Release the locked joint that yields first where contacts push on locked joints alone.

    blocked: what these contacts would push the joints with.
    Returns 1, or 0 where there is none: all that are pushed are held, or by as much as it takes.
    """
    weakest, _ = find_weakest(blocked, v, law, v_next, constraint, mode_inout)
    if weakest < 0:
        return 0
    release(weakest, blocked, v, law, v_next, mode_inout)
    return 1


@kernel
def find_weakest(blocked, v, law, v_next, constraint, mode):
    """Return locked joint that yields first, -1 for none, and by how much more it is pushed."""
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
    """Let a joint go the way that it is pushed."""
    mode_inout[joint] = piece_beside(law[joint], v[joint], v_next[joint], side(blocked[joint], 0))
