"""Joints that break where they would have to transmit more than they bear."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.axes import disable_axis
from sim_bridge.engine.constraints.rows import frames_of, row_wrench
from sim_bridge.engine.data.loops import BREAK_FORCE, BREAK_TORQUE, JOINT_ROWS
from sim_bridge.engine.math.vec3 import add, norm, scale, ZERO


@subroutine
def break_weakest(pose, h, loops, work):
    """
    Break the joint that is loaded beyond its toughness the most; return how many: 1 or 0.

    The step is then solved without it, and the others may bear their share.
    """
    weakest, most = -1, 1.0
    for joint in range(loops.body.shape[0]):
        least = min(loops.toughness[joint, BREAK_FORCE], loops.toughness[joint, BREAK_TORQUE])
        if work.broken[joint] == 0 and math.isfinite(least):
            share = load_share(pose, h, loops, joint, work)
            if share > most:
                weakest, most = joint, share
    if weakest < 0:
        return 0
    work.broken[weakest] = 1
    for axis in range(loops.axis_joint.shape[0]):
        if loops.axis_joint[axis] == weakest:
            disable_axis(axis, work)
    return 1


@kernel
def load_share(pose, h, loops, joint, work):
    """Return what a joint's rows transmit in a step, relative to what it bears."""
    R_A, p_A, R_B, p_B = frames_of(pose, loops, joint)
    n, f = ZERO, ZERO
    for row in range(loops.size[JOINT_ROWS]):
        if loops.joint[row] == joint:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
            n = add(n, scale(work.impulse[row] / h, torque))
            f = add(f, scale(work.impulse[row] / h, force))
    return max(norm(f) / loops.toughness[joint, BREAK_FORCE],
               norm(n) / loops.toughness[joint, BREAK_TORQUE])
