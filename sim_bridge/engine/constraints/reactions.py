"""
Constraint joint reactions: their means over a step, and at an observed instant.

A joint's wrench acts on its second body: torque about the origin of frame B, then force, in world
axes; the first body feels the opposite wrench. Both act about B's current origin, so they cancel.

Bodies read with the last step's mean acceleration (`pipeline.last_step`) get the joints' mean
wrenches from that step; these balance the accelerations. All other bodies get the rigid rows'
forces at the instant; compliant rows have only a force from the last step.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import frame_of, joint_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.loops import JOINT_ROWS, RIGID_ROWS
from sim_bridge.engine.data.state import PUSHED
from sim_bridge.engine.math.spatial import add_spatial, FORCE, ORIGIN, TORQUE, WRENCH_SIZE
from sim_bridge.engine.math.vec3 import add, cross, load3, scale, sub, ZERO


@kernel
def note_wrenches(root, pose, loops, h, work):
    """Write each joint's mean wrench in a step, at its mid-step poses, into work.mean."""
    rigid = loops.size[RIGID_ROWS]
    sum_rows(root, pose, loops, 0, rigid, 1.0 / h, work, work.mean)
    sum_rows(root, pose, loops, rigid, loops.size[JOINT_ROWS], 1.0 / h, work, work.yielded)
    for joint in range(loops.body.shape[0]):
        for k in range(6):
            work.mean[joint, k] += work.yielded[joint, k]


@kernel
def sum_rows(root, pose, loops, first, end, rate, work, wrench_out):
    """
    Write the joint wrenches from some rows' impulses, times `rate`.

    first, end: range of the rows. work.arm: wrenches of the rows at the poses.
    """
    wrench_out[:, :] = 0.0
    for row in range(first, end):
        # 0 for broken rows
        amount, joint = rate * work.impulse[row], joint_of(loops, row)
        if joint >= 0 and amount != 0.0:
            for k in range(WRENCH_SIZE):
                wrench_out[joint, k] += amount * work.arm[row, WRENCH_SIZE + k]
    for joint in range(loops.body.shape[0]):
        body, force = loops.body[joint, 1], load3(wrench_out, joint, FORCE)
        if body >= 0 and force != ZERO:
            p_OB = sub(frame_of(pose, loops, joint, 1)[1], load3(pose, root[body], ORIGIN))
            add_spatial(wrench_out, joint, cross(force, p_OB), ZERO)


@kernel
def keep_reactions(root, loops, wrench, idle, wrench_inout):
    """
    Store the joints' wrenches of a step; joints of sleepers keep the earlier ones.

    wrench: (nk, 6) wrenches of the step. idle: as State.idle. wrench_inout: (nk, 6) a field of the
    state.
    """
    for joint in range(loops.body.shape[0]):
        sleeps = False
        for side in range(2):
            body = loops.body[joint, side]
            sleeps = sleeps or body >= 0 and idle[root[body]] < 0
        if not sleeps:
            wrench_inout[joint, :] = wrench[joint]


@kernel
def act_on_bodies(pose, loops, wrench, on_body_out):
    """Write the joints' total wrench on each body, about the body's origin."""
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
    Write the wrench of each joint at the observed instant into work.mean; needs ws.pushed.

    work.impulse: forces of the rigid rows at the instant. Also writes the wrenches on the bodies,
    about their trees' O, into work.wrench. These leave out the compliant rows, because the bodies
    already feel State.yield_wrench.
    """
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    state, work = world.state(table), world.loop_work(table)
    sum_rows(model.root, ws.pose, loops, 0, loops.size[RIGID_ROWS], 1.0, work, work.mean)
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
    """Return whether a joint's bodies are observed with the last step's mean acceleration."""
    for side in range(2):
        body = loops.body[joint, side]
        if body >= 0 and pushed[root[body]] == PUSHED:
            return True
    return False
