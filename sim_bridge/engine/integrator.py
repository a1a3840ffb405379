"""
Positions from velocities, and the middle of a step.

A step drifts half its length with the old velocity, changes the velocity there, and drifts on with
the new one. That is second order and reversible, exact under constant forces (no ballistic drift),
and needs one evaluation of the dynamics.
"""

from __future__ import annotations

from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import FREE, LOWER, UPPER, WELD
from sim_bridge.engine.rotation import quat_advance
from sim_bridge.engine.vec3 import load_v


@kernel
def drift(
    kind, q_index, v_index,  # model
    q, v,  # state (read)
    h, q_out,
):
    """Move every position at its velocity for h seconds; q_out may be q."""
    for body in range(kind.shape[0]):
        joint, at, at_v = kind[body], q_index[body], v_index[body]
        if joint <= WELD:
            continue
        q_out[at] = q[at] + h * v[at_v]
        if joint >= FREE:
            q_out[at + 1] = q[at + 1] + h * v[at_v + 1]
            q_out[at + 2] = q[at + 2] + h * v[at_v + 2]
            quat = (q[at + 3], q[at + 4], q[at + 5], q[at + 6])
            quat = quat_advance(quat, load_v(v, at_v + 3), h)
            q_out[at + 3], q_out[at + 4], q_out[at + 5], q_out[at + 6] = quat


@kernel
def keep_within_stops(
    q_of_v, limits,  # model
    q_start,  # state (read)
    erp, q_inout,
):
    """
    Put joints that drifted past a stop onto it, to the last bit.

    One that began the step beyond its stop comes back by the share `erp` of its excess, without
    gaining velocity.
    """
    for joint in range(q_of_v.shape[0]):
        at = q_of_v[joint]
        if at < 0:
            continue
        upper, lower = limits[joint, UPPER], limits[joint, LOWER]
        if q_inout[at] > upper:
            q_inout[at] = min(q_inout[at], upper + (1.0 - erp) * max(q_start[at] - upper, 0.0))
        if q_inout[at] < lower:
            q_inout[at] = max(q_inout[at], lower + (1.0 - erp) * min(q_start[at] - lower, 0.0))
