"""
Frames on a robot's bodies: poses and Jacobians; the robot's centre of mass and momentum.

A site is a frame fixed to a body, as in `observe`. Rows, inputs and results are as in
`rigid_body`.
"""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.coordinates import Coordinates
from sim_bridge.engine.data.inertia import MASS, MOMENT, mul_rigid, RIGID_SIZE
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.composite import (
    compose,
    moment_rate,
    mul_inertia_rate,
    set_axes,
    set_axis,
    set_axis_rates,
)
from sim_bridge.engine.dynamics.configurations import copy_normalized
from sim_bridge.engine.dynamics.kinematics import place_body, place_moments
from sim_bridge.engine.dynamics.twists import find_twists, point_velocity
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import carried, load_pose, load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, scale, sub, ZERO
from sim_bridge.engine.pipeline.rigid_body import (
    add_up,
    are_configurations,
    are_finite,
    place_at,
    row_of,
)


@entry
def placements(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    site_body: IntVector,
    site_frame: FloatMatrix,
    first: int,
    q: FloatMatrix,
    pose_out: FloatCube,
):
    """
    Compute the poses of consecutive sites.

    pose_out: matrices by rows, from site to world coordinates, (n, number of sites, 16).
    """
    if not are_configurations(model, q):
        return False
    for row in range(pose_out.shape[0]):
        copy_normalized(model, row_of(q, row), ws.q)
        if pose_out.shape[1] == 1:
            place_path(model, ws, site_body[first], coordinates.path)
        else:
            for body in range(model.parent.shape[0]):
                _, _ = place_body(model, ws.q, ws, body)
        for number in range(pose_out.shape[1]):
            R, p = site_pose(ws, site_body, site_frame, first + number)
            out = pose_out[row, number]
            for k in range(3):
                out[4 * k], out[4 * k + 1], out[4 * k + 2] = R[k]
                out[4 * k + 3] = p[k]
                out[12 + k] = 0.0
            out[15] = 1.0
    return True


@entry
def jacobian(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    site_body: IntVector,
    site_frame: FloatMatrix,
    site: int,
    point: FloatMatrix,
    q: FloatMatrix,
    jacobian_out: FloatCube,
):
    """
    Compute the Jacobian of a site's point, given in the site's frame.

    jacobian_out: rows for linear, then angular velocity, world axes, (n, 6, nv).
    """
    if not (are_configurations(model, q) and are_finite(point)):
        return False
    body = site_body[site]
    for row in range(jacobian_out.shape[0]):
        copy_normalized(model, row_of(q, row), ws.q)
        depth = place_path(model, ws, body, coordinates.path)
        for k in range(depth):
            set_axis(model, ws, coordinates, coordinates.path[k])
        p = point_of_site(ws, site_body, site_frame, site, row_of(point, row))
        p_OP = sub(p, load3(ws.pose, model.root[body], ORIGIN))
        out = jacobian_out[row]
        out[:, :] = 0.0
        i = coordinates.tip[body]
        while i >= 0:
            w, v = load_spatial(coordinates.axis, i)
            store_column(out, i, add(v, cross(w, p_OP)), w)
            i = coordinates.above[i]
    return True


@entry
def jacobian_rate(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    site_body: IntVector,
    site_frame: FloatMatrix,
    site: int,
    point: FloatMatrix,
    q: FloatMatrix,
    v: FloatMatrix,
    rate_out: FloatCube,
):
    """Compute the time derivative of `jacobian` at constant velocities."""
    if not (are_configurations(model, q) and are_finite(point) and are_finite(v)):
        return False
    body = site_body[site]
    for row in range(rate_out.shape[0]):
        copy_normalized(model, row_of(q, row), ws.q)
        for k in range(model.parent.shape[0]):
            _, _ = place_body(model, ws.q, ws, k)
        find_twists(model, model.kind, ws, row_of(v, row), ws.velocity)
        set_axes(model, ws, coordinates)
        set_axis_rates(model, ws, coordinates)
        p = point_of_site(ws, site_body, site_frame, site, row_of(point, row))
        p_OP = sub(p, load3(ws.pose, model.root[body], ORIGIN))
        velocity = point_velocity(model, ws, ws.velocity, body, p)
        out = rate_out[row]
        out[:, :] = 0.0
        i = coordinates.tip[body]
        while i >= 0:
            w, _ = load_spatial(coordinates.axis, i)
            dw, dv = load_spatial(coordinates.axis_rate, i)
            store_column(out, i, add(add(dv, cross(dw, p_OP)), cross(w, velocity)), dw)
            i = coordinates.above[i]
    return True


@entry
def center_of_mass(
    model: Model, ws: Workspace, coordinates: Coordinates, q: FloatMatrix, center_out: FloatMatrix
):
    """Compute the centre of mass [m], world frame; without mass, the first body's origin."""
    if not are_configurations(model, q):
        return False
    for row in range(center_out.shape[0]):
        copy_normalized(model, row_of(q, row), ws.q)
        place_moments(model, ws.q, ws)
        mass, moment, base = 0.0, ZERO, ZERO
        for body in range(model.parent.shape[0]):
            if body == 0:
                base = load3(ws.pose, body, ORIGIN)
            # moments are taken about the first body's origin, since the other bodies are near it
            arm = sub(load3(ws.pose, model.root[body], ORIGIN), base)
            m = ws.rigid[body, MASS]
            mass += m
            moment = add(moment, add(load3(ws.rigid, body, MOMENT), scale(m, arm)))
        center = add(base, scale(1.0 / mass if mass > 0.0 else 0.0, moment))
        center_out[row, 0], center_out[row, 1], center_out[row, 2] = center
    return True


@entry
def centroidal_matrix(
    model: Model, ws: Workspace, coordinates: Coordinates, q: FloatMatrix, matrix_out: FloatCube
):
    """
    Compute the contribution of each coordinate's velocity to the momentum.

    matrix_out: (n, 6, nv) for the linear momentum, then the angular one about the centre of mass;
    or (n, 3, nv) for the centre-of-mass Jacobian; world axes.
    """
    if not are_configurations(model, q):
        return False
    for row in range(matrix_out.shape[0]):
        if matrix_out.shape[1] == 3:
            # the Jacobian needs no moments of inertia
            copy_normalized(model, row_of(q, row), ws.q)
            place_moments(model, ws.q, ws)
        else:
            place_at(model, q, row, ws)
        set_axes(model, ws, coordinates)
        compose(model, RIGID_SIZE, ws.rigid)
        mass, center, _ = mass_center(model, ws, coordinates)
        for i in range(coordinates.above.shape[0]):
            child = coordinates.moved[i]
            w, v = load_spatial(coordinates.axis, i)
            n, f = mul_rigid(ws.rigid, child, w, v)
            arm = sub(load3(ws.pose, model.root[child], ORIGIN), center)
            store_momentum(matrix_out[row], i, mass, f, add(n, cross(arm, f)))
    return True


@entry
def centroidal_matrix_rate(
    model: Model,
    ws: Workspace,
    coordinates: Coordinates,
    q: FloatMatrix,
    v: FloatMatrix,
    rate_out: FloatCube,
):
    """Compute the time derivative of `centroidal_matrix`."""
    if not (are_configurations(model, q) and are_finite(v)):
        return False
    for row in range(rate_out.shape[0]):
        place_at(model, q, row, ws)
        find_twists(model, model.kind, ws, row_of(v, row), ws.velocity)
        add_up(model, ws, coordinates)
        mass, center, velocity = mass_center(model, ws, coordinates)
        for i in range(coordinates.above.shape[0]):
            child = coordinates.moved[i]
            w, v_O = load_spatial(coordinates.axis, i)
            _, f = mul_rigid(ws.rigid, child, w, v_O)
            dn, df = mul_inertia_rate(coordinates.composite_rate, child, w, v_O)
            dw, dv = load_spatial(coordinates.axis_rate, i)
            more_n, more_f = mul_rigid(ws.rigid, child, dw, dv)
            dn, df = add(dn, more_n), add(df, more_f)
            arm = sub(load3(ws.pose, model.root[child], ORIGIN), center)
            dn = sub(add(dn, cross(arm, df)), cross(velocity, f))
            store_momentum(rate_out[row], i, mass, df, dn)
    return True


@kernel
def mass_center(model, ws, coordinates):
    """
    Return mass, centre of mass and its velocity, from composite inertias.

    The velocity follows from the composite rates, as last computed.
    """
    mass, moment, rate, base = 0.0, ZERO, ZERO, ZERO
    for body in range(model.parent.shape[0]):
        if body == 0:
            base = load3(ws.pose, body, ORIGIN)
        if model.parent[body] < 0:
            arm = sub(load3(ws.pose, body, ORIGIN), base)
            m = ws.rigid[body, MASS]
            mass += m
            moment = add(moment, add(load3(ws.rigid, body, MOMENT), scale(m, arm)))
            rate = add(rate, moment_rate(coordinates.composite_rate, body))
    share = 1.0 / mass if mass > 0.0 else 0.0
    return mass, add(base, scale(share, moment)), scale(share, rate)


@kernel
def store_momentum(matrix_out, column, mass, linear, angular):
    """Write a column of a momentum matrix, or of a centre-of-mass Jacobian."""
    share = 1.0
    if matrix_out.shape[0] == 3:
        share = 1.0 / mass if mass > 0.0 else 0.0
    for k in range(3):
        matrix_out[k, column] = share * linear[k]
        if matrix_out.shape[0] > 3:
            matrix_out[3 + k, column] = angular[k]


@kernel
def store_column(matrix_out, column, linear, angular):
    """Write a Jacobian column."""
    for k in range(3):
        matrix_out[k, column] = linear[k]
        matrix_out[3 + k, column] = angular[k]


@kernel
def site_pose(ws, site_body, site_frame, site):
    """Return a site's rotation and origin in the world."""
    R, p = load_pose(site_frame, site)
    return carried(load_pose(ws.pose, site_body[site]), R, p)


@kernel
def point_of_site(ws, site_body, site_frame, site, point):
    """Return the world position of a point given in a site's frame."""
    R, p = site_pose(ws, site_body, site_frame, site)
    return add(p, mul_mv(R, load_v(point, 0)))


@kernel
def place_path(model, ws, body, path_out):
    """Place a body and all bodies carrying it; write their indices and return their number."""
    depth, carrier = 0, body
    while carrier >= 0:
        path_out[depth] = carrier
        depth += 1
        carrier = model.parent[carrier]
    for k in range(depth - 1, -1, -1):
        _, _ = place_body(model, ws.q, ws, path_out[k])
    return depth
