"""Body velocities, and relative velocities at contacts."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.model import FREE, KINEMATIC
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.math.spatial import (
    ANGULAR,
    LINEAR,
    load_spatial,
    ORIGIN,
    store_spatial,
    WRENCH_SIZE,
)
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, sub, ZERO


@subroutine
def find_twists(model, kind, ws, v, twist_out):
    """Compute the bodies' spatial velocities about their trees' O."""
    for body in range(model.parent.shape[0]):
        find_twist(model, kind, ws, v, body, twist_out)


@kernel
def find_twist(model, kind, ws, v, body, twist_out):
    """Compute one body's spatial velocity; its parent's must be in twist_out."""
    at, above = model.v_index[body], model.parent[body]
    w, vel = ZERO, ZERO
    if above >= 0:
        w, vel = load_spatial(twist_out, above)
    if kind[body] >= FREE:
        vel, w = load_v(v, at), load_v(v, at + 3)
    elif has_axis(kind[body]):
        w = add(w, scale(v[at], load3(ws.axis, body, ANGULAR)))
        vel = add(vel, scale(v[at], load3(ws.axis, body, LINEAR)))
    store_spatial(twist_out, body, w, vel)


@kernel
def point_velocity(model, ws, twist, body, point):
    """Return a body's velocity at a world point [m/s]; 0 for body -1."""
    if body < 0:
        return ZERO
    p_O = sub(point, load3(ws.pose, model.root[body], ORIGIN))
    return add(load3(twist, body, LINEAR), cross(load3(twist, body, ANGULAR), p_O))


@kernel
def relative_velocity(model, ws, twist, a, b, point):
    """Return body a's velocity relative to body b at a world point [m/s]."""
    return sub(
        point_velocity(model, ws, twist, a, point), point_velocity(model, ws, twist, b, point)
    )


@kernel
def relative_turn(twist, a, b):
    """Return body a's angular velocity relative to body b [rad/s]."""
    return sub(
        load3(twist, a, ANGULAR) if a >= 0 else ZERO, load3(twist, b, ANGULAR) if b >= 0 else ZERO
    )


@kernel
def common_turn(model, twist, a, b, h):
    """
    Return the change in a's velocity relative to b in half a step, due to common turning [m/s].

    Friction must hold at the end of the step, but rows and points belong to its middle: without
    this term, a block would creep outward on a turntable. The bodies' common rotation, at
    the angular velocity of the slower one, moves their origins apart. Rolling on each other is
    left out, because it moves the contact point.
    """
    if a < 0 or b < 0:
        return ZERO
    w, other = load3(twist, a, ANGULAR), load3(twist, b, ANGULAR)
    if dot(w, w) > dot(other, other):
        w = other
    apart = sub(load3(twist, model.root[b], LINEAR), load3(twist, model.root[a], LINEAR))
    return scale(0.5 * h, cross(w, apart))


@kernel
def relative_gain(model, state, ws, a, b, point):
    """
    Return a's velocity gain relative to b in half a step from prescribed motion [m/s].

    A kinematic body's velocity is the mean over the step, but friction must hold at the step's
    end. Otherwise a load on an accelerating tray would lag behind a little in every step.
    """
    return sub(half_gain(model, state, ws, a, point), half_gain(model, state, ws, b, point))


@kernel
def half_gain(model, state, ws, body, point):
    """Return half the velocity gained by a point of a kinematic body since the last step [m/s]."""
    if body < 0 or model.kind[body] != KINEMATIC:
        return ZERO
    at = model.v_index[body]
    linear = sub(load_v(state.v, at), load_v(state.v_left, at))
    angular = sub(load_v(state.v, at + 3), load_v(state.v_left, at + 3))
    return scale(0.5, add(linear, cross(angular, sub(point, load3(ws.pose, body, ORIGIN)))))


@kernel
def row_velocity(loops, joint, row, arm, twist):
    """Return the rate of a row's constrained quantity; for accelerations, their contribution."""
    total = 0.0
    for side in range(2):
        body = loops.body[joint, side]
        if body >= 0:
            for k in range(6):
                total += arm[row, WRENCH_SIZE * side + k] * twist[body, k]
    return total
