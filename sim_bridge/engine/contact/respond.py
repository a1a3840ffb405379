"""What the contacts' impulses do to the trees."""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.prepare import world_impulse
from sim_bridge.engine.dynamics.articulated import solve
from sim_bridge.engine.math.vec3 import add, cross, load3, scale, sub


@subroutine
def gather_wrenches(geometry_body, pose, contacts, laws, impulse, h, wrench_out, pushed_out):
    """Sum the contacts' mean forces over the step."""
    wrench_out[:, :] = 0.0
    pushed_out[:] = 0
    for contact in range(contacts.size[0]):
        if laws.rows[contact] > 0:
            push, twist = world_impulse(laws.frame[contact], laws.rows[contact],
                                        laws.pull[contact], impulse[contact])
            if push != (0.0, 0.0, 0.0):
                add_push(geometry_body, pose, contacts.geometry, contacts.point, contact,
                         scale(1.0 / h, push), scale(1.0 / h, twist), wrench_out, pushed_out)


@kernel
def add_push(
    geometry_body, pose, geometry, point, contact, force, torque, wrench_inout, pushed_out,
):
    """Add a force and a torque at a contact to both bodies, about their frames' origins."""
    for side in range(2):
        body = geometry_body[geometry[contact, side]]
        if body >= 0:
            pushed_out[body] = 1
            sign = 1.0 - 2.0 * side
            arm = sub(load3(point, contact, 0), load3(pose, body, 9))
            n = add(torque, cross(arm, force))
            for k in range(3):
                wrench_inout[body, k] += sign * n[k]
                wrench_inout[body, 3 + k] += sign * force[k]


@subroutine
def respond(model, ws, response):
    """
    Compute the accelerations, and the efforts of locked joints, that response.wrench gives.

    By the same elimination as everything else, so that the joints' laws hold to rounding.
    """
    for body in range(model.parent.shape[0]):
        n, f = load3(response.wrench, body, 0), load3(response.wrench, body, 3)
        arm = sub(load3(ws.pose, body, 9), load3(ws.pose, model.root[body], 9))
        n = add(n, cross(arm, f))
        for k in range(3):
            response.force[body, k] = -n[k]
            response.force[body, 3 + k] = -f[k]
    solve(model, ws, response.rhs, response.force, response.ddq, response.constraint)
