"""
Observation of the current state: poses, motions and joint reactions at this instant.

`step` works at the middle of each step. Values read between steps are computed here, from scratch,
for the current state: the forward dynamics at (q, v, u), so all quantities with one stamp belong
to one instant. `laws_at_instant` gives stop, friction and hold efforts; bodies pushed by contacts
accelerate as in the last step, see `last_step`.
"""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.contact.keep_wrenches import move_to_bodies
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import AT_INSTANT, START
from sim_bridge.engine.data.inertia import mul_rigid
from sim_bridge.engine.dynamics.evaluate import accelerate, factorize_trees, to_origin_acceleration
from sim_bridge.engine.dynamics.fields import push_at
from sim_bridge.engine.dynamics.kinematics import add_up_forces, place, spread_accelerations
from sim_bridge.engine.dynamics.medium import oppose_reactions
from sim_bridge.engine.dynamics.pull import push_bodies
from sim_bridge.engine.math.mat3 import load_m, mul_mm, mul_mv, mul_tv, store_m
from sim_bridge.engine.math.spatial import (
    ANGULAR,
    FORCE,
    LINEAR,
    load_spatial,
    ORIGIN,
    ROTATION,
    store_spatial,
    TORQUE,
)
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, scale, store3, sub
from sim_bridge.engine.pipeline.last_step import keep_accelerations
from sim_bridge.engine.pipeline.laws_at_instant import (
    set_current_efforts,
    set_current_laws,
    update_current_active_set,
)
from sim_bridge.engine.pipeline.phase_calls import (
    build_current_loops,
    evaluate_current_actuators,
    obey_current_loops,
    read_loop_reactions,
    set_current_actuator_efforts,
)
from sim_bridge.engine.pipeline.smooth import may_be_smooth

# columns of the sites' array
SITE_ROTATION = 0
SITE_POSITION = 9
SITE_W = 12
SITE_V = 15
SITE_DW = 18
SITE_DV = 21
SITE_TORQUE = 24
SITE_FORCE = 27
SITE_SIZE = 30

_MAX_PIVOTS = 100


@entry
def observe(table: Table, site_body: IntVector, site_frame: FloatMatrix, site_out: FloatMatrix):
    """
    Evaluate the workspace in a handle's table at its state, and every site on the bodies.

    The state does not change. Nothing is computed if q, v, u and the pushes equal the last call's;
    then False is returned. After any other change, and after steps, the caller must fill the
    workspace's `pushes` with nan first. Afterwards the workspace's `pose`, `velocity` and `ddq`
    are current, `acceleration` holds the spatial accelerations less gravity, and `force` the
    reaction at each body's joint, parent on child; about each tree's O.

    A site is a frame fixed to a body. site_body: body indices, (ns,). site_frame: rotation by
    rows, then origin [m], in the body's frame, (ns, 12). site_out: (ns, 30): rotation by rows and
    origin in the world; angular and linear velocity, angular and linear acceleration of the site
    in world axes; torque about the site and force through the body's joint, child on parent, in
    the site's axes.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    changed = copy_changed(state.q, ws.q)
    changed = copy_changed(state.v, ws.v) or changed
    for body in range(state.wrench.shape[0]):
        for k in range(6):
            total = (
                state.wrench[body, k] + state.contact_wrench[body, k] + state.yield_wrench[body, k]
            )
            if total != ws.pushes[body, k]:
                ws.pushes[body, k] = total
                changed = True
    changed = copy_changed(state.u, ws.u) or changed
    if not changed:
        return False
    place(model, ws.q, ws)
    push_bodies(model, ws.pushes, ws)
    move_to_bodies(model, state, ws.pose, ws.wrench)
    push_at(table, world.fields(table).time[START], AT_INSTANT)
    if world.options(table).actuators != 0:
        evaluate_current_actuators(world.options(table), table)
    find_accelerations(model, world.options(table), state, ws, table)
    keep_accelerations(table)
    if world.options(table).loops != 0:
        read_loop_reactions(world.options(table), table)
    accelerate_bodies(model, ws)
    accumulate_reactions(model, ws, world.loop_work(table).wrench)
    if model.medium.shape[0] > 0:
        oppose_reactions(model, ws)
    to_origin_acceleration(model.kind, model.v_index, ws.v, ws.ddq)
    observe_sites(model, ws, site_body, site_frame, site_out)
    return True


@kernel
def copy_changed(source, into_out):
    """Copy a vector; return whether it differed."""
    changed = False
    for k in range(source.shape[0]):
        if source[k] != into_out[k]:
            into_out[k] = source[k]
            changed = True
    return changed


@kernel
def find_accelerations(model, options, state, ws, table):
    """Solve for the accelerations and the matching joint modes."""
    h = options.time_step
    if (
        options.is_smooth != 0
        and state.contact_size[0] == 0
        and may_be_smooth(model, options, state)
    ):
        # fifth-order steps accept only motion that they resolve, so they need no implicit inertia
        h = 0.0
    set_current_laws(model, state, ws, options.time_step)
    if options.actuators != 0:
        set_current_actuator_efforts(options, table)
    for pivots in range(_MAX_PIVOTS):
        factorize_trees(model, ws, h, True)
        if options.loops != 0:
            build_current_loops(options, table)
        set_current_efforts(ws)
        accelerate(model, ws.v, ws.wrench, ws.v, 0.0, ws, ws.ddq)
        if options.loops != 0:
            obey_current_loops(options, table)
        changed = update_current_active_set(model, ws, 2 * pivots > _MAX_PIVOTS)
        if changed == 0:
            break


@kernel
def accelerate_bodies(model, ws):
    """Compute the bodies' spatial accelerations, less gravity, from the joints' accelerations."""
    spread_accelerations(model, ws)
    for body in range(model.parent.shape[0]):
        for k in range(6):
            ws.acceleration[body, k] += ws.drift[body, k]


@kernel
def accumulate_reactions(model, ws, spatial_wrench):
    """
    Compute the force through each body's joint, parent on child, about O.

    Newton-Euler equations of the subtree carried by the joint. spatial_wrench: other wrenches on
    the bodies, about O, (nb, 6).
    """
    for body in range(model.parent.shape[0]):
        w, v = load_spatial(ws.velocity, body)
        momentum_n, momentum_f = mul_rigid(ws.rigid, body, w, v)
        dw, dv = load_spatial(ws.acceleration, body)
        n, f = mul_rigid(ws.rigid, body, dw, dv)
        outer_f = load3(ws.wrench, body, FORCE)
        p_OB = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
        n = add(n, add(cross(w, momentum_n), cross(v, momentum_f)))
        n = sub(n, add(load3(ws.wrench, body, TORQUE), cross(p_OB, outer_f)))
        f = sub(add(f, cross(w, momentum_f)), outer_f)
        more_n, more_f = load_spatial(spatial_wrench, body)
        store_spatial(ws.force, body, sub(n, more_n), sub(f, more_f))
    add_up_forces(model, ws)


@kernel
def observe_sites(model, ws, site_body, site_frame, site_out):
    """Compute the sites' motions and reactions from the bodies and their joints."""
    for site in range(site_body.shape[0]):
        body = site_body[site]
        R_WB = load_m(ws.pose, body, ROTATION)
        R_WS = mul_mm(R_WB, load_m(site_frame, site, ROTATION))
        p_WS = add(load3(ws.pose, body, ORIGIN), mul_mv(R_WB, load3(site_frame, site, ORIGIN)))
        p_OS = sub(p_WS, load3(ws.pose, model.root[body], ORIGIN))
        w = load3(ws.velocity, body, ANGULAR)
        v = add(load3(ws.velocity, body, LINEAR), cross(w, p_OS))
        dw = load3(ws.acceleration, body, ANGULAR)
        # classical acceleration of the point: add w x v to the spatial one, and gravity, which
        # ws.acceleration leaves out
        dv = add(add(load3(ws.acceleration, body, LINEAR), cross(dw, p_OS)), cross(w, v))
        dv = add(dv, load_v(model.gravity, 0))
        f = load3(ws.force, body, FORCE)
        n = sub(load3(ws.force, body, TORQUE), cross(p_OS, f))
        store_m(site_out, site, SITE_ROTATION, R_WS)
        store3(site_out, site, SITE_POSITION, p_WS)
        store3(site_out, site, SITE_W, w)
        store3(site_out, site, SITE_V, v)
        store3(site_out, site, SITE_DW, dw)
        store3(site_out, site, SITE_DV, dv)
        store3(site_out, site, SITE_TORQUE, mul_tv(R_WS, scale(-1.0, n)))
        store3(site_out, site, SITE_FORCE, mul_tv(R_WS, scale(-1.0, f)))
