"""
Contacts that nothing can yield to, since all joints below them are locked.

Such a contact has no rows, and no impulse: it would be as if the locked joints were walls. But
most joints are locked by friction or a motor of bounded strength, and give way to a greater push.
What the contact would push them with tells which is the first to do so: `modes.release_weakest`.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.contact_problem import NN
from sim_bridge.engine.data.model import PRISMATIC, REVOLUTE
from sim_bridge.engine.dynamics.articulated import carrier
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, sub


@subroutine
def find_blocked(
    parent, root, kind, v_index, geometry_body,  # model
    pose, axis, count, geometry, point, laws, block, bias, tolerance,  # state (read)
    blocked_out,
):
    """Sum what a unit of each blocked contact's normal force that is missing gives to joints."""
    blocked_out[:] = 0.0
    for contact in range(count):
        if laws.rows[contact] == 0 or block[contact, NN] > 0.0:
            continue
        if bias[contact, 0] >= -tolerance:
            continue
        for side in range(2):
            body = geometry_body[geometry[contact, side]]
            if body >= 0:
                p = sub(load3(point, contact, 0), load3(pose, root[body], 9))
                f = scale(1.0 - 2.0 * side, load3(laws.frame, contact, 0))
                push_joints(parent, kind, v_index, axis, body, cross(p, f), f, blocked_out)


@kernel
def push_joints(parent, kind, v_index, axis, body, n, f, effort_inout):
    """Add what a wrench on a body gives to the joints below it."""
    while body >= 0:
        if kind[body] == REVOLUTE or kind[body] == PRISMATIC:
            s, t = load3(axis, body, 0), load3(axis, body, 3)
            effort_inout[v_index[body]] += dot(s, n) + dot(t, f)
        body = carrier(parent, kind, body)
