"""
Contact wrenches kept in the state.

A contact acts at a world point at mid-step. The wrench is stored about the world origin, so it
need not follow the bodies, which move on until the step's end. Observations move it to the bodies'
origins there.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.state import NOT_PUSHED, PUSHED
from sim_bridge.engine.math.spatial import FORCE, load_spatial, ORIGIN, store_spatial, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, load3, store3, sub, ZERO


@kernel
def keep_wrenches(model, any_contact, response, state):
    """Store the mean contact wrench on each body, and mark pushed bodies; skip sleepers."""
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
    """Move the contact part of body wrenches from the world origin to the body origins."""
    for body in range(model.parent.shape[0]):
        if state.pushed[body] != NOT_PUSHED:
            force = load3(state.contact_wrench, body, FORCE)
            moment = cross(load3(pose, body, ORIGIN), force)
            store3(wrench_inout, body, TORQUE, sub(load3(wrench_inout, body, TORQUE), moment))
