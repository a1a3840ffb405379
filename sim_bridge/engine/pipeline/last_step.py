"""
Last step's mean accelerations, read for touching or struck bodies.

Contacts push with their mean force over a step, and the efforts at the step's end do not balance
it. A servo that presses a link against a wall ever harder would seem to accelerate the link: by
its effort gained in half a step, over the link's small inertia. So every body in a touching tree,
or in a tree tied to one by loops, gets the mean acceleration of the last step: over the whole
step, all forces balance it. The last step does not count after a velocity was written, or the
pushing contact removed.

The same holds for a tree with a joint brought to rest by a stop or friction in the last step, and
for trees tied by loops with an axis at a rigid stop. The impact's impulse balances the mean
efforts of the step, and changes the momentum of each subtree in agreement with the readings.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.model import CFM, LOWER, UPPER
from sim_bridge.engine.data.state import LESS_PUSHED, NOT_PUSHED, PUSHED
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.dynamics.whitening import is_free
from sim_bridge.engine.math.vec3 import cross, load_v
from sim_bridge.engine.pipeline.laws_at_instant import is_in_impact


@subroutine
def keep_accelerations(table):
    """Overwrite ws.ddq for touching trees; spatial accelerations for free joints."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    find_pushed(model, state, ws.pushed)
    find_struck(model, state, ws.q, ws.pushed)
    join_tied(model.root, world.loops(table).body, ws.pushed)
    for body in range(model.parent.shape[0]):
        if ws.pushed[model.root[body]] != PUSHED:
            continue
        at = model.v_index[body]
        if has_axis(model.kind[body]):
            ws.ddq[at] = state.acceleration[at]
        elif is_free(model.kind[body]):
            turn = cross(load_v(ws.v, at + 3), load_v(ws.v, at))
            for k in range(3):
                ws.ddq[at + k] = state.acceleration[at + k] - turn[k]
                ws.ddq[at + 3 + k] = state.acceleration[at + 3 + k]
    return 0


@kernel
def find_pushed(model, state, pushed_out):
    """
    Write, for each tree's first body, how contacts pushed the tree.

    A tree counts as LESS_PUSHED if one of its velocities was written since.
    """
    for body in range(model.parent.shape[0]):
        root, at = model.root[body], model.v_index[body]
        if root == body:
            pushed_out[body] = NOT_PUSHED
        pushed_out[root] = max(pushed_out[root], state.pushed[body])
        for k in range(at, at + joint_size(model.kind[body])):
            if state.v[k] != state.v_left[k]:
                pushed_out[root] = LESS_PUSHED


@kernel
def find_struck(model, state, q, pushed_inout):
    """Count trees as pushed if a rigid stop, friction or a hold stopped one of their joints."""
    for body in range(model.parent.shape[0]):
        root, at = model.root[body], model.v_index[body]
        if pushed_inout[root] != NOT_PUSHED:
            continue
        for k in range(at, at + joint_size(model.kind[body])):
            above = below = -1.0
            if model.q_of_v[k] >= 0 and model.stop[k, CFM] == 0.0:
                above = q[model.q_of_v[k]] - model.limits[k, UPPER]
                below = model.limits[k, LOWER] - q[model.q_of_v[k]]
            if is_in_impact(state, k, state.v[k], above, below):
                pushed_inout[root] = PUSHED


@kernel
def joint_size(kind):
    """Return a joint kind's velocity count."""
    return 6 if is_free(kind) else 1 if has_axis(kind) else 0


@kernel
def join_tied(root, loop_body, pushed_inout):
    """Treat trees tied together by loops as one tree."""
    differs = True
    while differs:
        differs = False
        for joint in range(loop_body.shape[0]):
            a, b = loop_body[joint, 0], loop_body[joint, 1]
            if a >= 0 and b >= 0 and pushed_inout[root[a]] != pushed_inout[root[b]]:
                both = max(pushed_inout[root[a]], pushed_inout[root[b]])
                pushed_inout[root[a]] = pushed_inout[root[b]] = both
                differs = True
