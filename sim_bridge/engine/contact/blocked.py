"""
Contacts that cannot move because all joints below them are locked.

They have no rows and no impulse, as if the locked joints were walls. But friction or a motor of
bounded strength locks most joints, and these yield to a greater push. The joint efforts exerted by
the contact determine the joint that yields first, see `active_set.release_weakest`.
"""

from sim_bridge.compiler.kernel import subroutine
from sim_bridge.engine.contact.prepare import directions
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Block, Row
from sim_bridge.engine.dynamics.articulated import add_joint_efforts
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import cross, load3, scale, sub


@subroutine
def find_blocked(model, ws, geometry, contacts, laws, rows, solution, tolerance, blocked_out):
    """Sum the joint efforts from unit normal forces at contacts that approach but cannot move."""
    blocked_out[:] = 0.0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] == 0 or rows.block[contact, Block.NN] > 0.0:
            continue
        if solution.bias[contact, Row.NORMAL] >= -tolerance:
            continue
        for side in range(2):
            body = geometry.body[contacts.geometry[contact, side]]
            if body >= 0:
                o = load3(ws.pose, model.root[body], ORIGIN)
                p = sub(load3(contacts.point, contact, 0), o)
                f = scale(1.0 - 2.0 * side, directions(laws, contact)[Row.NORMAL])
                add_joint_efforts(model, ws, body, cross(p, f), f, blocked_out)
