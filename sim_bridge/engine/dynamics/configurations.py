"""
Configurations as Lie group elements: differences, and integration derivatives.

A difference is the velocity leading from one configuration to another in one second, see
`integrator.drift`. Rotations are about world axes, or about the axes of a ball joint's frame.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import BALL, BALL_STAGE, FREE, WELD
from sim_bridge.engine.math.rotation import (
    load_quat,
    quat_between,
    quat_exp,
    quat_normalize,
    quat_to_matrix,
    store_quat,
)
from sim_bridge.engine.math.vec3 import cross, dot, load_v, store_v, sub, unit_vector

# limits of a quaternion's length; products of two quaternions must have finite squares
_LEAST, _MOST = 1e-6, 1e50
# rounding error in the squared length of a unit quaternion
_ROUNDING = 1e-12


@kernel
def quaternion_place(model, body):
    """Return the index in q at which a body's quaternion begins; -1 for none."""
    if model.kind[body] >= FREE:
        return model.q_index[body] + 3
    return model.q_index[body] if model.kind[body] == BALL else -1


@kernel
def is_configuration(model, q):
    """Return whether q is finite and its quaternions have lengths from _LEAST to _MOST."""
    for k in range(q.shape[0]):
        if not math.isfinite(q[k]):
            return False
    for body in range(model.parent.shape[0]):
        at = quaternion_place(model, body)
        if at >= 0:
            square = square_of(load_quat(q, at))
            if not _LEAST * _LEAST <= square <= _MOST * _MOST:
                return False
    return True


@kernel
def square_of(quaternion):
    """Return a quaternion's squared length."""
    x, y, z, w = quaternion
    return x * x + y * y + z * z + w * w


@kernel
def unit_at(q, at):
    """Return a configuration's quaternion at unit length; unchanged if its length is 1 already."""
    quaternion = load_quat(q, at)
    if abs(square_of(quaternion) - 1.0) <= _ROUNDING:
        return quaternion
    return quat_normalize(quaternion)


@kernel
def copy_normalized(model, q, q_out):
    """Copy a configuration with its quaternions normalized."""
    for k in range(q.shape[0]):
        q_out[k] = q[k]
    for body in range(model.parent.shape[0]):
        at = quaternion_place(model, body)
        if at >= 0:
            store_quat(q_out, at, quat_normalize(load_quat(q, at)))


@kernel
def subtract(model, start, end, v_out):
    """Write the difference from the configuration `start` to `end`."""
    for body in range(model.parent.shape[0]):
        joint, at, at_v = model.kind[body], model.q_index[body], model.v_index[body]
        if joint <= WELD or joint == BALL_STAGE:
            continue
        if joint == BALL:
            store_v(v_out, at_v - 2, quat_between(unit_at(start, at), unit_at(end, at)))
        elif joint >= FREE:
            store_v(v_out, at_v, sub(load_v(end, at), load_v(start, at)))
            store_v(v_out, at_v + 3, quat_between(unit_at(start, at + 3), unit_at(end, at + 3)))
        else:
            v_out[at_v] = end[at] - start[at]


@kernel
def differentiate_integration(model, v, by_q_out, by_v_out):
    """Write the derivatives, by q and v, of the configuration one second after q at v."""
    by_q_out[:, :], by_v_out[:, :] = 0.0, 0.0
    for k in range(v.shape[0]):
        by_q_out[k, k], by_v_out[k, k] = 1.0, 1.0
    for body in range(model.parent.shape[0]):
        if quaternion_place(model, body) >= 0:
            at = model.v_index[body] + (3 if model.kind[body] >= FREE else -2)
            turn = load_v(v, at)
            R = quat_to_matrix(quat_exp(turn))
            a, b = turn_factors(turn)
            for k in range(3):
                by_q_out[at + k, at], by_q_out[at + k, at + 1], by_q_out[at + k, at + 2] = R[k]
                # columns of 1 + a [turn] + b [turn]²
                e = unit_vector(k)
                first = cross(turn, e)
                second = cross(turn, first)
                for row in range(3):
                    by_v_out[at + row, at + k] = e[row] + a * first[row] + b * second[row]


@kernel
def turn_factors(turn):
    """Return (1 - cos x) / x² and (x - sin x) / x³ for the angle x = |turn|."""
    square = dot(turn, turn)
    if square < 1e-4:
        # Taylor series; the omitted terms are below rounding
        return (
            0.5 - square / 24.0 + square * square / 720.0,
            1.0 / 6.0 - square / 120.0 + square * square / 5040.0,
        )
    angle = math.sqrt(square)
    half = math.sin(0.5 * angle)
    return 2.0 * half * half / square, (angle - math.sin(angle)) / (square * angle)
