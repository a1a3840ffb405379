"""Energy and momentum, from the bodies' poses and velocities in the workspace."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import (
    ACCELERATION,
    CENTER,
    PER_MASS,
    POINT,
    POWER,
    STRENGTH,
    UNIFORM,
)
from sim_bridge.engine.data.inertia import MASS, MOMENT, mul_rigid
from sim_bridge.engine.data.model import (
    ARMATURE,
    CENTRE,
    CFM,
    ERP,
    LIFTED,
    LOWER,
    PULL,
    REFERENCE,
    STIFFNESS,
    UPPER,
)
from sim_bridge.engine.dynamics.fields import centre_of
from sim_bridge.engine.dynamics.medium import point_from_origin
from sim_bridge.engine.dynamics.pull import power_potential, pull_potential
from sim_bridge.engine.dynamics.set_joint_laws import position_of
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import load_pose, load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, store3, sub


@entry
def energy(table: Table, first_body: int, last_body: int, first_v: int, last_v: int):
    """
    Return the (kinetic, potential) energy of some bodies and joints [J].

    Covers the bodies first_body <= i < last_body and the joints with the velocity coordinates
    first_v <= i < last_v. The kinetic energy includes the rotors (armature). The potential energy
    includes gravity, conservative force fields, joint springs and elastic stops. Uniform gravity
    and uniform fields have zero potential at the world origin. Masses without gravity have no
    gravitational energy.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    kinetic, potential = 0.0, 0.0
    for body in range(first_body, last_body):
        w, v = load_spatial(ws.velocity, body)
        n, f = mul_rigid(ws.rigid, body, w, v)
        kinetic += 0.5 * (dot(w, n) + dot(v, f))
        # first moment about the world origin
        o = load3(ws.pose, model.root[body], ORIGIN)
        m = ws.rigid[body, MASS]
        for k in range(3):
            potential -= model.gravity[k] * (ws.rigid[body, MOMENT + k] + m * o[k])
    for row in range(model.medium.shape[0]):
        body = model.medium_body[row]
        if first_body <= body < last_body:
            p_O = point_from_origin(model, ws, body, model.medium[row])
            p = add(load3(ws.pose, model.root[body], ORIGIN), p_O)
            potential += model.medium[row, LIFTED] * dot(load_v(model.gravity, 0), p)
    for row in range(model.pulled.shape[0]):
        body = model.pulled_body[row]
        if model.gravity[PULL] != 0.0 and first_body <= body < last_body:
            R, o = load_pose(ws.pose, body)
            p = add(o, mul_mv(R, load_v(model.pulled[row], CENTRE)))
            potential += model.pulled[row, MASS] * pull_potential(model.gravity, p)
    potential += field_energy(world.fields(table), ws, first_body, last_body)
    h = world.options(table).time_step
    for joint in range(first_v, last_v):
        kinetic += 0.5 * model.passive[joint, ARMATURE] * state.v[joint] * state.v[joint]
        stretch = position_of(model.q_of_v, state.q, joint) - model.passive[joint, REFERENCE]
        potential += 0.5 * model.passive[joint, STIFFNESS] * stretch * stretch
        if model.q_of_v[joint] >= 0:
            position = state.q[model.q_of_v[joint]]
            potential += stop_energy(model.limits[joint], model.stop[joint], position, h)
    return kinetic, potential


@kernel
def stop_energy(limits, stop, position, h):
    """Return an elastic stop's energy [J]: a spring ERP / (h CFM), for a time step h."""
    if stop[CFM] == 0.0:
        return 0.0
    excess = max(position - limits[UPPER], limits[LOWER] - position)
    return 0.5 * stop[ERP] / (h * stop[CFM]) * excess * excess if excess > 0.0 else 0.0


@kernel
def field_energy(own, ws, first_body, last_body):
    """Return the potential energy of the bodies' links in conservative force fields [J]."""
    total = 0.0
    for row in range(own.body.shape[0]):
        field = own.of[row]
        law, kind, mass = own.law[field], own.kind[field], own.link[row, MASS]
        if not (first_body <= own.body[row] < last_body) or kind > POINT:
            continue
        _, x = centre_of(own, ws, row)
        if kind == UNIFORM:
            total -= dot(add(load_v(law, 0), scale(mass, load_v(law, ACCELERATION))), x)
        else:
            strength = law[STRENGTH] * (mass if law[PER_MASS] != 0.0 else 1.0)
            total += strength * power_potential(sub(x, load_v(law, CENTER)), law[POWER])
    return total


@entry
def momentum(table: Table, first_body: int, last_body: int, total_out: FloatMatrix):
    """
    Sum the momentum of the bodies first_body <= i < last_body.

    total_out: (1, 6) linear momentum [kg m/s], then angular momentum about the world origin
    [kg m²/s], world axes.
    """
    model, ws = world.model(table), world.workspace(table)
    linear, angular = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for body in range(first_body, last_body):
        w, v = load_spatial(ws.velocity, body)
        n, f = mul_rigid(ws.rigid, body, w, v)
        linear = add(linear, f)
        angular = add(angular, add(n, cross(load3(ws.pose, model.root[body], ORIGIN), f)))
    store3(total_out, 0, 0, linear)
    store3(total_out, 0, 3, angular)
