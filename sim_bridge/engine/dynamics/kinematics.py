"""Body poses and velocities, in one pass from the roots to the leaves."""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import MASS, MOMENT, mul_rigid, XX, XY, XZ, YY, YZ, ZZ
from sim_bridge.engine.data.model import (
    BALL,
    BALL_STAGE,
    CENTRE,
    FREE,
    GROUND,
    KINEMATIC,
    PRISMATIC,
    REVOLUTE,
)
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.math.mat3 import column, mul_mm, mul_mv
from sim_bridge.engine.math.rotation import load_quat, quat_to_matrix
from sim_bridge.engine.math.spatial import (
    ANGULAR,
    carried,
    FORCE,
    LINEAR,
    load_pose,
    load_spatial,
    ORIGIN,
    store_pose,
    store_spatial,
    TORQUE,
)
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, scale, store3, sub, ZERO


@kernel
def place(model, q, ws):
    """Write the bodies' poses, axes and inertias at q into ws.pose, ws.axis and ws.rigid."""
    for body in range(model.parent.shape[0]):
        place_one(model, q, ws, body)


@kernel
def place_one(model, q, ws, body):
    """Place one body as `place` does; its parent must be placed already."""
    R_WB, p_OB = place_body(model, q, ws, body)
    _store_rigid(model.inertia, body, R_WB, p_OB, ws.rigid)


@kernel
def place_moments(model, q, ws):
    """Place all bodies as `place` does, but write only masses and first moments to ws.rigid."""
    for body in range(model.parent.shape[0]):
        R_WB, p_OB = place_body(model, q, ws, body)
        m = model.inertia[body, MASS]
        c = add(p_OB, mul_mv(R_WB, load3(model.inertia, body, CENTRE)))
        ws.rigid[body, MASS] = m
        store3(ws.rigid, body, MOMENT, scale(m, c))


@kernel
def place_body(model, q, ws, body):
    """Write a body's pose and axis at q, from its parent's; return its rotation and p_OB [m]."""
    joint = model.kind[body]
    at = model.q_index[body]
    if joint >= FREE:
        R_WB = quat_to_matrix(load_quat(q, at + 3))
        p_WB = load_v(q, at)
    else:
        R_PB, p_PB = load_pose(model.frame, body)
        if joint == REVOLUTE:
            s, c = math.sin(q[at]), math.cos(q[at])
            R_PB = (
                _turn_about_z(R_PB[0], c, s),
                _turn_about_z(R_PB[1], c, s),
                _turn_about_z(R_PB[2], c, s),
            )
        elif joint == PRISMATIC:
            p_PB = add(p_PB, scale(q[at], column(R_PB, 2)))
        R_WB, p_WB = R_PB, p_PB
        if model.parent[body] >= 0:
            R_WB, p_WB = carried(load_pose(ws.pose, model.parent[body]), R_PB, p_PB)
    z = column(R_WB, 2)
    if joint == BALL:
        # the axis stays fixed in the carrying body
        R_WB = mul_mm(R_WB, quat_to_matrix(load_quat(q, at)))
    store_pose(ws.pose, body, R_WB, p_WB)

    p_OB = sub(p_WB, load3(ws.pose, model.root[body], ORIGIN))
    if joint == PRISMATIC:
        store_spatial(ws.axis, body, ZERO, z)
    elif has_axis(joint):
        store_spatial(ws.axis, body, z, cross(p_OB, z))
    return R_WB, p_OB


@kernel
def _turn_about_z(row, c, s):
    """Return R's row times the rotation about z with cosine c and sine s."""
    return c * row[0] + s * row[1], c * row[1] - s * row[0], row[2]


@kernel
def _store_rigid(inertia, body, R, p_OB, rigid_out):
    """Rotate a body's inertia to world axes and shift it to O (parallel axis theorem)."""
    i = inertia[body]
    m = i[MASS]
    c = add(p_OB, mul_mv(R, load_v(i, CENTRE)))
    # R I, then (R I) Rᵀ by its upper triangle
    a, b, d = R
    ta = (
        a[0] * i[XX] + a[1] * i[XY] + a[2] * i[XZ],
        a[0] * i[XY] + a[1] * i[YY] + a[2] * i[YZ],
        a[0] * i[XZ] + a[1] * i[YZ] + a[2] * i[ZZ],
    )
    tb = (
        b[0] * i[XX] + b[1] * i[XY] + b[2] * i[XZ],
        b[0] * i[XY] + b[1] * i[YY] + b[2] * i[YZ],
        b[0] * i[XZ] + b[1] * i[YZ] + b[2] * i[ZZ],
    )
    td = (
        d[0] * i[XX] + d[1] * i[XY] + d[2] * i[XZ],
        d[0] * i[XY] + d[1] * i[YY] + d[2] * i[YZ],
        d[0] * i[XZ] + d[1] * i[YZ] + d[2] * i[ZZ],
    )
    h = scale(m, c)
    out = rigid_out[body]
    out[MASS] = m
    out[MOMENT], out[MOMENT + 1], out[MOMENT + 2] = h
    out[XX] = ta[0] * a[0] + ta[1] * a[1] + ta[2] * a[2] + h[1] * c[1] + h[2] * c[2]
    out[XY] = ta[0] * b[0] + ta[1] * b[1] + ta[2] * b[2] - h[0] * c[1]
    out[XZ] = ta[0] * d[0] + ta[1] * d[1] + ta[2] * d[2] - h[0] * c[2]
    out[YY] = tb[0] * b[0] + tb[1] * b[1] + tb[2] * b[2] + h[0] * c[0] + h[2] * c[2]
    out[YZ] = tb[0] * d[0] + tb[1] * d[1] + tb[2] * d[2] - h[1] * c[2]
    out[ZZ] = td[0] * d[0] + td[1] * d[1] + td[2] * d[2] + h[0] * c[0] + h[1] * c[1]


@kernel
def move_bodies(model, v, wrench, ws):
    """
    Compute ws.velocity, ws.drift and ws.force at zero joint accelerations.

    Recursive Newton-Euler pass (Featherstone 2008, section 5.3) in world axes. Gravity enters as
    an upward acceleration of the world. The velocity product v x S dq gives the drift, v x* I v
    the gyroscopic force. In the drift, v is the velocity of the axis S: for all axes of a ball
    joint, the velocity of the carrying body. wrench: (nb, 6) as State.wrench.
    """
    gravity = model.gravity
    for body in range(model.parent.shape[0]):
        joint = ws.kind[body]
        if joint == GROUND:
            store3(ws.drift, body, LINEAR, (-gravity[0], -gravity[1], -gravity[2]))
            continue
        at = model.v_index[body]
        above = model.parent[body]
        if above >= 0:
            w, vel = load_spatial(ws.velocity, above)
            dw, dvel = load_spatial(ws.drift, above)
        else:
            w, vel = ZERO, ZERO
            dw, dvel = ZERO, (-gravity[0], -gravity[1], -gravity[2])
        if has_axis(joint):
            s, t = load_spatial(ws.axis, body)
            s, t = scale(v[at], s), scale(v[at], t)
            axis_w, axis_vel = w, vel
            if joint == BALL_STAGE or joint == BALL:
                axis_w, axis_vel = _base_velocity(model, ws, above)
            dw = add(dw, cross(axis_w, s))
            dvel = add(dvel, add(cross(axis_w, t), cross(axis_vel, s)))
            w, vel = add(w, s), add(vel, t)
        elif joint >= FREE:
            vel, w = load_v(v, at), load_v(v, at + 3)
            if joint == KINEMATIC:
                # the origin does not accelerate: the spatial acceleration is -w x v
                dvel = sub(dvel, cross(w, vel))
        store_spatial(ws.velocity, body, w, vel)
        store_spatial(ws.drift, body, dw, dvel)

        momentum_n, momentum_f = mul_rigid(ws.rigid, body, w, vel)
        n, f = mul_rigid(ws.rigid, body, dw, dvel)
        n = add(n, add(cross(w, momentum_n), cross(vel, momentum_f)))
        f = add(f, cross(w, momentum_f))
        # external wrench, given about the body frame origin
        outer_f = load3(wrench, body, FORCE)
        p_OB = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
        n = sub(n, add(load3(wrench, body, TORQUE), cross(p_OB, outer_f)))
        store_spatial(ws.force, body, n, sub(f, outer_f))


@kernel
def _base_velocity(model, ws, body):
    """Return the velocity of a ball joint's carrying body; body: parent of a joint stage."""
    while body >= 0 and ws.kind[body] == BALL_STAGE:
        body = model.parent[body]
    if body < 0:
        return ZERO, ZERO
    return load_spatial(ws.velocity, body)


@kernel
def spread_accelerations(model, ws):
    """Compute the bodies' spatial accelerations due to ws.ddq alone, into ws.acceleration."""
    for body in range(model.parent.shape[0]):
        at, above = model.v_index[body], model.parent[body]
        dw, dv = ZERO, ZERO
        if model.kind[body] >= FREE:
            dv, dw = load_v(ws.ddq, at), load_v(ws.ddq, at + 3)
        else:
            if above >= 0:
                dw, dv = load_spatial(ws.acceleration, above)
            if has_axis(model.kind[body]):
                dw = add(dw, scale(ws.ddq[at], load3(ws.axis, body, ANGULAR)))
                dv = add(dv, scale(ws.ddq[at], load3(ws.axis, body, LINEAR)))
        store_spatial(ws.acceleration, body, dw, dv)


@kernel
def add_up_forces(model, ws):
    """Add each body's row of ws.force to its parent's, from the leaves to the roots."""
    for body in range(model.parent.shape[0] - 1, -1, -1):
        if model.parent[body] >= 0:
            for k in range(6):
                ws.force[model.parent[body], k] += ws.force[body, k]
