"""
Integrator for a single free rigid body.

Half of the force impulse acts before a free rotation and half after it. The rotation is the
implicit midpoint rule for Euler's equations with the Cayley map. It conserves the kinetic energy
and the spatial angular momentum of a torque-free body exactly (Simo and Wong, 1991; Austin,
Krishnaprasad and Wang, 1993). Its step is stretched to (2 / |w|) tan(h |w| / 2). This keeps both
properties and makes rotation about a fixed axis exact too. The centre of mass moves by
p += h (v + v⁺) / 2, exact under a constant force.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import MASS, XX, XY, XZ, YY, YZ, ZZ
from sim_bridge.engine.data.model import CENTRE
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.rotation import (
    load_quat,
    quat_exp,
    quat_mul,
    quat_normalize,
    quat_to_matrix,
    store_quat,
)
from sim_bridge.engine.math.vec3 import add, cross, dot, load_v, norm, scale, store_v, sub

_MAX_NEWTON = 30
_MAX_HALF_ANGLE = 1.5  # in one step [rad]; tan diverges at pi / 2


@kernel
def solve3(m, b):
    """Solve m x = b by Cramer's rule."""
    r0, r1, r2 = m
    c12 = cross(r1, r2)
    c20 = cross(r2, r0)
    c01 = cross(r0, r1)
    det = dot(r0, c12)
    return (
        (c12[0] * b[0] + c20[0] * b[1] + c01[0] * b[2]) / det,
        (c12[1] * b[0] + c20[1] * b[1] + c01[1] * b[2]) / det,
        (c12[2] * b[0] + c20[2] * b[1] + c01[2] * b[2]) / det,
    )


@kernel
def mean_velocity(inertia_B, w, h):
    """
    Return the mean angular velocity x of a free rotation with initial w [rad/s], body frame.

    inertia_B: about the centre of mass [kg m²]. Solves 2 I (x - w) + h' x × I x = 0 with
    h' = (2 / |x|) tan(h |x| / 2), by Newton's method with h' from the last iterate.
    """
    L_w = mul_mv(inertia_B, w)
    x = sub(w, scale(0.5 * h, solve3(inertia_B, cross(w, L_w))))
    for _ in range(_MAX_NEWTON):
        rate = norm(x)
        half = min(0.5 * h * rate, _MAX_HALF_ANGLE)
        e = h if half < 1e-8 else 2.0 * math.tan(half) / rate
        L = mul_mv(inertia_B, x)
        residual = add(scale(2.0, sub(L, L_w)), scale(e, cross(x, L)))
        # d(x × I x) = [x]× I - [I x]×
        r0, r1, r2 = inertia_B
        jacobian = (
            (
                2.0 * r0[0] + e * (x[1] * r2[0] - x[2] * r1[0]),
                2.0 * r0[1] + e * (x[1] * r2[1] - x[2] * r1[1] + L[2]),
                2.0 * r0[2] + e * (x[1] * r2[2] - x[2] * r1[2] - L[1]),
            ),
            (
                2.0 * r1[0] + e * (x[2] * r0[0] - x[0] * r2[0] - L[2]),
                2.0 * r1[1] + e * (x[2] * r0[1] - x[0] * r2[1]),
                2.0 * r1[2] + e * (x[2] * r0[2] - x[0] * r2[2] + L[0]),
            ),
            (
                2.0 * r2[0] + e * (x[0] * r1[0] - x[1] * r0[0] + L[1]),
                2.0 * r2[1] + e * (x[0] * r1[1] - x[1] * r0[1] - L[0]),
                2.0 * r2[2] + e * (x[0] * r1[2] - x[1] * r0[2]),
            ),
        )
        dx = solve3(jacobian, residual)
        x = sub(x, dx)
        if dot(dx, dx) <= 1e-31 * dot(x, x):
            break
    return x


@kernel
def advance_free_body(model, state, ws, body, torque, force, h):
    """
    Step one free body under a torque and a force about its frame origin, world axes.

    Writes its coordinates after h seconds into ws.q and ws.v_next.
    """
    i = model.inertia[body]
    mass, c_B = i[MASS], load_v(i, CENTRE)
    inertia_B = ((i[XX], i[XY], i[XZ]), (i[XY], i[YY], i[YZ]), (i[XZ], i[YZ], i[ZZ]))
    at_q, at_v = model.q_index[body], model.v_index[body]
    p = load_v(state.q, at_q)
    quat = load_quat(state.q, at_q + 3)
    R = quat_to_matrix(quat)
    vel, w = load_v(state.v, at_v), load_v(state.v, at_v + 3)
    c = mul_mv(R, c_B)
    p_com, v_com = add(p, c), add(vel, cross(w, c))
    torque_com = sub(torque, cross(c, force))

    # half kick, in the body frame
    L_B = add(mul_mv(inertia_B, mul_tv(R, w)), mul_tv(R, scale(0.5 * h, torque_com)))
    # free rotation
    mean = mean_velocity(inertia_B, solve3(inertia_B, L_B), h)
    turn = quat_exp(scale(h, mean))
    quat = quat_normalize(quat_mul(quat, turn))
    R = quat_to_matrix(quat)
    L_B = mul_tv(quat_to_matrix(turn), L_B)
    # half kick
    L_B = add(L_B, mul_tv(R, scale(0.5 * h, torque_com)))
    w = mul_mv(R, solve3(inertia_B, L_B))

    weight, gravity = model.weight[body], load_v(model.gravity, 0)
    acceleration = add(scale(1.0 / mass, force), scale(weight, gravity))
    v_com_next = add(v_com, scale(h, acceleration))
    p_com = add(p_com, scale(0.5 * h, add(v_com, v_com_next)))
    c = mul_mv(R, c_B)
    p, vel = sub(p_com, c), sub(v_com_next, cross(w, c))
    store_v(ws.q, at_q, p)
    store_quat(ws.q, at_q + 3, quat)
    store_v(ws.v_next, at_v, vel)
    store_v(ws.v_next, at_v + 3, w)
