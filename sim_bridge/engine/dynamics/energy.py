"""Energy and momentum of bodies, from the poses and velocities in a workspace."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.table import Table
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.inertia import MASS, MOMENT, mul_rigid
from sim_bridge.engine.data.model import ARMATURE, CENTRE, LIFTED, PULL, REFERENCE, STIFFNESS
from sim_bridge.engine.dynamics.medium import point_from_origin
from sim_bridge.engine.dynamics.pull import pull_potential
from sim_bridge.engine.dynamics.set_joint_laws import position_of
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import load_pose, load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, store3


@entry
def energy(table: Table, first_body: int, last_body: int, first_v: int, last_v: int):
    """
    Return the (kinetic, potential) energy [J] of some bodies and joints.

    Covers the bodies first_body <= i < last_body and the joints of the velocity coordinates
    first_v <= i < last_v. The kinetic energy includes the rotors' (armature) share. The potential
    energy is that of gravity, a uniform one zero at the world's origin, and of joint springs.
    Masses that gravity does not act on have no potential energy.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    kinetic, potential = 0.0, 0.0
    for body in range(first_body, last_body):
        w, v = load_spatial(ws.velocity, body)
        n, f = mul_rigid(ws.rigid, body, w, v)
        kinetic += 0.5 * (dot(w, n) + dot(v, f))
        # first moment about the world's origin
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
    for joint in range(first_v, last_v):
        kinetic += 0.5 * model.passive[joint, ARMATURE] * state.v[joint] * state.v[joint]
        stretch = position_of(model.q_of_v, state.q, joint) - model.passive[joint, REFERENCE]
        potential += 0.5 * model.passive[joint, STIFFNESS] * stretch * stretch
    return kinetic, potential


@entry
def momentum(table: Table, first_body: int, last_body: int, total_out: FloatMatrix):
    """
    Sum the momentum of the bodies first_body <= i < last_body.

    total_out: (1, 6) linear [kg m/s], then angular about the world's origin [kg m²/s], world axes.
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
