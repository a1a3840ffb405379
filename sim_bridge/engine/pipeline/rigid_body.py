"""
Textbook rigid-body quantities of the trees alone.

Mass matrix, inverse and forward dynamics, Jacobians. They include rigid bodies, gravity and rotor
inertias (armature) only; no damping, friction, springs, stops, mimic rows or external forces. The
configuration and velocity are the state's. A free joint's coordinates are those of `model`: linear
then angular, world axes, at the body frame's origin.
"""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.table import Table
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.inertia import mul_rigid
from sim_bridge.engine.data.model import ARMATURE, FREE, WELD
from sim_bridge.engine.dynamics.articulated import factorize, has_axis, solve
from sim_bridge.engine.dynamics.evaluate import to_origin_acceleration
from sim_bridge.engine.dynamics.kinematics import move_bodies, place
from sim_bridge.engine.dynamics.pull import add_pulls
from sim_bridge.engine.math.spatial import load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, sub
from sim_bridge.engine.pipeline.observe import accelerate_bodies, accumulate_reactions


@entry
def inverse_dynamics(table: Table, ddq: FloatVector, effort_out: FloatVector):
    """Compute the efforts for the accelerations `ddq`; recursive Newton-Euler."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    for joint in range(ddq.shape[0]):
        ws.ddq[joint] = ddq[joint]
    _to_spatial_acceleration(model.kind, model.v_index, state.v, ws.ddq)
    work = world.loop_work(table)
    ws.wrench[:, :], work.wrench[:, :] = 0.0, 0.0
    add_pulls(model, ws)
    move_bodies(model, state.v, ws.wrench, ws)
    accelerate_bodies(model, ws)
    accumulate_reactions(model, ws, work.wrench)
    for body in range(model.parent.shape[0]):
        at = model.v_index[body]
        n, f = load_spatial(ws.force, body)
        if model.kind[body] >= FREE:
            for k in range(3):
                effort_out[at + k] = f[k]
                effort_out[at + 3 + k] = n[k]
        elif model.kind[body] > WELD:
            s, t = load_spatial(ws.axis, body)
            effort_out[at] = dot(s, n) + dot(t, f) + model.passive[at, ARMATURE] * ddq[at]


@entry
def forward_dynamics(table: Table, effort: FloatVector, ddq_out: FloatVector):
    """Compute the accelerations under the efforts; articulated-body algorithm."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    ws.wrench[:, :] = 0.0
    add_pulls(model, ws)
    for joint in range(effort.shape[0]):
        ws.mode[joint] = 0
    factorize(model, ws, 0.0)
    move_bodies(model, state.v, ws.wrench, ws)
    solve(model, ws, effort, ws.force, ddq_out, ws.constraint)
    to_origin_acceleration(model.kind, model.v_index, state.v, ddq_out)


@entry
def mass_matrix(table: Table, matrix_out: FloatMatrix):
    """Compute the joint-space inertia; composite rigid bodies (Featherstone 2008, section 6.2)."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    matrix_out[:, :] = 0.0
    for body in range(model.parent.shape[0] - 1, -1, -1):
        above = model.parent[body]
        if above >= 0:
            for k in range(10):
                ws.rigid[above, k] += ws.rigid[body, k]
    for body in range(model.parent.shape[0]):
        for column in range(_freedom(model.kind[body])):
            at = model.v_index[body] + column
            w, v = _motion(model.kind, ws.axis, body, column)
            n, f = mul_rigid(ws.rigid, body, w, v)
            carrier = body
            while carrier >= 0:
                for row in range(_freedom(model.kind[carrier])):
                    w, v = _motion(model.kind, ws.axis, carrier, row)
                    value = dot(w, n) + dot(v, f)
                    matrix_out[model.v_index[carrier] + row, at] = value
                    matrix_out[at, model.v_index[carrier] + row] = value
                carrier = model.parent[carrier]
            if model.kind[body] < FREE:
                matrix_out[at, at] += model.passive[at, ARMATURE]


@entry
def jacobian(
    table: Table, body: int, point: tuple[float, float, float], jacobian_out: FloatMatrix
):
    """
    Compute the Jacobian of a point of a body.

    point: (3,) in the body's frame [m]. jacobian_out: (6, nv) for the point's linear velocity,
    then the body's angular velocity, world axes.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    jacobian_out[:, :] = 0.0
    pose = ws.pose[body]
    p_WP = (pose[9] + pose[0] * point[0] + pose[1] * point[1] + pose[2] * point[2],
            pose[10] + pose[3] * point[0] + pose[4] * point[1] + pose[5] * point[2],
            pose[11] + pose[6] * point[0] + pose[7] * point[1] + pose[8] * point[2])
    p_OP = sub(p_WP, load3(ws.pose, model.root[body], ORIGIN))
    carrier = body
    while carrier >= 0:
        for column in range(_freedom(model.kind[carrier])):
            w, v = _motion(model.kind, ws.axis, carrier, column)
            v = add(v, cross(w, p_OP))
            for k in range(3):
                jacobian_out[k, model.v_index[carrier] + column] = v[k]
                jacobian_out[3 + k, model.v_index[carrier] + column] = w[k]
        carrier = model.parent[carrier]


@kernel
def _freedom(kind):
    """Return the number of velocity coordinates of a joint kind."""
    return 6 if kind >= FREE else 1 if has_axis(kind) else 0


@kernel
def _motion(kind, axis, body, column):
    """Return the motion (angular, linear at O) for a unit of a joint's velocity coordinate."""
    if kind[body] >= FREE:
        axle = column % 3
        unit = (1.0 if axle == 0 else 0.0, 1.0 if axle == 1 else 0.0, 1.0 if axle == 2 else 0.0)
        zero = (0.0, 0.0, 0.0)
        return (zero, unit) if column < 3 else (unit, zero)
    return load_spatial(axis, body)


@kernel
def _to_spatial_acceleration(kind, v_index, v, ddq_inout):
    """Convert a free joint's acceleration of its body's origin to the spatial one: less w x v."""
    for body in range(kind.shape[0]):
        if kind[body] >= FREE:
            at = v_index[body]
            turn = cross(load_v(v, at + 3), load_v(v, at))
            for k in range(3):
                ddq_inout[at + k] -= turn[k]
