"""Response of the trees to contact impulses."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.prepare import world_impulse
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.dynamics.articulated import solve
from sim_bridge.engine.math.spatial import add_spatial, load_spatial, ORIGIN, store_spatial
from sim_bridge.engine.math.vec3 import add, cross, load3, scale, sub, ZERO


@subroutine
def gather_wrenches(ws, geometry, contacts, laws, solution, h, response):
    """Sum the mean contact forces over the step into response.wrench; mark pushed bodies."""
    response.wrench[:, :] = 0.0
    response.pushed[:] = 0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            push, twist = world_impulse(laws, solution, contact)
            if push != ZERO:
                add_push(
                    ws,
                    geometry,
                    contacts,
                    contact,
                    scale(1.0 / h, push),
                    scale(1.0 / h, twist),
                    response,
                )


@kernel
def add_push(ws, geometry, contacts, contact, force, torque, response):
    """Add a contact's force and torque to both bodies, about their frames' origins."""
    for side in range(2):
        body = geometry.body[contacts.geometry[contact, side]]
        if body >= 0:
            response.pushed[body] = 1
            sign = 1.0 - 2.0 * side
            arm = sub(load3(contacts.point, contact, 0), load3(ws.pose, body, ORIGIN))
            n = add(torque, cross(arm, force))
            add_spatial(response.wrench, body, scale(sign, n), scale(sign, force))


@subroutine
def respond(model, ws, response):
    """
    Compute the accelerations, and locked joint efforts, due to response.wrench.

    Uses the same elimination as for all other forces, so joint laws hold to rounding.
    """
    for body in range(model.parent.shape[0]):
        n, f = load_spatial(response.wrench, body)
        arm = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
        n = add(n, cross(arm, f))
        store_spatial(response.force, body, scale(-1.0, n), scale(-1.0, f))
    solve(model, ws, response.rhs, response.force, response.ddq, response.constraint)
