"""
Kinetic energy gained in a step: from the work done by forces, or from an overlong step.

Used only for steps with violent velocity changes, because it places all bodies three times.
"""

from sim_bridge.compiler.kernel import subroutine
from sim_bridge.engine.data.inertia import mul_rigid
from sim_bridge.engine.data.model import ARMATURE, FREE, GROUND, KINEMATIC
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.math.spatial import ANGULAR, LINEAR, load_spatial, store_spatial
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, sub, ZERO


@subroutine
def work_of_step(model, state, ws, h):
    """
    Return the work done by all forces in a step (h seconds), evaluated at its middle [J].

    The work includes internal and external forces. It is computed from the poses at the middle,
    from ws.velocity and ws.drift in the last evaluation, and from its result ws.v_next.
    """
    g = load_v(model.gravity, 0)
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = 0.5 * (state.v[joint] + ws.v_next[joint])
    find_twists(model, model.kind, ws, ws.v, ws.twist)
    total = 0.0
    for body in range(model.parent.shape[0]):
        kind, above, at = ws.kind[body], model.parent[body], model.v_index[body]
        dw, dv = ZERO, ZERO
        if kind >= FREE:
            # acceleration of the material point at O; the origin itself moves
            w, v = load_spatial(ws.velocity, body)
            if kind != KINEMATIC:
                dw = scale(1.0 / h, sub(load_v(ws.v_next, at + 3), load_v(state.v, at + 3)))
                dv = scale(1.0 / h, sub(load_v(ws.v_next, at), load_v(state.v, at)))
                dv = sub(dv, cross(w, v))
        elif above >= 0:
            dw, dv = load_spatial(ws.acceleration, above)
        if has_axis(kind):
            rate = (ws.v_next[at] - state.v[at]) / h
            dw = add(dw, scale(rate, load3(ws.axis, body, ANGULAR)))
            dv = add(dv, scale(rate, load3(ws.axis, body, LINEAR)))
            armature = model.passive[at, ARMATURE]
            total += armature * rate * ws.v[at]
        store_spatial(ws.acceleration, body, dw, dv)
        if kind == GROUND:
            continue
        drift_w, drift_v = load_spatial(ws.drift, body)
        n, f = mul_rigid(ws.rigid, body, add(dw, drift_w), add(add(dv, drift_v), g))
        w, v = load_spatial(ws.velocity, body)
        momentum_n, momentum_f = mul_rigid(ws.rigid, body, w, v)
        n = add(n, add(cross(w, momentum_n), cross(v, momentum_f)))
        f = add(f, cross(w, momentum_f))
        w, v = load_spatial(ws.twist, body)
        total += dot(n, w) + dot(f, v)
    return h * total


@subroutine
def kinetic_energy_at(model, q, v, ws):
    """Return the kinetic energy of all bodies and rotors at q and v [J]. Places the bodies."""
    place(model, q, ws)
    find_twists(model, model.kind, ws, v, ws.twist)
    total = 0.0
    for body in range(model.parent.shape[0]):
        w, vel = load_spatial(ws.twist, body)
        n, f = mul_rigid(ws.rigid, body, w, vel)
        total += 0.5 * (dot(n, w) + dot(f, vel))
    for joint in range(v.shape[0]):
        total += 0.5 * model.passive[joint, ARMATURE] * v[joint] * v[joint]
    return total
