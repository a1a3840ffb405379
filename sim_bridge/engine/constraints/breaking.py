"""Joints that break under a load above their toughness."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.axes import disable_axis
from sim_bridge.engine.constraints.rows import frames_of, is_gone, row_wrench, transmitted
from sim_bridge.engine.data.loops import (
    BREAK_ALONG,
    BREAK_FORCE,
    BREAK_TORQUE,
    DOT,
    GONE,
    GONE_ALONG,
    JOINT_ROWS,
    TOUGHNESS_SIZE,
)
from sim_bridge.engine.math.vec3 import norm


@subroutine
def break_weakest(pose, h, loops, work):
    """
    Break the most overloaded joint or direction; return the number broken: 1 or 0.

    A joint loses all its rows, or those along one direction. The step is then solved without it,
    and the remaining rows may bear its share.
    """
    weakest, part, most = -1, GONE, 1.0
    for joint in range(loops.body.shape[0]):
        if work.broken[joint] & GONE == 0 and is_fragile(loops, joint):
            share, row = load_share(pose, h, loops, joint, work)
            if share > most:
                weakest, most = joint, share
                part = GONE if row < 0 else GONE_ALONG << loops.direction[row]
    if weakest < 0:
        return 0
    work.broken[weakest] |= part
    if not holds_any(loops, weakest, work):
        work.broken[weakest] |= GONE
    if work.broken[weakest] & GONE != 0:
        for axis in range(loops.axis_joint.shape[0]):
            if loops.axis_joint[axis] == weakest:
                disable_axis(axis, work)
    return 1


@kernel
def is_fragile(loops, joint):
    """Return whether a joint can break."""
    least = math.inf
    for column in range(TOUGHNESS_SIZE):
        least = min(least, loops.toughness[joint, column])
    return math.isfinite(least)


@kernel
def holds_any(loops, joint, work):
    """Return whether a joint has any row left."""
    left = 0
    for row in range(loops.size[JOINT_ROWS]):
        if loops.joint[row] == joint and not is_gone(loops, row, joint, work):
            left += 1
    return left > 0


@kernel
def load_share(pose, h, loops, joint, work):
    """
    Return the load transmitted by a joint, relative to its toughness, and the critical row.

    The row is -1 if the total load is critical.
    """
    n, f = transmitted(pose, h, loops, joint, work)
    share = max(
        norm(f) / loops.toughness[joint, BREAK_FORCE],
        norm(n) / loops.toughness[joint, BREAK_TORQUE],
    )
    weakest = -1
    R_A, p_A, R_B, p_B = frames_of(pose, loops, joint)
    for row in range(loops.size[JOINT_ROWS]):
        if loops.joint[row] == joint:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
            size = norm(torque) if loops.kind[row] == DOT else norm(force)
            load = abs(work.impulse[row]) / h * size
            own = load / loops.toughness[joint, BREAK_ALONG + loops.direction[row]]
            if own > share:
                share, weakest = own, row
    return share, weakest
