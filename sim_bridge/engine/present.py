"""
The laws of stops, friction and holds at one instant: for accelerations instead of velocities.

A joint at rest at its upper stop has an acceleration a <= 0 or pushes against the stop, one at
rest with friction starts to slide or stays; the same complementarity problem as in `modes`, solved
by the same locking of joints. A moving joint's friction is known. Where a stop, friction or the
hold has changed a joint's velocity in the last step, and nobody has written it since, its mean
effort over that step stands for the impact.
"""

from __future__ import annotations

from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import EFFORT, FRICTION, LOWER, PRISMATIC, REVOLUTE, UPPER
from sim_bridge.engine.modes import explicit_effort, next_mode
from sim_bridge.engine.state import (
    AT_LOWER,
    AT_UPPER,
    HELD,
    LOOSE,
    SLIDING_BACK,
    SLIDING_FORTH,
    STUCK,
)

# beside the modes of a step: loose, under the mean effort that its constraint had in the last step
GIVEN = -2

_ACCELERATION_SLACK = 1e-8  # rad/s² or m/s²
_INFINITY = float('inf')


@kernel
def start_present_modes(
    q_of_v, passive, limits,  # model
    q, v, hold, mode, acceleration, v_left,  # state (read)
    mode_out,
):
    """Guess every joint's mode from the state and from what the last step did."""
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        guess = LOOSE
        if at >= 0:
            at_upper, at_lower = q[at] >= limits[joint, UPPER], q[at] <= limits[joint, LOWER]
            last = mode[joint]
            holds = (last == STUCK or last == HELD and hold[joint] != 0
                     or last == AT_UPPER and at_upper or last == AT_LOWER and at_lower)
            is_left = v[joint] == v_left[joint] and acceleration[joint] != 0.0
            has_friction = passive[joint, FRICTION] > 0.0
            if is_left and (holds or v[joint] == 0.0 and abs(last) == SLIDING_FORTH):
                guess = GIVEN
            elif v[joint] != 0.0:
                if has_friction:
                    guess = SLIDING_FORTH if v[joint] > 0.0 else SLIDING_BACK
            elif hold[joint] != 0:
                guess = HELD
            elif at_upper:
                guess = AT_UPPER
            elif at_lower:
                guess = AT_LOWER
            elif has_friction:
                guess = STUCK
        mode_out[joint] = guess


@kernel
def set_present_efforts(
    q_of_v, passive, limits,  # model
    q, v, u, force, mode,  # state (read)
    rhs_out,
):
    """Write each joint's effort now; no acceleration where it is locked."""
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        if at < 0:
            rhs_out[joint] = u[joint]
        elif mode[joint] >= STUCK:
            rhs_out[joint] = 0.0
        else:
            rhs_out[joint] = present_effort(passive, limits, joint, u[joint], q[at], v[joint])
            if mode[joint] == GIVEN:
                rhs_out[joint] += force[joint]
            else:
                rhs_out[joint] -= mode[joint] * passive[joint, FRICTION]


@kernel
def present_effort(passive, limits, joint, u, q, v):
    """Give the effort of command, damper and spring; the command as a step would clamp it."""
    limit = limits[joint, EFFORT]
    return explicit_effort(passive, joint, min(max(u, -limit), limit), q, v)


@kernel
def update_present_modes(
    kind, q_index, v_index, passive, limits,  # model
    q, v, u, hinge, ddq, constraint,  # state (read)
    only_first, mode_inout,
):
    """Change the modes of joints at rest whose signs are wrong; give how many were changed."""
    changed = 0
    for body in range(kind.shape[0]):
        if kind[body] != REVOLUTE and kind[body] != PRISMATIC:
            continue
        joint, at = v_index[body], q_index[body]
        if v[joint] != 0.0 or mode_inout[joint] == GIVEN:
            continue
        lo = 0.0 if q[at] <= limits[joint, LOWER] else -_INFINITY
        hi = 0.0 if q[at] >= limits[joint, UPPER] else _INFINITY
        effort = 0.0
        if mode_inout[joint] >= STUCK:
            effort = constraint[joint] - present_effort(
                passive, limits, joint, u[joint], q[at], v[joint])
        mode = next_mode(mode_inout[joint], ddq[joint], effort, passive[joint, FRICTION], lo, hi,
                         _ACCELERATION_SLACK, hinge[body, 6] * _ACCELERATION_SLACK)
        if mode != mode_inout[joint]:
            mode_inout[joint] = mode
            changed += 1
            if only_first:
                break
    return changed
