"""Where the bodies are and how they move: one pass from the roots to the leaves."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import mul_rigid
from sim_bridge.engine.data.model import (
    BALL,
    BALL_STAGE,
    FREE,
    GROUND,
    KINEMATIC,
    PRISMATIC,
    REVOLUTE,
)
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.math.rotation import quat_to_matrix
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    load3,
    load_m,
    load_v,
    mul_mm,
    mul_mv,
    scale,
    store3,
    store_m,
    sub,
)


@kernel
def place_bodies(
    parent, root, kind, q_index, frame, inertia,  # model
    q,  # state (read)
    pose_out, axis_out, rigid_out,
):
    """Compute poses in the world, and joint axes and rigid inertias about each tree's O."""
    for body in range(parent.shape[0]):
        joint = kind[body]
        at = q_index[body]
        if joint >= FREE:
            R_WB = quat_to_matrix((q[at + 3], q[at + 4], q[at + 5], q[at + 6]))
            p_WB = load_v(q, at)
        else:
            R_PB = load_m(frame, body, 0)
            p_PB = load3(frame, body, 9)
            if joint == REVOLUTE:
                s, c = math.sin(q[at]), math.cos(q[at])
                R_PB = (_turn_about_z(R_PB[0], c, s),
                        _turn_about_z(R_PB[1], c, s),
                        _turn_about_z(R_PB[2], c, s))
            elif joint == PRISMATIC:
                p_PB = add(p_PB, (q[at] * R_PB[0][2], q[at] * R_PB[1][2], q[at] * R_PB[2][2]))
            if parent[body] >= 0:
                R_WP = load_m(pose_out, parent[body], 0)
                R_WB = mul_mm(R_WP, R_PB)
                p_WB = add(load3(pose_out, parent[body], 9), mul_mv(R_WP, p_PB))
            else:
                R_WB = R_PB
                p_WB = p_PB
        z = (R_WB[0][2], R_WB[1][2], R_WB[2][2])
        if joint == BALL:
            # its axis does not turn with it
            R_WB = mul_mm(R_WB, quat_to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3])))
        store_m(pose_out, body, 0, R_WB)
        store3(pose_out, body, 9, p_WB)

        p_OB = sub(p_WB, load3(pose_out, root[body], 9))
        if joint == PRISMATIC:
            store3(axis_out, body, 0, (0.0, 0.0, 0.0))
            store3(axis_out, body, 3, z)
        elif has_axis(joint):
            store3(axis_out, body, 0, z)
            store3(axis_out, body, 3, cross(p_OB, z))
        _store_rigid(inertia, body, R_WB, p_OB, rigid_out)


@kernel
def _turn_about_z(row, c, s):
    """Return a row of R times the rotation about z with cosine c and sine s."""
    return c * row[0] + s * row[1], c * row[1] - s * row[0], row[2]


@kernel
def _store_rigid(inertia, body, R, p_OB, rigid_out):
    """Rotate a body's inertia to world axes and shift it to O (parallel axes)."""
    i = inertia[body]
    m = i[0]
    c = add(p_OB, mul_mv(R, (i[1], i[2], i[3])))
    # R I, then (R I) Rᵀ by its upper triangle
    a, b, d = R
    ta = (a[0] * i[4] + a[1] * i[5] + a[2] * i[6], a[0] * i[5] + a[1] * i[7] + a[2] * i[8],
          a[0] * i[6] + a[1] * i[8] + a[2] * i[9])
    tb = (b[0] * i[4] + b[1] * i[5] + b[2] * i[6], b[0] * i[5] + b[1] * i[7] + b[2] * i[8],
          b[0] * i[6] + b[1] * i[8] + b[2] * i[9])
    td = (d[0] * i[4] + d[1] * i[5] + d[2] * i[6], d[0] * i[5] + d[1] * i[7] + d[2] * i[8],
          d[0] * i[6] + d[1] * i[8] + d[2] * i[9])
    h = scale(m, c)
    out = rigid_out[body]
    out[0], out[1], out[2], out[3] = m, h[0], h[1], h[2]
    out[4] = ta[0] * a[0] + ta[1] * a[1] + ta[2] * a[2] + h[1] * c[1] + h[2] * c[2]
    out[5] = ta[0] * b[0] + ta[1] * b[1] + ta[2] * b[2] - h[0] * c[1]
    out[6] = ta[0] * d[0] + ta[1] * d[1] + ta[2] * d[2] - h[0] * c[2]
    out[7] = tb[0] * b[0] + tb[1] * b[1] + tb[2] * b[2] + h[0] * c[0] + h[2] * c[2]
    out[8] = tb[0] * d[0] + tb[1] * d[1] + tb[2] * d[2] - h[1] * c[2]
    out[9] = td[0] * d[0] + td[1] * d[1] + td[2] * d[2] + h[0] * c[0] + h[1] * c[1]


@kernel
def move_bodies(
    parent, root, kind, v_index, gravity,  # model
    v, wrench, pose, axis, rigid,  # state (read)
    velocity_out, drift_out, force_out,
):
    """
    Compute spatial velocities, and the forces that would keep every joint acceleration at zero.

    The recursive Newton-Euler pass of Featherstone (2008), section 5.3, in world axes: gravity
    enters as an upward acceleration of the world, the velocity product v x S dq gives the drift,
    and v x* I v the gyroscopic force. That v is the velocity that the axis S moves with: for all
    axes of a ball joint that of the body that carries it.
    """
    for body in range(parent.shape[0]):
        joint = kind[body]
        if joint == GROUND:
            store3(drift_out, body, 3, (-gravity[0], -gravity[1], -gravity[2]))
            continue
        at = v_index[body]
        above = parent[body]
        if above >= 0:
            w, vel = load3(velocity_out, above, 0), load3(velocity_out, above, 3)
            dw, dvel = load3(drift_out, above, 0), load3(drift_out, above, 3)
        else:
            w, vel = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            dw, dvel = (0.0, 0.0, 0.0), (-gravity[0], -gravity[1], -gravity[2])
        if has_axis(joint):
            s, t = scale(v[at], load3(axis, body, 0)), scale(v[at], load3(axis, body, 3))
            axis_w, axis_vel = w, vel
            if joint == BALL_STAGE or joint == BALL:
                axis_w, axis_vel = _base_velocity(parent, kind, velocity_out, above)
            dw = add(dw, cross(axis_w, s))
            dvel = add(dvel, add(cross(axis_w, t), cross(axis_vel, s)))
            w, vel = add(w, s), add(vel, t)
        elif joint >= FREE:
            vel, w = load_v(v, at), load_v(v, at + 3)
            if joint == KINEMATIC:
                # its origin does not accelerate: the spatial acceleration is -w x v
                dvel = sub(dvel, cross(w, vel))
        store3(velocity_out, body, 0, w)
        store3(velocity_out, body, 3, vel)
        store3(drift_out, body, 0, dw)
        store3(drift_out, body, 3, dvel)

        momentum_n, momentum_f = mul_rigid(rigid, body, w, vel)
        n, f = mul_rigid(rigid, body, dw, dvel)
        n = add(n, add(cross(w, momentum_n), cross(vel, momentum_f)))
        f = add(f, cross(w, momentum_f))
        # external wrench, given about the body frame's origin
        outer_f = load3(wrench, body, 3)
        p_OB = sub(load3(pose, body, 9), load3(pose, root[body], 9))
        n = sub(n, add(load3(wrench, body, 0), cross(p_OB, outer_f)))
        store3(force_out, body, 0, n)
        store3(force_out, body, 3, sub(f, outer_f))


@kernel
def _base_velocity(parent, kind, velocity, body):
    """Return the velocity of the body that carries a ball joint; body: above one of its stages."""
    while body >= 0 and kind[body] == BALL_STAGE:
        body = parent[body]
    if body < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return load3(velocity, body, 0), load3(velocity, body, 3)
