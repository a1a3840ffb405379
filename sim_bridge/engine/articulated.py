"""
Linear-time solution of M ddq = rhs by eliminating the tree from its leaves to its roots.

Articulated-body elimination (Featherstone 2008, section 7.3) in world axes about one point per
tree, split into a factorization, which depends on the configuration and the set of locked joints,
and a solve, which can be repeated for other right-hand sides. A locked joint has a prescribed
acceleration instead of an effort (hybrid dynamics, section 9.2): the elimination lets its body's
whole inertia through, and the solve yields the effort that keeps it.
"""

from __future__ import annotations

from sim_bridge.engine.inertia import (
    add_articulated,
    factor_free,
    mul_articulated,
    solve_free,
    start_articulated,
)
from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import (
    ARMATURE,
    DAMPING,
    FREE,
    FREE_SINGLE,
    GROUND,
    KINEMATIC,
    PRISMATIC,
    REVOLUTE,
    STIFFNESS,
    WELD,
)
from sim_bridge.engine.state import STUCK
from sim_bridge.engine.vec3 import add, dot, load3, load_v, scale, store3, sub


@kernel
def carrier(parent, kind, body):
    """Give the body that carries another and can move, or -1."""
    above = parent[body]
    return -1 if above >= 0 and is_immobile(kind[above]) else above


@kernel
def is_immobile(joint):
    """Tell whether no force changes the motion of a body with this kind of joint."""
    return joint == GROUND or joint == KINEMATIC


@kernel
def factorize(
    parent, kind, v_index, passive,  # model
    mode, axis, rigid, h,  # state (read)
    articulated_out, hinge_out,
):
    """
    Eliminate the tree.

    articulated_out: the articulated inertias. hinge_out: each joint's U = IA S, its effective
    inertia D = Sᵀ U + armature + implicit terms, and 1 / D, or 0 where it is locked.

    The implicit terms make the velocity after a step of h seconds solve the damped, sprung
    equation: the spring acts at the middle of the position change (h² k / 4) and the damper with
    the weight of the (1, 2) Padé approximant of exp(-h d / D), which is third order and does not
    ring however large the damping. With h = 0 there are none.
    """
    for body in range(parent.shape[0]):
        if not is_immobile(kind[body]):
            start_articulated(rigid, body, articulated_out)
    for body in range(parent.shape[0] - 1, -1, -1):
        joint = kind[body]
        if is_immobile(joint):
            continue
        hinge = hinge_out[body]
        if joint == REVOLUTE or joint == PRISMATIC:
            at = v_index[body]
            s, t = load3(axis, body, 0), load3(axis, body, 3)
            n, f = mul_articulated(articulated_out, body, s, t)
            store3(hinge_out, body, 0, n)
            store3(hinge_out, body, 3, f)
            d = dot(s, n) + dot(t, f) + passive[at, ARMATURE]
            hd = h * passive[at, DAMPING]
            if hd > 0.0:
                d += hd * (3.0 * d + hd) / (6.0 * d + hd)
            d += 0.25 * h * h * passive[at, STIFFNESS]
            hinge[6] = d
            hinge[7] = 0.0 if mode[at] >= STUCK else 1.0 / d
        elif joint == WELD:
            hinge[7] = 0.0
        else:
            factor_free(body, articulated_out)
            continue
        above = carrier(parent, kind, body)
        if above >= 0:
            add_articulated(hinge_out, above, body, articulated_out)


@kernel
def solve(
    parent, kind, v_index,  # model
    articulated, hinge, axis, rhs,  # state (read)
    force_inout, acceleration_out, ddq_out, constraint_out,
):
    """
    Solve for the joint accelerations.

    rhs: effort of a loose joint, prescribed acceleration of a locked one. force_inout: (nb, 6) the
    force each body needs at zero joint accelerations; on return each joint's accumulated one.
    constraint_out: effort that a locked joint needs to keep its acceleration, 0 for a loose one.
    ddq_out: the linear part of a free joint's result is the spatial acceleration, that of its
    origin less w x v.
    """
    for body in range(parent.shape[0] - 1, -1, -1):
        joint = kind[body]
        if is_immobile(joint):
            continue
        above = carrier(parent, kind, body)
        n, f = load3(force_inout, body, 0), load3(force_inout, body, 3)
        if joint == REVOLUTE or joint == PRISMATIC:
            at = v_index[body]
            w = rhs[at]
            if hinge[body, 7] != 0.0:
                s, t = load3(axis, body, 0), load3(axis, body, 3)
                w = hinge[body, 7] * (w - dot(s, n) - dot(t, f))
            ddq_out[at] = w
            if above >= 0:
                n = add(n, scale(w, load3(hinge, body, 0)))
                f = add(f, scale(w, load3(hinge, body, 3)))
        if above >= 0:
            store3(force_inout, above, 0, add(load3(force_inout, above, 0), n))
            store3(force_inout, above, 3, add(load3(force_inout, above, 3), f))

    for body in range(parent.shape[0]):
        joint = kind[body]
        if joint == GROUND:
            continue
        at = v_index[body]
        if joint == KINEMATIC:
            for k in range(6):
                acceleration_out[body, k] = 0.0
                ddq_out[at + k] = 0.0
            continue
        if joint == FREE or joint == FREE_SINGLE:
            n, f = load3(force_inout, body, 0), load3(force_inout, body, 3)
            force, torque = load_v(rhs, at), load_v(rhs, at + 3)
            store3(acceleration_out, body, 0, sub(torque, n))
            store3(acceleration_out, body, 3, sub(force, f))
            solve_free(articulated, body, acceleration_out)
            for k in range(3):
                ddq_out[at + k] = acceleration_out[body, 3 + k]
                ddq_out[at + 3 + k] = acceleration_out[body, k]
            continue
        dw, dv = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        above = carrier(parent, kind, body)
        if above >= 0:
            dw = load3(acceleration_out, above, 0)
            dv = load3(acceleration_out, above, 3)
        if joint != WELD:
            slip = dot(load3(hinge, body, 0), dw) + dot(load3(hinge, body, 3), dv)
            s, t = load3(axis, body, 0), load3(axis, body, 3)
            if hinge[body, 7] != 0.0:
                ddq_out[at] -= hinge[body, 7] * slip
                constraint_out[at] = 0.0
            else:
                n, f = load3(force_inout, body, 0), load3(force_inout, body, 3)
                constraint_out[at] = hinge[body, 6] * ddq_out[at] + slip + dot(s, n) + dot(t, f)
            dw, dv = add(dw, scale(ddq_out[at], s)), add(dv, scale(ddq_out[at], t))
        store3(acceleration_out, body, 0, dw)
        store3(acceleration_out, body, 3, dv)
