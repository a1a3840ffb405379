"""
The wrenches of contacts that the state keeps.

A contact acts at a point of the world, in the middle of the step. Between steps its wrench is
taken about the origin of the body's frame as it is then, at the end of the step.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import FREE_SINGLE
from sim_bridge.engine.data.state import NOT_PUSHED, PUSHED
from sim_bridge.engine.dynamics.kinematics import place_body
from sim_bridge.engine.math.spatial import FORCE, ORIGIN, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, store3, sub


@kernel
def keep_wrenches(model, any_contact, response, ws, state):
    """
    Store the contacts' mean wrench on each body, about its origin at state.q; mark the pushed.

    In trees that were pushed, the poses at state.q replace those of ws. Sleepers keep their
    wrenches.
    """
    is_any_pushed = False
    for body in range(model.parent.shape[0]):
        root = model.root[body]
        if root == body:
            ws.pushed[root] = NOT_PUSHED
        if state.idle[root] < 0:
            continue
        state.pushed[body] = NOT_PUSHED
        for k in range(6):
            mean = response.mean_wrench[body, k] if any_contact else 0.0
            state.contact_wrench[body, k] = mean
            if mean != 0.0:
                state.pushed[body] = ws.pushed[root] = PUSHED
                is_any_pushed = True
    if is_any_pushed:
        move_wrenches(model, response.origin, ws, state)


@kernel
def move_wrenches(model, origin, ws, state):
    """Move the wrenches on pushed trees from the given origins to those at state.q."""
    for body in range(model.parent.shape[0]):
        if ws.pushed[model.root[body]] != PUSHED:
            continue
        before = load3(origin, body, 0)
        if model.kind[body] == FREE_SINGLE:
            after = load_v(state.q, model.q_index[body])
        else:
            place_body(model, state.q, ws, body)
            after = load3(ws.pose, body, ORIGIN)
        force = load3(state.contact_wrench, body, FORCE)
        torque = add(load3(state.contact_wrench, body, TORQUE), cross(sub(before, after), force))
        store3(state.contact_wrench, body, TORQUE, torque)
