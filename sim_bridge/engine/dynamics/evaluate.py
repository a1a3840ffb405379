"""
One dynamics evaluation, shared by steps, observations and Runge-Kutta stages.

An evaluation computes the poses, factorizes the trees and computes the accelerations. Each part
fills workspace arrays for the next.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import FREE, KINEMATIC
from sim_bridge.engine.dynamics.articulated import eliminate, solve, start_trees
from sim_bridge.engine.dynamics.kinematics import move_bodies
from sim_bridge.engine.dynamics.medium import add_medium, oppose
from sim_bridge.engine.dynamics.mimic import apply_rows, compute_responses
from sim_bridge.engine.dynamics.twists import find_twists


@kernel
def factorize_trees(model, ws, h, is_instant):
    """
    Factorize the trees for the modes ws.mode, with the implicit terms for a step of h seconds.

    is_instant: take the terms at an instant between steps, see `articulated.lagging_inertia`.
    """
    start_trees(ws)
    if model.medium.shape[0] > 0:
        add_medium(model, ws, 0.0 if is_instant else h)
    eliminate(model, ws, h, is_instant)
    if ws.response.shape[0] > 0:
        compute_responses(model, ws)


@kernel
def accelerate(model, v, wrench, v_start, rate, ws, ddq_out):
    """
    Compute the joint accelerations from ws.rhs and the wrenches, at the velocities v.

    ddq_out: (nv,) joint accelerations; a free joint's entries are spatial accelerations, see
    `to_origin_acceleration`. v_start: (nv,) velocities at the start of a step of 1 / rate seconds.
    Mimic joints must reach their law from them, and the medium damps them. With a rate of 0 they
    are the current velocities.
    """
    move_bodies(model, v, wrench, ws)
    if model.medium.shape[0] > 0:
        find_twists(model, ws.kind, ws, v_start, ws.twist)
        oppose(model, ws, 1.0 / rate if rate > 0.0 else 0.0)
    solve(model, ws, ws.rhs, ws.force, ddq_out, ws.constraint)
    obey_mimic(model, v_start, rate, ws, ddq_out)


@kernel
def obey_mimic(model, v_start, rate, ws, ddq_inout):
    """Add the mimic joints' constraint efforts, unless the loop rows include them."""
    if ws.response.shape[0] > 0:
        apply_rows(model, ws, v_start, rate, ddq_inout)


@kernel
def to_origin_acceleration(kind, v_index, v, ddq_inout):
    """Convert a free joint's acceleration from spatial to that of its origin: add w x v."""
    for body in range(kind.shape[0]):
        if kind[body] >= FREE and kind[body] != KINEMATIC:
            at = v_index[body]
            w0, w1, w2 = v[at + 3], v[at + 4], v[at + 5]
            ddq_inout[at] += w1 * v[at + 2] - w2 * v[at + 1]
            ddq_inout[at + 1] += w2 * v[at] - w0 * v[at + 2]
            ddq_inout[at + 2] += w0 * v[at + 1] - w1 * v[at]


@kernel
def add_response(response, ws):
    """Add a contact or loop response to the accelerations and the locked joints' efforts."""
    for joint in range(ws.ddq.shape[0]):
        ws.ddq[joint] += response.ddq[joint]
        ws.constraint[joint] += response.constraint[joint]
