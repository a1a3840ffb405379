"""
The wrenches of contacts that the state keeps.

A contact acts at a point of the world, in the middle of the step. Its wrench is kept about the
origin of the world, so that it need not follow the bodies, which are elsewhere at the end of the
step; what is observed takes it about the bodies' origins there.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.state import NOT_PUSHED, PUSHED
from sim_bridge.engine.math.spatial import FORCE, load_spatial, ORIGIN, store_spatial, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, load3, store3, sub, ZERO


@kernel
def keep_wrenches(model, any_contact, response, state):
    """Store the contacts' mean wrench on each body, and mark the pushed; not of sleepers."""
    for body in range(model.parent.shape[0]):
        if state.idle[model.root[body]] < 0:
            continue
        state.pushed[body] = NOT_PUSHED
        torque, force = ZERO, ZERO
        if any_contact:
            torque, force = load_spatial(response.mean_wrench, body)
            if torque != ZERO or force != ZERO:
                state.pushed[body] = PUSHED
                torque = add(torque, cross(load3(response.origin, body, 0), force))
        store_spatial(state.contact_wrench, body, torque, force)


@kernel
def move_to_bodies(model, state, pose, wrench_inout):
    """Move the contacts' part of wrenches on bodies from the world's origin to theirs."""
    for body in range(model.parent.shape[0]):
        if state.pushed[body] != NOT_PUSHED:
            force = load3(state.contact_wrench, body, FORCE)
            moment = cross(load3(pose, body, ORIGIN), force)
            store3(wrench_inout, body, TORQUE, sub(load3(wrench_inout, body, TORQUE), moment))
