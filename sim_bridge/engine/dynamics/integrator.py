"""
Position integration, and the middle of a step.

A step drifts half its length at the old velocity, changes the velocity there, and drifts the other
half at the new velocity. This scheme is second order, reversible, and exact under constant forces
(no ballistic drift). It needs one evaluation of the dynamics.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import BALL, BALL_STAGE, CFM, ERP, FREE, LOWER, UPPER, WELD
from sim_bridge.engine.math.rotation import load_quat, quat_advance, store_quat
from sim_bridge.engine.math.vec3 import load_v


@kernel
def drift(model, kind, q, v, h, q_out):
    """Advance all positions at their velocities for h seconds; q_out may be q."""
    for body in range(kind.shape[0]):
        joint, at, at_v = kind[body], model.q_index[body], model.v_index[body]
        if joint <= WELD or joint == BALL_STAGE:
            continue
        if joint == BALL:
            turn_quaternion(q, at, load_v(v, at_v - 2), h, q_out)
            continue
        q_out[at] = q[at] + h * v[at_v]
        if joint >= FREE:
            q_out[at + 1] = q[at + 1] + h * v[at_v + 1]
            q_out[at + 2] = q[at + 2] + h * v[at_v + 2]
            turn_quaternion(q, at + 3, load_v(v, at_v + 3), h, q_out)


@kernel
def turn_quaternion(q, at, w, h, q_out):
    """Rotate the quaternion at index `at` for h seconds at w [rad/s], in its reference frame."""
    store_quat(q_out, at, quat_advance(load_quat(q, at), w, h))


@kernel
def keep_within_stops(model, q_start, q_inout):
    """
    Move joints drifting past a rigid stop exactly onto it.

    A joint beyond its stop at the start of the step returns by the share ERP of its excess,
    without gaining velocity.
    """
    for joint in range(model.q_of_v.shape[0]):
        at = model.q_of_v[joint]
        if at < 0 or model.stop[joint, CFM] > 0.0:
            continue
        upper, lower = model.limits[joint, UPPER], model.limits[joint, LOWER]
        erp = model.stop[joint, ERP]
        if q_inout[at] > upper:
            q_inout[at] = min(q_inout[at], upper + (1.0 - erp) * max(q_start[at] - upper, 0.0))
        if q_inout[at] < lower:
            q_inout[at] = max(q_inout[at], lower + (1.0 - erp) * min(q_start[at] - lower, 0.0))
