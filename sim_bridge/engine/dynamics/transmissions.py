"""
Transmissions of actuators: lengths, their rates, and their forces on bodies.

A transmission between two places exerts opposite wrenches on both bodies: together they leave the
momentum unchanged, and are the gradient of the length.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.actuators import (
    BALL_IN_PARENT,
    BALL_JOINT,
    FIRST_PLACE,
    GEAR_FORCE,
    GEAR_TORQUE,
    JOINTS,
    MOST_TERMS,
    PLACES,
    ROD,
    SECOND_PLACE,
    TRANSMISSION,
    WRENCH,
)
from sim_bridge.engine.dynamics.twists import point_velocity, relative_turn
from sim_bridge.engine.math.mat3 import column, load_m, mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.rotation import load_quat, quat_between, quat_normalize, quat_to_matrix
from sim_bridge.engine.math.spatial import add_spatial, carried, load_pose, ORIGIN, ROTATION
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, sub, ZERO

_IDENTITY = (0.0, 0.0, 0.0, 1.0)
Z = 2


@kernel
def moves_bodies(model):
    """Return whether any transmission acts on bodies instead of joints."""
    for actuator in range(model.actuator.shape[0]):
        if model.actuator[actuator, TRANSMISSION] >= WRENCH:
            return True
    return False


@kernel
def find_transmission(model, ws, actuator):
    """Return an actuator's length and its rate at ws.q, ws.pose, ws.v and ws.velocity."""
    kind = model.actuator[actuator, TRANSMISSION]
    if kind == JOINTS:
        return length_of_joints(model, actuator, ws.q), rate_of_joints(model, actuator, ws.v)
    if kind == BALL_JOINT or kind == BALL_IN_PARENT:
        return ball_transmission(model, ws, actuator)
    return place_transmission(model, ws, actuator)


@kernel
def length_of_joints(model, actuator, q):
    """Return the sum of joint positions times their factors, times the gear."""
    length = 0.0
    for term in range(MOST_TERMS):
        joint = model.actuator_joints[actuator, term]
        if joint < 0:
            break
        length += model.actuator_factors[actuator, term] * q[model.q_of_v[joint]]
    return model.actuator_gear[actuator, GEAR_FORCE] * length


@kernel
def rate_of_joints(model, actuator, v):
    """Return the rate of this sum."""
    rate = 0.0
    for term in range(MOST_TERMS):
        joint = model.actuator_joints[actuator, term]
        if joint < 0:
            break
        rate += model.actuator_factors[actuator, term] * v[joint]
    return model.actuator_gear[actuator, GEAR_FORCE] * rate


@subroutine
def ball_transmission(model, ws, actuator):
    """Return the length and its rate for a ball joint."""
    turn = load_quat(ws.q, model.q_index[model.actuator_body[actuator, 0]])
    gear = load_v(model.actuator_gear[actuator], GEAR_FORCE)
    rate = dot(ball_moment(model, ws, actuator), load_v(ws.v, model.actuated[actuator]))
    return dot(quat_between(_IDENTITY, turn), gear), rate


@kernel
def ball_moment(model, ws, actuator):
    """Return the gear in the axes of a ball joint's coordinates."""
    gear = load_v(model.actuator_gear[actuator], GEAR_FORCE)
    if model.actuator[actuator, TRANSMISSION] == BALL_IN_PARENT:
        return gear
    turn = load_quat(ws.q, model.q_index[model.actuator_body[actuator, 0]])
    return mul_mv(quat_to_matrix(turn), gear)


@subroutine
def place_transmission(model, ws, actuator):
    """Return the length and its rate for places on bodies."""
    a, b = model.actuator_body[actuator, 0], model.actuator_body[actuator, 1]
    point, force, torque, length = wrench_of(model, ws, actuator)
    v = sub(
        point_velocity(model, ws, ws.velocity, a, point),
        point_velocity(model, ws, ws.velocity, b, point),
    )
    rate = dot(force, v) + dot(torque, relative_turn(ws.velocity, a, b))
    return length, rate


@kernel
def place_of(model, ws, actuator, side, first):
    """Return a place in the world: rotation, origin [m]. first: its first column."""
    R = load_m(model.actuator_place, actuator, first + ROTATION)
    p = load3(model.actuator_place, actuator, first + ORIGIN)
    body = model.actuator_body[actuator, side]
    if body < 0:
        return R, p
    return carried(load_pose(ws.pose, body), R, p)


@kernel
def wrench_of(model, ws, actuator):
    """
    Return the wrench of a unit force on the first body, and the length.

    Point [m], force and torque there; world axes. The second body feels the opposite wrench.
    """
    kind = model.actuator[actuator, TRANSMISSION]
    R, p = place_of(model, ws, actuator, 0, FIRST_PLACE)
    push = load_v(model.actuator_gear[actuator], GEAR_FORCE)
    turn = load_v(model.actuator_gear[actuator], GEAR_TORQUE)
    if kind == WRENCH:
        return p, mul_mv(R, push), mul_mv(R, turn), 0.0
    R_2, p_2 = place_of(model, ws, actuator, 1, SECOND_PLACE)
    if kind == PLACES:
        length = dot(push, mul_tv(R_2, sub(p, p_2))) + dot(turn, turn_between(R_2, R))
        return p, mul_mv(R_2, push), mul_mv(R_2, turn), length
    way, axis = sub(p, p_2), column(R_2, Z)
    along, rod = dot(way, axis), model.actuator_gear[actuator, ROD]
    square, gear = along * along + rod * rod - dot(way, way), push[0]
    if square <= 0.0:
        # the rod does not reach the slider's axis
        return p, scale(gear, axis), ZERO, gear * along
    root = math.sqrt(square)
    pull = add(scale(1.0 - along / root, axis), scale(1.0 / root, way))
    return p, scale(gear, pull), ZERO, gear * (along - root)


@kernel
def turn_between(R_A, R_B):
    """Return the rotation vector from A to B, in A's axes [rad]."""
    return quat_between(_IDENTITY, quat_of(mul_mm(transposed(R_A), R_B)))


@kernel
def quat_of(R):
    """Return the quaternion x y z w of a rotation matrix, from its largest component."""
    xx, yy, zz = R[0][0], R[1][1], R[2][2]
    if xx + yy + zz > 0.0:
        q = R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1], 1.0 + xx + yy + zz
    elif xx >= yy and xx >= zz:
        q = 1.0 + xx - yy - zz, R[0][1] + R[1][0], R[0][2] + R[2][0], R[2][1] - R[1][2]
    elif yy >= zz:
        q = R[0][1] + R[1][0], 1.0 + yy - xx - zz, R[1][2] + R[2][1], R[0][2] - R[2][0]
    else:
        q = R[0][2] + R[2][0], R[1][2] + R[2][1], 1.0 + zz - xx - yy, R[1][0] - R[0][1]
    return quat_normalize(q)


@subroutine
def push_places(model, ws):
    """Add the forces at places to ws.wrench."""
    for actuator in range(model.actuator.shape[0]):
        if model.actuator[actuator, TRANSMISSION] < WRENCH:
            continue
        point, push, turn, length = wrench_of(model, ws, actuator)
        amount = ws.actuator_force[actuator]
        for side in range(2):
            body = model.actuator_body[actuator, side]
            if body < 0:
                continue
            f = scale(amount if side == 0 else -amount, push)
            n = scale(amount if side == 0 else -amount, turn)
            arm = sub(point, load3(ws.pose, body, ORIGIN))
            add_spatial(ws.wrench, body, add(n, cross(arm, f)), f)
