"""
Textbook rigid-body dynamics for the trees alone, at given configurations and velocities.

They include rigid bodies, gravity and rotor inertias (armature) only; no damping, friction,
springs, stops, mimic rows or external forces. A free joint's coordinates are those of `model`:
linear then angular, world axes, at the body frame's origin.

An entry computes one result for each output row. Its inputs have the same number of rows, or one
row for all. It returns False, and writes nothing, if an input is not finite or a quaternion is
zero. The workspace's modes must be zero. Derivatives by position assume uniform gravity.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.coordinates import (
    ANGULAR_MOMENTUM,
    Coordinates,
    KINETIC,
    MOMENTUM,
    POTENTIAL,
    RATE_SIZE,
)
from sim_bridge.engine.data.inertia import MASS, MOMENT, mul_rigid, RIGID_SIZE
from sim_bridge.engine.data.model import ARMATURE, CENTRE, FREE, KINEMATIC, Model, PULL
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.articulated import factorize, solve
from sim_bridge.engine.dynamics.branch_factor import factorize_mass, invert_mass, solve_mass
from sim_bridge.engine.dynamics.composite import (
    compose,
    fill_coriolis_matrix,
    fill_derivatives,
    fill_mass_matrix,
    set_axes,
    set_axis_rates,
    set_shift_rates,
    store_rate,
)
from sim_bridge.engine.dynamics.configurations import copy_normalized, is_configuration
from sim_bridge.engine.dynamics.evaluate import to_origin_acceleration
from sim_bridge.engine.dynamics.kinematics import (
    add_up_forces,
    move_bodies,
    place,
    place_moments,
    spread_accelerations,
)
from sim_bridge.engine.dynamics.pull import add_pulls, pull_potential
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import add_spatial, load_pose, load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, sub, ZERO


@entry
def inverse_dynamics(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    ddq: FloatMatrix,
    effort_out: FloatMatrix,
):
    """Compute the efforts for the accelerations `ddq`; recursive Newton-Euler."""
    if not (are_configurations(model, q) and are_finite(v) and are_finite(ddq)):
        return False
    for row in range(effort_out.shape[0]):
        place_at(model, q, row, ws)
        find_efforts(model, ws, coordinates, row_of(v, row), row_of(ddq, row), effort_out[row])
    return True


@entry
def gravity_forces(
    model: Model, ws: Workspace, coordinates: Coordinates, q: FloatMatrix, effort_out: FloatMatrix
):
    """Compute the efforts that hold the bodies at rest."""
    if not are_configurations(model, q):
        return False
    up = scale(-1.0, load_v(model.gravity, 0))
    for row in range(effort_out.shape[0]):
        if model.gravity[PULL] != 0.0:
            place_at(model, q, row, ws)
            ws.rhs[:] = 0.0
            find_efforts(model, ws, coordinates, ws.rhs, ws.rhs, effort_out[row])
            continue
        copy_normalized(model, row_of(q, row), ws.q)
        place_moments(model, ws.q, ws)
        # mass and first moment
        compose(model, 4, ws.rigid)
        set_axes(model, ws, coordinates)
        for i in range(effort_out.shape[1]):
            s, t = load_spatial(coordinates.axis, i)
            child = coordinates.moved[i]
            force = scale(ws.rigid[child, MASS], up)
            effort_out[row, i] = dot(s, cross(load3(ws.rigid, child, MOMENT), up)) + dot(t, force)
    return True


@entry
def forward_dynamics(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    effort: FloatMatrix,
    ddq_out: FloatMatrix,
):
    """Compute the accelerations under the efforts; articulated-body algorithm."""
    if not (are_configurations(model, q) and are_finite(v) and are_finite(effort)):
        return False
    for row in range(ddq_out.shape[0]):
        place_at(model, q, row, ws)
        accelerate_coordinates(model, ws, row_of(v, row), row_of(effort, row), ddq_out[row])
    return True


@entry
def mass_matrix(
    model: Model, ws: Workspace, coordinates: Coordinates, q: FloatMatrix, matrix_out: FloatCube
):
    """Compute the joint-space inertia."""
    if not are_configurations(model, q):
        return False
    for row in range(matrix_out.shape[0]):
        place_at(model, q, row, ws)
        set_axes(model, ws, coordinates)
        compose(model, RIGID_SIZE, ws.rigid)
        fill_mass_matrix(model, ws, coordinates, matrix_out[row])
    return True


@entry
def inverse_mass_matrix(
    model: Model, ws: Workspace, coordinates: Coordinates, q: FloatMatrix, inverse_out: FloatCube
):
    """Compute the inverse joint-space inertia; coordinates with prescribed motion have zeros."""
    if not are_configurations(model, q):
        return False
    for row in range(inverse_out.shape[0]):
        place_at(model, q, row, ws)
        set_axes(model, ws, coordinates)
        compose(model, RIGID_SIZE, ws.rigid)
        fill_mass_matrix(model, ws, coordinates, coordinates.factor)
        factorize_mass(model, coordinates)
        invert_mass(coordinates, inverse_out[row])
    return True


@entry
def coriolis_matrix(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    matrix_out: FloatCube,
):
    """Compute C, see `composite.fill_coriolis_matrix`."""
    if not (are_configurations(model, q) and are_finite(v)):
        return False
    for row in range(matrix_out.shape[0]):
        place_at(model, q, row, ws)
        find_twists(model, model.kind, ws, row_of(v, row), ws.velocity)
        add_up(model, ws, coordinates)
        fill_coriolis_matrix(ws, coordinates, matrix_out[row])
    return True


@entry
def inverse_dynamics_derivatives(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    ddq: FloatMatrix,
    derivative_out: FloatCube,
):
    """
    Compute the derivatives of inverse dynamics.

    derivative_out: derivatives by positions, by velocities, by accelerations, (n, 3 nv, nv).
    """
    if not (are_configurations(model, q) and are_finite(v) and are_finite(ddq)):
        return False
    nv = derivative_out.shape[2]
    for row in range(derivative_out.shape[0]):
        place_at(model, q, row, ws)
        find_efforts(model, ws, coordinates, row_of(v, row), row_of(ddq, row), ws.given)
        out = derivative_out[row]
        derive(model, ws, coordinates, out[0:nv], out[nv : 2 * nv])
        fill_mass_matrix(model, ws, coordinates, out[2 * nv : 3 * nv])
    return True


@entry
def forward_dynamics_derivatives(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    effort: FloatMatrix,
    derivative_out: FloatCube,
):
    """
    Compute the derivatives of forward dynamics.

    derivative_out: derivatives by positions, by velocities, by efforts, (n, 3 nv, nv).
    """
    if not (are_configurations(model, q) and are_finite(v) and are_finite(effort)):
        return False
    nv = derivative_out.shape[2]
    for row in range(derivative_out.shape[0]):
        place_at(model, q, row, ws)
        velocity = row_of(v, row)
        accelerate_coordinates(model, ws, velocity, row_of(effort, row), ws.rhs)
        find_efforts(model, ws, coordinates, velocity, ws.rhs, ws.given)
        out = derivative_out[row]
        derive(model, ws, coordinates, out[0:nv], out[nv : 2 * nv])
        fill_mass_matrix(model, ws, coordinates, coordinates.factor)
        factorize_mass(model, coordinates)
        for k in range(2 * nv):
            for column in range(nv):
                out[k, column] = -out[k, column]
        solve_mass(coordinates, out[0:nv])
        solve_mass(coordinates, out[nv : 2 * nv])
        invert_mass(coordinates, out[2 * nv : 3 * nv])
    return True


@entry
def totals(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    first: int,
    q: FloatMatrix,
    v: FloatMatrix,
    total_out: FloatMatrix,
):
    """Compute sums over all bodies: Coordinates.total from item `first` on."""
    if not (are_configurations(model, q) and are_finite(v)):
        return False
    for row in range(total_out.shape[0]):
        place_at(model, q, row, ws)
        velocity = row_of(v, row)
        find_twists(model, model.kind, ws, velocity, ws.velocity)
        sum_up(model, ws, velocity, coordinates.total)
        for k in range(total_out.shape[1]):
            total_out[row, k] = coordinates.total[first + k]
    return True


@kernel
def sum_up(model, ws, velocity, total_out):
    """Write Coordinates.total from the bodies' poses, inertias and velocities."""
    mass, kinetic = 0.0, 0.0
    moment, linear, angular, base = ZERO, ZERO, ZERO, ZERO
    for body in range(model.parent.shape[0]):
        if body == 0:
            base = load3(ws.pose, body, ORIGIN)
        w, v = load_spatial(ws.velocity, body)
        n, f = mul_rigid(ws.rigid, body, w, v)
        kinetic += 0.5 * (dot(w, n) + dot(v, f))
        # moments are taken about the first body's origin, since the other bodies are near it
        arm = sub(load3(ws.pose, model.root[body], ORIGIN), base)
        mass += ws.rigid[body, MASS]
        moment = add(moment, add(load3(ws.rigid, body, MOMENT), scale(ws.rigid[body, MASS], arm)))
        linear = add(linear, f)
        angular = add(angular, add(n, cross(arm, f)))
    for i in range(velocity.shape[0]):
        kinetic += 0.5 * model.passive[i, ARMATURE] * velocity[i] * velocity[i]
    center = scale(1.0 / mass, moment) if mass > 0.0 else ZERO
    for k in range(3):
        total_out[MOMENTUM + k] = linear[k]
        total_out[ANGULAR_MOMENTUM + k] = angular[k] - cross(center, linear)[k]
    total_out[KINETIC] = kinetic
    potential = -dot(load_v(model.gravity, 0), add(scale(mass, base), moment))
    if model.gravity[PULL] != 0.0:
        for row in range(model.pulled.shape[0]):
            R, o = load_pose(ws.pose, model.pulled_body[row])
            p = add(o, mul_mv(R, load_v(model.pulled[row], CENTRE)))
            potential += model.pulled[row, MASS] * pull_potential(model.gravity, p)
    total_out[POTENTIAL] = potential


@kernel
def set_pulls(model, ws):
    """Write the gravity forces towards a point into ws.wrench."""
    ws.wrench[:, :] = 0.0
    add_pulls(model, ws)


@kernel
def find_efforts(model, ws, coordinates, v, ddq, effort_out):
    """Write the efforts; leave accelerations with gravity in ws, and forces through the joints."""
    set_pulls(model, ws)
    move_bodies(model, v, ws.wrench, ws)
    for i in range(ddq.shape[0]):
        ws.ddq[i] = ddq[i]
    to_spatial_acceleration(model, v, ws.ddq)
    spread_accelerations(model, ws)
    for body in range(model.parent.shape[0]):
        dw, dv = load_spatial(ws.acceleration, body)
        n, f = mul_rigid(ws.rigid, body, dw, dv)
        add_spatial(ws.force, body, n, f)
    add_up_forces(model, ws)
    set_axes(model, ws, coordinates)
    for i in range(ddq.shape[0]):
        s, t = load_spatial(coordinates.axis, i)
        n, f = load_spatial(ws.force, coordinates.moved[i])
        effort_out[i] = dot(s, n) + dot(t, f) + model.passive[i, ARMATURE] * ddq[i]


@kernel
def accelerate_coordinates(model, ws, v, effort, ddq_out):
    """Write the accelerations under the efforts."""
    factorize(model, ws, 0.0)
    set_pulls(model, ws)
    move_bodies(model, v, ws.wrench, ws)
    solve(model, ws, effort, ws.force, ddq_out, ws.constraint)
    to_origin_acceleration(model.kind, model.v_index, v, ddq_out)


@kernel
def add_up(model, ws, coordinates):
    """Compute composite inertias and their rates, and the coordinate axes with their rates."""
    set_axes(model, ws, coordinates)
    set_axis_rates(model, ws, coordinates)
    for body in range(model.parent.shape[0]):
        store_rate(ws, body, coordinates.composite_rate)
    compose(model, RIGID_SIZE, ws.rigid)
    compose(model, RATE_SIZE, coordinates.composite_rate)


@kernel
def derive(model, ws, coordinates, by_q_out, by_v_out):
    """Write the derivatives of the efforts from `find_efforts`."""
    for body in range(model.parent.shape[0]):
        for k in range(6):
            ws.acceleration[body, k] += ws.drift[body, k]
    add_up(model, ws, coordinates)
    set_shift_rates(model, ws, coordinates)
    fill_derivatives(model, ws, coordinates, by_q_out, by_v_out)


@kernel
def to_spatial_acceleration(model, v, ddq_inout):
    """Convert free joints' origin accelerations to spatial ones: subtract w x v."""
    for body in range(model.parent.shape[0]):
        # `move_bodies` has already done this for kinematic joints
        if FREE <= model.kind[body] < KINEMATIC:
            at = model.v_index[body]
            turn = cross(load_v(v, at + 3), load_v(v, at))
            for k in range(3):
                ddq_inout[at + k] -= turn[k]


@kernel
def place_at(model, q, row, ws):
    """Place the bodies at the configuration in a row."""
    copy_normalized(model, row_of(q, row), ws.q)
    place(model, ws.q, ws)


@kernel
def row_of(matrix, number):
    """Return a row, or the only one."""
    return matrix[min(number, matrix.shape[0] - 1)]


@kernel
def are_configurations(model, q):
    """Return whether all rows are configurations."""
    are_right = True
    for row in range(q.shape[0]):
        are_right = are_right and is_configuration(model, q[row])
    return are_right


@kernel
def are_finite(x):
    """Return whether all numbers are finite."""
    for row in range(x.shape[0]):
        for k in range(x.shape[1]):
            if not math.isfinite(x[row, k]):
                return False
    return True
