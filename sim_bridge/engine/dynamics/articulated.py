"""
Linear-time solution of M ddq = rhs by eliminating the tree from its leaves to its roots.

Articulated-body elimination (Featherstone 2008, section 7.3) in world axes about one point per
tree, split into a factorization, which depends on the configuration and the set of locked joints,
and a solve, which can be repeated for other right-hand sides. A locked joint has a prescribed
acceleration instead of an effort (hybrid dynamics, section 9.2): the elimination lets its body's
whole inertia through, and the solve yields the effort that keeps it.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import (
    add_articulated,
    factor_free,
    mul_articulated,
    solve_free,
    start_articulated,
)
from sim_bridge.engine.data.laws import (
    MOTOR,
    SERVO,
    SERVO_BASE,
    SERVO_DAMPING,
    SERVO_EFFORT,
    SERVO_LAG,
    SERVO_SLOPE,
    SERVO_SPRING,
    side_of,
    STOP_SLOPE,
)
from sim_bridge.engine.data.model import (
    ARMATURE,
    DAMPING,
    FREE,
    FREE_SINGLE,
    GROUND,
    KINEMATIC,
    STIFFNESS,
    WELD,
)
from sim_bridge.engine.data.state import LOCKED, MOTOR_SIDE, STOP_SIDE
from sim_bridge.engine.math.vec3 import add, dot, load3, load_v, scale, store3, sub


@kernel
def carrier(parent, kind, body):
    """Return the body that carries another and can move, or -1."""
    above = parent[body]
    return -1 if above >= 0 and is_immobile(kind[above]) else above


@kernel
def is_immobile(joint):
    """Return whether no force changes the motion of a body with this kind of joint."""
    return joint == GROUND or joint == KINEMATIC


@kernel
def has_axis(joint):
    """Return whether body has one velocity coordinate: turns about, or slides along, its axis."""
    return WELD < joint < FREE


@kernel
def factorize(
    parent, kind, v_index, passive,  # model
    mode, axis, rigid, h,  # state (read)
    law_inout, articulated_out, hinge_out,
):
    """Start from the bodies' own inertias, and eliminate the trees."""
    start_trees(kind, rigid, articulated_out)
    eliminate(parent, kind, v_index, passive,
              mode, axis, h,
              law_inout, articulated_out, hinge_out)


@kernel
def start_trees(kind, rigid, articulated_out):
    """Start the articulated inertias from the bodies' own."""
    for body in range(kind.shape[0]):
        if not is_immobile(kind[body]):
            start_articulated(rigid, body, articulated_out)


@kernel
def eliminate(
    parent, kind, v_index, passive,  # model
    mode, axis, h,  # state (read)
    law_inout, articulated_inout, hinge_out,
):
    """
    Eliminate the trees.

    articulated_inout: the bodies' own inertias, on return the articulated ones. hinge_out: each
    joint's U = IA S, its effective inertia D = Sᵀ U + armature + implicit terms, and 1 / D, or 0
    where it is locked. law_inout: servos get their slopes.
    """
    for body in range(parent.shape[0] - 1, -1, -1):
        joint = kind[body]
        if is_immobile(joint):
            continue
        hinge = hinge_out[body]
        if has_axis(joint):
            at = v_index[body]
            s, t = load3(axis, body, 0), load3(axis, body, 3)
            n, f = mul_articulated(articulated_inout, body, s, t)
            store3(hinge_out, body, 0, n)
            store3(hinge_out, body, 3, f)
            d = dot(s, n) + dot(t, f) + passive[at, ARMATURE]
            d = implicit_inertia(passive, at, mode[at], d, h, law_inout[at])
            hinge[6] = d
            hinge[7] = 0.0 if mode[at] >= LOCKED else 1.0 / d
        elif joint == WELD:
            hinge[7] = 0.0
        else:
            factor_free(body, articulated_inout)
            continue
        above = carrier(parent, kind, body)
        if above >= 0:
            add_articulated(hinge_out, above, body, articulated_inout)


@kernel
def implicit_inertia(passive, joint, mode, d, h, law_inout):
    """
    Return a joint's inertia d with what makes springs and dampers implicit in a step of h seconds.

    The velocity after the step solves the damped, sprung equation: a spring acts at the middle of
    the position change (h² k / 4) and all dampers together with the weight of the (1, 2) Padé
    approximant of exp(-h d / D), which is third order and does not ring however large the damping.
    A servo is such a spring and damper where it is not clamped; an elastic stop has a slope of its
    own. With h = 0 there are none.
    """
    hd = h * passive[joint, DAMPING]
    total = d + 0.25 * h * h * passive[joint, STIFFNESS]
    if law_inout[MOTOR] == SERVO:
        both = hd + h * law_inout[SERVO_DAMPING]
        stiffness = servo_stiffness(d, h * law_inout[SERVO_SPRING])
        spring = (1.0 + 3.0 * stiffness) * law_inout[SERVO_SPRING]
        law_inout[SERVO_EFFORT] = law_inout[SERVO_BASE] + stiffness * law_inout[SERVO_LAG]
        law_inout[SERVO_SLOPE] = spring + law_inout[SERVO_DAMPING] * damper_weight(d, both)
        if mode < LOCKED and side_of(mode, MOTOR_SIDE) == 0:
            total += h * spring
            hd = both
    if hd > 0.0:
        total += hd * damper_weight(d, hd)
    if mode < LOCKED and side_of(mode, STOP_SIDE) != 0:
        total += h * law_inout[STOP_SLOPE]
    return total


@kernel
def damper_weight(d, hd):
    """Return the weight of the velocity at the end of a step in the effort of a damper."""
    return (3.0 * d + hd) / (6.0 * d + hd)


@kernel
def servo_stiffness(d, spring):
    """
    Tell from 0 to 1 how far the step is too long for a servo's oscillation.

    spring: h² kp / 4. Fourth order in h for short steps; a half where h is 2 / ω.
    """
    if spring == 0.0:
        return 0.0
    ratio = d / spring
    return 1.0 / (1.0 + ratio * ratio)


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
        if has_axis(joint):
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
