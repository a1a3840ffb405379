"""
Linear-time solution of M ddq = rhs by eliminating the tree from its leaves to its roots.

Articulated-body elimination (Featherstone 2008, section 7.3) in world axes about one point per
tree. It is split into a factorization and a solve. The factorization depends on the configuration
and the set of locked joints; the solve can be repeated for other right-hand sides. A locked joint
has a prescribed acceleration instead of an effort (hybrid dynamics, section 9.2): the elimination
transmits its body's whole inertia, and the solve yields the effort that keeps the acceleration.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import (
    add_articulated,
    EFFECTIVE,
    factor_free,
    INVERSE,
    mul_articulated,
    solve_free,
    start_articulated,
)
from sim_bridge.engine.data.joint_laws import (
    DRIVE_DAMPING,
    DRIVE_LAG,
    DRIVE_STIFFNESS,
    INERTIA,
    MOTOR,
    SERVO,
    SERVO_BASE,
    SERVO_CHANGE,
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
    BALL,
    BALL_STAGE,
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
from sim_bridge.engine.data.state import LOCKED, MOTOR_SIDE, STOP_SIDE
from sim_bridge.engine.math.spatial import (
    add_spatial,
    ANGULAR,
    FORCE,
    LINEAR,
    load_spatial,
    store_spatial,
    TORQUE,
)
from sim_bridge.engine.math.vec3 import add, dot, load3, load_v, scale, store_v, sub, ZERO

# damper terms up to this share of the inertia are neglected at an instant
_RESOLVED = 1e-4


@kernel
def carrier(parent, kind, body):
    """Return the mobile body carrying a body, or -1."""
    above = parent[body]
    return -1 if above >= 0 and is_immobile(kind[above]) else above


@kernel
def is_immobile(joint):
    """Return whether forces cannot change a body's motion at this joint kind."""
    return joint == GROUND or joint == KINEMATIC


@kernel
def has_axis(joint):
    """Return whether a joint kind has one velocity coordinate, about or along its axis."""
    return WELD < joint < FREE


@kernel
def coordinates_of(kind):
    """Return the numbers of position and velocity coordinates of a joint kind."""
    if kind >= FREE:
        return 7, 6
    if kind == BALL_STAGE or kind == BALL:
        return (4, 1) if kind == BALL else (0, 1)
    return (1, 1) if kind > WELD else (0, 0)


@kernel
def factorize(model, ws, h):
    """Write ws.articulated and ws.joint_factor from the bodies' own inertias."""
    start_trees(ws)
    eliminate(model, ws, h, False)


@kernel
def start_trees(ws):
    """Initialize the articulated inertias with the bodies' own inertias."""
    for body in range(ws.kind.shape[0]):
        if not is_immobile(ws.kind[body]):
            start_articulated(ws.rigid, body, ws.articulated)


@kernel
def eliminate(model, ws, h, is_instant):
    """
    Eliminate the trees from the leaves to the roots.

    ws.articulated: the bodies' own inertias on entry, the articulated inertias on return. Writes
    each joint's U = IA S, its effective inertia D = Sᵀ U + armature + implicit terms, and 1 / D (0
    if locked) into ws.joint_factor; writes the servo slopes into ws.law. h: time step [s].
    is_instant: take the implicit terms at an instant between steps (`lagging_inertia`) instead of
    the terms in a step.
    """
    for body in range(model.parent.shape[0] - 1, -1, -1):
        joint = ws.kind[body]
        if is_immobile(joint):
            continue
        factor = ws.joint_factor[body]
        if has_axis(joint):
            at = model.v_index[body]
            s, t = load_spatial(ws.axis, body)
            n, f = mul_articulated(ws.articulated, body, s, t)
            store_spatial(ws.joint_factor, body, n, f)
            d = dot(s, n) + dot(t, f) + model.passive[at, ARMATURE]
            if is_instant:
                d = lagging_inertia(model.passive, at, ws.mode[at], d, h, ws.law[at])
            else:
                d = implicit_inertia(model.passive, at, ws.mode[at], d, h, ws.law[at])
            factor[EFFECTIVE] = d
            factor[INVERSE] = 0.0 if ws.mode[at] >= LOCKED else 1.0 / d
        elif joint == WELD:
            factor[INVERSE] = 0.0
        else:
            factor_free(body, ws.articulated)
            continue
        above = carrier(model.parent, ws.kind, body)
        if above >= 0:
            add_articulated(ws.joint_factor, above, body, ws.articulated)


@kernel
def implicit_inertia(passive, joint, mode, d, h, law_inout):
    """
    Return the inertia d plus the implicit terms of springs and dampers in a step of h seconds.

    The velocity after the step solves the damped, sprung equation. A spring acts at the middle of
    the position change (h² k / 4). All dampers together have the weight of the (1, 2) Padé
    approximant to exp(-h d / D): it is third order and does not ring, however large the damping.
    An unclamped servo counts as a spring and a damper, and so does an unclamped actuator; an
    elastic stop has its own slope. With h = 0 the terms vanish.
    """
    hd = h * (passive[joint, DAMPING] + law_inout[DRIVE_DAMPING])
    stiffness = passive[joint, STIFFNESS] + law_inout[DRIVE_STIFFNESS]
    law_inout[INERTIA], total = d, d + 0.25 * h * h * stiffness
    if law_inout[MOTOR] == SERVO:
        both, weight, shift = set_servo_effort(d, hd, h, law_inout)
        spring = (1.0 + 3.0 * shift) * law_inout[SERVO_SPRING]
        law_inout[SERVO_SLOPE] = spring + law_inout[SERVO_DAMPING] * weight
        if mode < LOCKED and side_of(mode, MOTOR_SIDE) == 0:
            total += h * spring
            hd = both
    if hd > 0.0:
        total += hd * damper_weight(d, hd)
    if law_inout[DRIVE_STIFFNESS] > 0.0:
        spring = 0.25 * h * law_inout[DRIVE_STIFFNESS]
        shift = servo_stiffness(total - h * spring, h * spring)
        total += 3.0 * shift * (h * spring)
        law_inout[DRIVE_LAG] = 4.0 * shift * spring
    if mode < LOCKED and side_of(mode, STOP_SIDE) != 0:
        total += h * law_inout[STOP_SLOPE]
    return total


@kernel
def lagging_inertia(passive, joint, mode, d, h, law_inout):
    """
    Return the inertia d plus the implicit terms that a step adds beyond its middle.

    This inertia belongs to the acceleration at an instant between steps. Without it, the reading
    would not be the acceleration of the motion if the step is too long for a damper or a servo.
    law_inout[INERTIA]: as written by `implicit_inertia` in the last step, because the terms depend
    on it; 0 before the first step, and then d replaces it. A damper term up to _RESOLVED d is
    neglected, unless an unclamped servo acts.
    """
    in_step, total = law_inout[INERTIA] if law_inout[INERTIA] > 0.0 else d, d
    hd = h * (passive[joint, DAMPING] + law_inout[DRIVE_DAMPING])
    resolved = _RESOLVED * d
    if law_inout[MOTOR] == SERVO:
        both, weight, stiffness = set_servo_effort(in_step, hd, h, law_inout)
        spring = stiffness * law_inout[SERVO_SPRING]
        law_inout[SERVO_SLOPE] = h * (spring + law_inout[SERVO_DAMPING] * (weight - 0.5))
        if mode < LOCKED and side_of(mode, MOTOR_SIDE) == 0:
            total += h * spring
            hd, resolved = both, 0.0
    if hd > 0.0:
        more = hd * (damper_weight(in_step, hd) - 0.5)
        if more > resolved:
            total += more
    if mode < LOCKED and side_of(mode, STOP_SIDE) != 0:
        total += law_inout[STOP_SLOPE]
    return total


@kernel
def set_servo_effort(d, hd, h, law_inout):
    """
    Write the effort that a servo would exert if the step left the velocity unchanged.

    d: inertia in a step of h seconds. hd: h times the joint's damping. Returns h times the damping
    of joint and servo together, the weight from `damper_weight` and the weight from
    `servo_stiffness`.
    """
    both = hd + h * law_inout[SERVO_DAMPING]
    weight = damper_weight(d, both)
    stiffness = servo_stiffness(d + both * weight, h * law_inout[SERVO_SPRING])
    law_inout[SERVO_EFFORT] = (
        law_inout[SERVO_BASE]
        + stiffness * law_inout[SERVO_LAG]
        + (weight - 0.5) * law_inout[SERVO_CHANGE]
    )
    return both, weight, stiffness


@kernel
def damper_weight(d, hd):
    """Return the end-of-step velocity's weight in a damper's effort; hd: h times damping."""
    return (3.0 * d + hd) / (6.0 * d + hd)


@kernel
def servo_stiffness(d, spring):
    """
    Return the weight, from 0 to 1, by which `set_motor` shifts a servo's spring.

    d: inertia including damper terms. spring: h² kp / 4. The weight grows as the step becomes too
    long for the servo's oscillation (angular frequency ω): it is fourth order in h for short
    steps, and 1/2 at h = 2 / ω.
    """
    if spring == 0.0:
        return 0.0
    ratio = d / spring
    return 1.0 / (1.0 + ratio * ratio)


@kernel
def solve(model, ws, rhs, force_inout, ddq_out, constraint_out):
    """
    Solve for the joint accelerations.

    rhs: (nv,) effort for a loose joint, prescribed acceleration for a locked joint. force_inout:
    (nb, 6) on entry the force needed by each body at zero joint accelerations, on return the
    accumulated joint forces. constraint_out: (nv,) effort that keeps a locked joint at its
    acceleration, 0 for a loose joint. ddq_out: (nv,) joint accelerations; a free body's entries
    are its spatial acceleration, equal to its origin's acceleration less w x v; a sleeper's are 0.
    Writes the other bodies' spatial accelerations into ws.acceleration.
    """
    for body in range(model.parent.shape[0] - 1, -1, -1):
        joint = ws.kind[body]
        if is_immobile(joint):
            continue
        above = carrier(model.parent, ws.kind, body)
        n, f = load_spatial(force_inout, body)
        if has_axis(joint):
            at = model.v_index[body]
            w = rhs[at]
            if ws.joint_factor[body, INVERSE] != 0.0:
                s, t = load_spatial(ws.axis, body)
                w = ws.joint_factor[body, INVERSE] * (w - dot(s, n) - dot(t, f))
            ddq_out[at] = w
            if above >= 0:
                n = add(n, scale(w, load3(ws.joint_factor, body, TORQUE)))
                f = add(f, scale(w, load3(ws.joint_factor, body, FORCE)))
        if above >= 0:
            add_spatial(force_inout, above, n, f)

    for body in range(model.parent.shape[0]):
        joint = ws.kind[body]
        at = model.v_index[body]
        if joint == GROUND:
            for own in range(at, at + coordinates_of(model.kind[body])[1]):
                ddq_out[own], constraint_out[own] = 0.0, 0.0
            continue
        if joint == KINEMATIC:
            ws.acceleration[body, :] = 0.0
            ddq_out[at : at + 6] = 0.0
            continue
        if joint == FREE or joint == FREE_SINGLE:
            n, f = load_spatial(force_inout, body)
            force, torque = load_v(rhs, at), load_v(rhs, at + 3)
            store_spatial(ws.acceleration, body, sub(torque, n), sub(force, f))
            solve_free(ws.articulated, body, ws.acceleration)
            dw, dv = load_spatial(ws.acceleration, body)
            store_v(ddq_out, at, dv)
            store_v(ddq_out, at + 3, dw)
            continue
        dw, dv = ZERO, ZERO
        above = carrier(model.parent, ws.kind, body)
        if above >= 0:
            dw = load3(ws.acceleration, above, ANGULAR)
            dv = load3(ws.acceleration, above, LINEAR)
        if joint != WELD:
            u, x = load_spatial(ws.joint_factor, body)
            slip = dot(u, dw) + dot(x, dv)
            s, t = load_spatial(ws.axis, body)
            if ws.joint_factor[body, INVERSE] != 0.0:
                ddq_out[at] -= ws.joint_factor[body, INVERSE] * slip
                constraint_out[at] = 0.0
            else:
                n, f = load_spatial(force_inout, body)
                d = ws.joint_factor[body, EFFECTIVE]
                constraint_out[at] = d * ddq_out[at] + slip + dot(s, n) + dot(t, f)
            dw, dv = add(dw, scale(ddq_out[at], s)), add(dv, scale(ddq_out[at], t))
        store_spatial(ws.acceleration, body, dw, dv)


@kernel
def add_joint_efforts(model, ws, body, torque, force, effort_inout):
    """Add the joint efforts of a body wrench at the one-axis joints on the path to the root."""
    while body >= 0:
        if ws.kind[body] == REVOLUTE or ws.kind[body] == PRISMATIC:
            s, t = load_spatial(ws.axis, body)
            effort_inout[model.v_index[body]] += dot(s, torque) + dot(t, force)
        body = carrier(model.parent, ws.kind, body)
