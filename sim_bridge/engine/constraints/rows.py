"""Constraint rows in one configuration: errors, wrenches and acceleration terms."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.loops import (
    DISTANCE,
    DOT,
    GONE,
    GONE_ALONG,
    JOINT_ROWS,
    MIMIC,
    RIGID_ROWS,
    SLIDE,
)
from sim_bridge.engine.data.model import FREE, GROUND, KINEMATIC, OFFSET
from sim_bridge.engine.dynamics.mimic import mimic_row
from sim_bridge.engine.dynamics.twists import row_velocity
from sim_bridge.engine.math.mat3 import column, load_m
from sim_bridge.engine.math.spatial import (
    carried,
    FORCE,
    FRAME_SIZE,
    load_pose,
    load_spatial,
    ORIGIN,
    ROTATION,
    TORQUE,
    WRENCH_SIZE,
)
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    load3,
    load_v,
    norm,
    scale,
    store3,
    sub,
    ZERO,
)

_SHORTEST = 1e-12  # below this distance A's x axis serves as its direction [m]


@kernel
def frame_of(pose, loops, joint, side):
    """Return a joint's frame A (side 0) or B (1) in the world: rotation, origin [m]."""
    R = load_m(loops.frame, joint, FRAME_SIZE * side + ROTATION)
    p = load3(loops.frame, joint, FRAME_SIZE * side + ORIGIN)
    body = loops.body[joint, side]
    if body < 0:
        return R, p
    return carried(load_pose(pose, body), R, p)


@kernel
def frames_of(pose, loops, joint):
    """Return a joint's frames A and B in the world: rotation and origin [m] of each."""
    R_A, p_A = frame_of(pose, loops, joint, 0)
    R_B, p_B = frame_of(pose, loops, joint, 1)
    return R_A, p_A, R_B, p_B


@kernel
def way(p_A, p_B, R_A):
    """Return the unit vector from A to B, and their distance [m]."""
    s = sub(p_B, p_A)
    length = norm(s)
    if length < _SHORTEST:
        return column(R_A, 0), length
    return scale(1.0 / length, s), length


@kernel
def is_gone(loops, row, joint, work):
    """Return whether a joint's row, or axis row, is broken."""
    broken = work.broken[joint]
    if row >= loops.size[JOINT_ROWS]:
        return broken & GONE != 0
    return broken & (GONE | GONE_ALONG << loops.direction[row]) != 0


@kernel
def transmitted(pose, h, loops, joint, work):
    """Return the torque about B's origin and the force transmitted by a joint in a step."""
    R_A, p_A, R_B, p_B = frames_of(pose, loops, joint)
    n, f = ZERO, ZERO
    for row in range(loops.size[JOINT_ROWS]):
        if loops.joint[row] == joint:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
            n = add(n, scale(work.impulse[row] / h, torque))
            f = add(f, scale(work.impulse[row] / h, force))
    return n, f


@subroutine
def find_errors(model, q, ws, loops, error_out):
    """
    Compute the rows' errors [m, 1]; q: configuration of the current poses.

    A rigid DOT row's error is the sine of an angle. If two axes that should coincide point away
    from each other, the error exceeds 1, and its correction turns them the shorter way.
    """
    # rows of one joint are consecutive
    joint = -1
    R_A = R_B = (ZERO, ZERO, ZERO)
    p_A = p_B = ZERO
    for row in range(loops.size[JOINT_ROWS]):
        kind, i, j = loops.kind[row], loops.axes[row, 0], loops.axes[row, 1]
        if kind == MIMIC:
            following, followed, ratio = mimic_row(model, i)
            q_following, q_followed = q[model.q_of_v[following]], q[model.q_of_v[followed]]
            error_out[row] = q_following - ratio * q_followed - model.mimic_law[i, OFFSET]
            continue
        if loops.joint[row] != joint:
            joint = loops.joint[row]
            R_A, p_A, R_B, p_B = frames_of(ws.pose, loops, joint)
        if kind == SLIDE:
            value = dot(column(R_A, i), sub(p_B, p_A))
        elif kind == DOT:
            value = dot(column(R_A, i), column(R_B, j))
            if (
                i != j
                and row < loops.size[RIGID_ROWS]
                and (dot(column(R_A, j), column(R_B, j)) < 0.0)
            ):
                value -= 2.0 if value >= 0.0 else -2.0
        else:
            value = way(p_A, p_B, R_A)[1]
        error_out[row] = value - loops.reference[row]


@subroutine
def find_arms(model, ws, loops, arm_out):
    """
    Compute each row's wrench on both bodies; it is also its error's gradient.

    Forces on both bodies act along one line through B's origin, so they and their torques cancel.
    Momentum is conserved to the last bit, except for the solution's last bits.
    """
    joint = -1
    R_A = R_B = (ZERO, ZERO, ZERO)
    p_A = p_B = ZERO
    for row in range(loops.size[JOINT_ROWS]):
        if loops.kind[row] == MIMIC:
            continue
        if loops.joint[row] != joint:
            joint = loops.joint[row]
            R_A, p_A, R_B, p_B = frames_of(ws.pose, loops, joint)
        torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
        store_arms(model.root, ws.pose, loops, joint, p_B, torque, force, row, arm_out)


@kernel
def store_arms(root, pose, loops, joint, p_B, torque, force, row, arm_out):
    """Write a torque about B's origin and a force as wrenches on both bodies, about their O."""
    for side in range(2):
        body = loops.body[joint, side]
        sign = 2.0 * side - 1.0
        n = torque
        if body >= 0:
            n = add(n, cross(sub(p_B, load3(pose, root[body], ORIGIN)), force))
        store3(arm_out, row, WRENCH_SIZE * side + TORQUE, scale(sign, n))
        store3(arm_out, row, WRENCH_SIZE * side + FORCE, scale(sign, force))


@kernel
def row_wrench(loops, row, R_A, p_A, R_B, p_B):
    """Return a row's torque about B's origin and force on the second body."""
    kind, i, j = loops.kind[row], loops.axes[row, 0], loops.axes[row, 1]
    if kind == SLIDE:
        return ZERO, column(R_A, i)
    if kind == DOT:
        # d/dt (u · w) = (ω_B - ω_A) · (w x u)
        return cross(column(R_B, j), column(R_A, i)), ZERO
    return ZERO, way(p_A, p_B, R_A)[0]


@kernel
def rate_of(model, loops, row, work, v):
    """Return the rate of a row's error; work.twist: body velocities for v."""
    if joint_of(loops, row) < 0:
        following, followed, ratio = mimic_row(model, loops.axes[row, 0])
        return v[following] - ratio * v[followed]
    return row_velocity(loops, joint_of(loops, row), row, work.arm, work.twist)


@kernel
def add_mimic_effort(model, loops, row, amount, effort_inout):
    """Add a mimic row's force, `amount`, to its two joints' efforts."""
    following, followed, ratio = mimic_row(model, loops.axes[row, 0])
    effort_inout[following] += amount
    effort_inout[followed] -= amount * ratio


@kernel
def joint_of(loops, row):
    """Return the joint of a row or axis row; -1 for a mimic row."""
    rows = loops.size[JOINT_ROWS]
    return loops.joint[row] if row < rows else loops.axis_joint[row - rows]


@subroutine
def find_drifts(model, ws, loops, of_origin, drift_out):
    """
    Compute the second derivatives of the errors at zero coordinate accelerations.

    Uses ws.velocity and ws.drift. of_origin: a free body's coordinates accelerate its origin,
    instead of the material point at the fixed reference point.
    """
    joint = -1
    R_A = R_B = (ZERO, ZERO, ZERO)
    p_A = w_A = v_A = dw_A = dv_A = p_B = w_B = v_B = dw_B = dv_B = ZERO
    for row in range(loops.size[JOINT_ROWS]):
        drift_out[row] = 0.0
        if loops.kind[row] == MIMIC:
            continue
        if loops.joint[row] != joint:
            joint = loops.joint[row]
            R_A, p_A, R_B, p_B = frames_of(ws.pose, loops, joint)
            w_A, v_A, dw_A, dv_A = motion_at(model, ws, of_origin, loops.body[joint, 0], p_A)
            w_B, v_B, dw_B, dv_B = motion_at(model, ws, of_origin, loops.body[joint, 1], p_B)
        v, dv = sub(v_B, v_A), sub(dv_B, dv_A)
        if loops.kind[row] == SLIDE:
            axis, s = column(R_A, loops.axes[row, 0]), sub(p_B, p_A)
            turn = cross(w_A, axis)
            turning = add(cross(dw_A, axis), cross(w_A, turn))
            drift_out[row] = dot(turning, s) + 2.0 * dot(turn, v) + dot(axis, dv)
        elif loops.kind[row] == DOT:
            u, w = column(R_A, loops.axes[row, 0]), column(R_B, loops.axes[row, 1])
            turn = add(cross(cross(w_B, w), u), cross(w, cross(w_A, u)))
            drift_out[row] = dot(sub(dw_B, dw_A), cross(w, u)) + dot(sub(w_B, w_A), turn)
        elif loops.kind[row] == DISTANCE:
            axis, length = way(p_A, p_B, R_A)
            along = dot(axis, v)
            across = dot(v, v) - along * along
            drift_out[row] = dot(axis, dv) + across / max(length, _SHORTEST)


@kernel
def motion_at(model, ws, of_origin, body, point):
    """
    Return a body point's angular and linear velocity, and their rates less gravity.

    The rates are taken at zero coordinate accelerations.
    """
    if body < 0 or ws.kind[body] == GROUND:
        return ZERO, ZERO, ZERO, scale(-1.0, load_v(model.gravity, 0))
    root = model.root[body]
    p_O = sub(point, load3(ws.pose, root, ORIGIN))
    w, v = load_spatial(ws.velocity, body)
    dw, dv = load_spatial(ws.drift, body)
    v = add(v, cross(w, p_O))
    if of_origin and ws.kind[root] >= FREE and ws.kind[root] != KINEMATIC:
        w_O, v_O = load_spatial(ws.velocity, root)
        dv = sub(dv, cross(w_O, v_O))
    return w, v, dw, add(add(dv, cross(dw, p_O)), cross(w, v))
