"""Terms of a contact problem at the current state, for given contacts."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage
from sim_bridge.engine.contact.islands import bodies_of
from sim_bridge.engine.contact.prepare import begin_impact, directions, set_laws
from sim_bridge.engine.contact.solve import least_velocity, passes_by
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Row
from sim_bridge.engine.data.fields import AT_INSTANT, START
from sim_bridge.engine.data.inertia import mul_rigid
from sim_bridge.engine.data.model import ARMATURE, DAMPING, FREE, REFERENCE, STIFFNESS
from sim_bridge.engine.dynamics.articulated import factorize, has_axis, solve
from sim_bridge.engine.dynamics.evaluate import to_origin_acceleration
from sim_bridge.engine.dynamics.fields import push_at
from sim_bridge.engine.dynamics.kinematics import move_bodies, place
from sim_bridge.engine.dynamics.medium import oppose
from sim_bridge.engine.dynamics.pull import push_bodies
from sim_bridge.engine.dynamics.twists import find_twists, relative_velocity
from sim_bridge.engine.math.spatial import load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, sub, ZERO


@entry
def current_dynamics(table: Table, mass_out: FloatMatrix, ddq_out: FloatVector):
    """
    Compute the mass matrix of all coordinates, and their accelerations without any efforts.

    Includes rigid bodies, gravity and rotor inertias only, as in `pipeline.rigid_body`; also
    places the bodies.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    place(model, state.q, ws)
    ws.wrench[:, :], ws.rhs[:] = 0.0, 0.0
    ws.mode[:] = 0
    factorize(model, ws, 0.0)
    move_bodies(model, state.v, ws.wrench, ws)
    solve(model, ws, ws.rhs, ws.force, ddq_out, ws.constraint)
    to_origin_acceleration(model.kind, model.v_index, state.v, ddq_out)
    mass_out[:, :] = 0.0
    for body in range(model.parent.shape[0] - 1, -1, -1):
        above = model.parent[body]
        if above >= 0:
            for k in range(ws.rigid.shape[1]):
                ws.rigid[above, k] += ws.rigid[body, k]
    for body in range(model.parent.shape[0]):
        at = model.v_index[body]
        if model.kind[body] >= FREE:
            for k in range(3):
                axis = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
                n, f = mul_rigid(ws.rigid, body, ZERO, axis)
                add_generalized_force(model, ws, body, n, f, mass_out[at + k])
                n, f = mul_rigid(ws.rigid, body, axis, ZERO)
                add_generalized_force(model, ws, body, n, f, mass_out[at + 3 + k])
        elif has_axis(model.kind[body]):
            s, t = load_spatial(ws.axis, body)
            n, f = mul_rigid(ws.rigid, body, s, t)
            add_generalized_force(model, ws, body, n, f, mass_out[at])
            mass_out[at, at] += model.passive[at, ARMATURE]
            for column in range(mass_out.shape[0]):
                if mass_out[at, column] != 0.0:
                    mass_out[column, at] = mass_out[at, column]


@entry
def current_efforts(table: Table, effort_out: FloatVector):
    """
    Compute the efforts other than applied ones [N, N m], after `current_dynamics`.

    These come from pushes, force fields and gravity towards a point, joint springs and dampers,
    and the medium: drag, and the support of links without gravity.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    for joint in range(effort_out.shape[0]):
        law = model.passive[joint]
        effort_out[joint] = -law[DAMPING] * state.v[joint]
        if model.q_of_v[joint] >= 0:
            stretch = state.q[model.q_of_v[joint]] - law[REFERENCE]
            effort_out[joint] -= law[STIFFNESS] * stretch
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = state.v[joint]
    push_bodies(model, state.wrench, ws)
    push_at(table, world.fields(table).time[START], AT_INSTANT)
    for body in range(model.parent.shape[0]):
        n, f = load_spatial(ws.wrench, body)
        arm = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
        add_generalized_force(model, ws, body, add(n, cross(arm, f)), f, effort_out)
    if model.medium_body.shape[0] > 0:
        ws.force[:, :] = 0.0
        find_twists(model, model.kind, ws, state.v, ws.twist)
        oppose(model, ws, 0.0)
        for body in range(model.parent.shape[0]):
            n, f = load_spatial(ws.force, body)
            add_generalized_force(model, ws, body, scale(-1.0, n), scale(-1.0, f), effort_out)


@entry
def current_response(table: Table, effort: FloatVector, ddq_out: FloatVector):
    """Compute the accelerations caused by additional efforts, after `current_dynamics`."""
    model, ws = world.model(table), world.workspace(table)
    ws.force[:, :] = 0.0
    ws.rhs[:] = effort
    solve(model, ws, ws.rhs, ws.force, ddq_out, ws.constraint)


@entry
def force_rows(
    table: Table,
    body: IntVector,
    point: FloatMatrix,
    direction: FloatMatrix,
    turns: int,
    rows_inout: FloatMatrix,
):
    """
    Add the generalized force of a unit force to each row: the Jacobian of a point's velocity.

    The bodies must be placed. body: body indices, (n,), -1 for the world. point, direction: world
    frame, (n, 3). turns: 1 for unit torques, which give Jacobians of angular velocities.
    rows_inout: (n, nv).
    """
    model, ws = world.model(table), world.workspace(table)
    for row in range(body.shape[0]):
        if body[row] >= 0:
            f = load3(direction, row, 0)
            arm = sub(load3(point, row, 0), load3(ws.pose, model.root[body[row]], ORIGIN))
            torque = cross(arm, f)
            if turns != 0:
                torque, f = f, ZERO
            add_generalized_force(model, ws, body[row], torque, f, rows_inout[row])


@kernel
def add_generalized_force(model, ws, body, torque, force, effort_inout):
    """Add the generalized force of a wrench on a body, about its tree's O, to all coordinates."""
    while body >= 0:
        at = model.v_index[body]
        if model.kind[body] >= FREE:
            for k in range(3):
                effort_inout[at + k] += force[k]
                effort_inout[at + 3 + k] += torque[k]
        elif has_axis(model.kind[body]):
            s, t = load_spatial(ws.axis, body)
            effort_inout[at] += dot(s, torque) + dot(t, force)
        body = model.parent[body]


@entry
def current_laws(table: Table, velocity: FloatVector):
    """
    Fill the laws of the handle's contacts; their gaps belong to the current state.

    velocity: generalized velocity at the step's end without contacts, (nv,).
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    geometry, contact_materials = world.geometry(table), world.contact_materials(table)
    contacts, laws, options = world.contacts(table), world.laws(table), world.options(table)
    twist, h = world.response(table).twist, options.time_step
    find_twists(model, model.kind, ws, state.v, twist)
    set_laws(model, ws, geometry, contact_materials, contacts, twist, h, laws)
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            # as in a step, the law belongs to its middle
            laws.gap[contact] += 0.5 * h * laws.approach[contact]
            law = contact_materials.law[laws.law[contact]]
            begin_impact(law, h, contact, 0.0, laws)
    if options.refine != 0:
        call_stage(options.refine, table, 0)
    find_twists(model, model.kind, ws, velocity, twist)
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            a, b = bodies_of(geometry, contacts.geometry, contact)
            relative = relative_velocity(model, ws, twist, a, b, load3(contacts.point, contact, 0))
            n = directions(laws, contact)[Row.NORMAL]
            u_n = dot(n, relative)
            laws.wanted[contact] = laws.target[contact, Row.NORMAL] + least_velocity(
                contact_materials.law[laws.law[contact]],
                laws.softness[contact, Row.NORMAL],
                laws.gap[contact],
                laws.approach[contact],
                u_n,
                h,
                options.touching,
                passes_by(model, ws, twist, a, b, n, u_n - laws.approach[contact]),
            )
