"""
What the constraint joints transmit: in a step, and at an observed instant.

A joint's wrench is that on its second body, torque about the origin of frame B, then force, in
world axes; the first body feels the opposite one. Both act about B's origin where it is when they
are read, so that they cancel.

Bodies that accelerate as in the mean of the last step (`pipeline.last_step`) are read with the
joints' mean wrenches of that step, which balance these accelerations. All others are read with the
rigid rows' forces of the instant; what yields has only a force of the last step anyway.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import frame_of, frames_of, joint_of, row_wrench
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.loops import JOINT_ROWS, RIGID_ROWS
from sim_bridge.engine.data.state import PUSHED
from sim_bridge.engine.math.spatial import add_spatial, FORCE, ORIGIN, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, load3, scale, sub, ZERO


@kernel
def note_wrenches(pose, loops, h, work):
    """Write the rows' mean wrenches in a step, at the poses of its middle, for each joint."""
    work.mean[:, :] = 0.0
    work.yielded[:, :] = 0.0
    rigid = loops.size[RIGID_ROWS]
    add_rows(pose, loops, 0, rigid, 1.0 / h, work, work.mean)
    add_rows(pose, loops, rigid, loops.size[JOINT_ROWS], 1.0 / h, work, work.yielded)
    for joint in range(loops.body.shape[0]):
        for k in range(6):
            work.mean[joint, k] += work.yielded[joint, k]


@kernel
def add_rows(pose, loops, first, end, rate, work, wrench_inout):
    """Add to the joints' wrenches those of some rows' impulses, times `rate`."""
    joint = -1
    R_A = R_B = (ZERO, ZERO, ZERO)
    p_A = p_B = ZERO
    for row in range(first, end):
        # 0 of what is broken
        amount = rate * work.impulse[row]
        own = joint_of(loops, row)
        if own < 0 or amount == 0.0:
            continue
        if own != joint:
            joint = own
            R_A, p_A, R_B, p_B = frames_of(pose, loops, joint)
        torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
        add_spatial(wrench_inout, joint, scale(amount, torque), scale(amount, force))


@kernel
def keep_means(root, loops, work, state):
    """Store the joints' mean wrenches of the step in the state; of sleepers those of before."""
    for joint in range(loops.body.shape[0]):
        sleeps = False
        for side in range(2):
            body = loops.body[joint, side]
            sleeps = sleeps or body >= 0 and state.idle[root[body]] < 0
        if not sleeps:
            for k in range(6):
                state.loop_mean[joint, k] = work.mean[joint, k]


@kernel
def act_on_bodies(pose, loops, wrench, on_body_out):
    """Write the wrench on each body, about its origin, that the joints' wrenches amount to."""
    on_body_out[:, :] = 0.0
    for joint in range(loops.body.shape[0]):
        p_B = frame_of(pose, loops, joint, 1)[1]
        torque, force = load3(wrench, joint, TORQUE), load3(wrench, joint, FORCE)
        for side in range(2):
            body, sign = loops.body[joint, side], 2.0 * side - 1.0
            if body >= 0:
                n = add(torque, cross(sub(p_B, load3(pose, body, ORIGIN)), force))
                add_spatial(on_body_out, body, scale(sign, n), scale(sign, force))


@subroutine
def react_at_instant(table):
    """
    Find each joint's wrench as it is observed, work.mean, once ws.pushed is known.

    work.impulse: the rigid rows' forces of the instant. Writes the wrenches on the bodies, about
    their trees' O, into work.wrench, without State.yield_wrench, which acts on them already.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work = world.state(table), world.loop_work(table)
    work.mean[:, :] = 0.0
    add_rows(ws.pose, loops, 0, loops.size[RIGID_ROWS], 1.0, work, work.mean)
    for joint in range(loops.body.shape[0]):
        if is_of_last_step(model.root, loops, joint, ws.pushed):
            for k in range(6):
                work.mean[joint, k] = state.loop_mean[joint, k] - state.loop_wrench[joint, k]
    act_on_bodies(ws.pose, loops, work.mean, work.wrench)
    for body in range(work.wrench.shape[0]):
        root = model.root[body]
        p_OB = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, root, ORIGIN))
        add_spatial(work.wrench, body, cross(p_OB, load3(work.wrench, body, FORCE)), ZERO)
    for joint in range(loops.body.shape[0]):
        for k in range(6):
            work.mean[joint, k] += state.loop_wrench[joint, k]
    return 0


@kernel
def is_of_last_step(root, loops, joint, pushed):
    """Return whether a joint's bodies are read as in the mean of the last step."""
    for side in range(2):
        body = loops.body[joint, side]
        if body >= 0 and pushed[root[body]] == PUSHED:
            return True
    return False
