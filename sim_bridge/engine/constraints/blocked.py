"""
Constraints that cannot hold because joints they need are locked.

A row that depends on others once joints are locked is not in the basis. If the remaining motion
violates it, a locked element must yield: friction, or a motor of bounded strength. As for contacts
(`contact.blocked`), forces acting on locked joints alone determine the element that yields first:
the row's force, less the equivalent forces from earlier rows.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import add_mimic_effort, joint_of, rate_of
from sim_bridge.engine.data.loops import ALL_ROWS, JAMMED, JOINT_ROWS, LOST, RANK, RIGID_ROWS
from sim_bridge.engine.dynamics.active_set import find_weakest, release
from sim_bridge.engine.dynamics.articulated import add_joint_efforts
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.math.spatial import FORCE, TORQUE, WRENCH_SIZE
from sim_bridge.engine.math.vec3 import load3, scale

# tolerated violation of nearly dependent rows, relative to the speeds that a row compares
_TOLERANCE = 1e-3
_SLOW = 1e-9  # violation tolerated in any row [m/s, rad/s]


@subroutine
def release_blocked(model, ws, loops, state, h, work):
    """
    Release the locked joint or axis that blocks a loop and yields first.

    Returns 1, or 0 if none is blocked or none can yield: motors without limits may contradict each
    other.
    """
    if work.counts[LOST] == 0 or not find_blocking_forces(model, ws, loops, h, work):
        return 0
    push_down(model, ws, loops, work)
    joint, push = find_weakest(work.blocked, state.v, ws.law, ws.v_next, ws.constraint, ws.mode)
    axis, axis_push = find_weakest(
        work.blocked_axis, work.v, work.law, work.v_next, work.held, work.mode
    )
    if axis >= 0 and axis_push < push:
        release(axis, work.blocked_axis, work.v, work.law, work.v_next, work.mode)
    elif joint >= 0:
        release(joint, work.blocked, state.v, ws.law, ws.v_next, ws.mode)
    else:
        work.pivot[JAMMED] = 1
        return 0
    return 1


@kernel
def find_blocking_forces(model, ws, loops, h, work):
    """
    Write the forces from violated dependent rows into work.change; return whether there are any.

    Each is one row's force, in units that make rows comparable, less independent rows' forces with
    the same effect. Together they cause no motion.
    """
    factor, part, change = work.factor, work.part, work.change
    find_twists(model, model.kind, ws, ws.v_next, work.twist)
    change[:] = 0.0
    part[:] = 0.0
    any_violated = False
    for row in range(loops.size[ALL_ROWS]):
        if work.own[row] >= 0 or work.active[row] == 0:
            continue
        wanted = -0.5 * h * work.drift[row] if row < loops.size[RIGID_ROWS] else work.error[row]
        missing = wanted - rate_of(model, loops, row, work, ws.v_next)
        if abs(missing) <= _SLOW + _TOLERANCE * (abs(wanted) + speed_in(loops, row, work)):
            continue
        any_violated = True
        if work.scale[row] == 0.0:
            change[row] = missing
            continue
        scaled = work.scale[row] * missing
        change[row] = work.scale[row] * scaled
        for other in range(work.reach[row]):
            part[other] += scaled * factor[row, other]
    if any_violated:
        for own in range(work.counts[RANK] - 1, -1, -1):
            row = work.chosen[own]
            amount = part[own] / factor[row, own]
            change[row] -= work.scale[row] * amount
            for other in range(own):
                part[other] -= amount * factor[row, other]
    return any_violated


@kernel
def speed_in(loops, row, work):
    """Return the total of both speeds compared by a row."""
    joint, total = joint_of(loops, row), 0.0
    if joint < 0:
        return total
    for side in range(2):
        body, rate = loops.body[joint, side], 0.0
        if body >= 0:
            for k in range(6):
                rate += work.arm[row, WRENCH_SIZE * side + k] * work.twist[body, k]
        total += abs(rate)
    return total


@kernel
def push_down(model, ws, loops, work):
    """Compute the efforts on joints and axes from the forces in work.change."""
    work.blocked[:] = 0.0
    for axis in range(work.blocked_axis.shape[0]):
        # the elements of an axis must exert this force, instead of being pushed by it
        work.blocked_axis[axis] = -work.change[loops.size[JOINT_ROWS] + axis]
    for row in range(loops.size[ALL_ROWS]):
        amount, joint = work.change[row], joint_of(loops, row)
        if amount == 0.0:
            continue
        if joint < 0:
            add_mimic_effort(model, loops, row, amount, work.blocked)
            continue
        for side in range(2):
            body = loops.body[joint, side]
            if body >= 0:
                n = scale(amount, load3(work.arm, row, WRENCH_SIZE * side + TORQUE))
                f = scale(amount, load3(work.arm, row, WRENCH_SIZE * side + FORCE))
                add_joint_efforts(model, ws, body, n, f, work.blocked)
