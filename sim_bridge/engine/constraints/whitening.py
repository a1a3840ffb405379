"""
Whitened rows of a constraint joint, from the connected trees' factors.

Wrenches propagate from both of a joint's bodies to the roots, see `dynamics.whitening`. They
cancel partly or completely where the two paths meet. Three forces and three torques are whitened
for all rows of the joint.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import column
from sim_bridge.engine.data.inertia import INVERSE
from sim_bridge.engine.data.loops import FORCES, TORQUES
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.dynamics.whitening import is_free, pass_joint, pass_root
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.spatial import FORCE, load_spatial, ORIGIN, TORQUE
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, sub, ZERO

# greatest remainder due to rounding, relative to the terms of a force or torque
_ROUNDING = 1e-12


@subroutine
def whiten_joint(model, ws, loops, work, joint, R_A, p_B):
    """
    Whiten three forces at B's origin along A's axes, and three torques if any row needs them.

    The wrenches propagate from both bodies to the common ancestor, and from there together.
    Returns the end of their entries, and the greatest rounding errors of a force and a torque.
    """
    load, end = work.load, 0
    width = work.whitened.shape[1] if loops.turns[joint] != 0 else TORQUES
    start_wrenches(model, ws, loops, joint, R_A, p_B, load)
    body_A, body_B = loops.body[joint, 0], loops.body[joint, 1]
    has_met = False
    bound = greatest_wrenches(load)
    force, torque = 0.0, 0.0
    while body_A >= 0 or body_B >= 0:
        side, body = (0, body_A) if body_A >= body_B else (1, body_B)
        if body_A == body_B and not has_met:
            has_met = True
            bound = greatest_wrenches(load)
            for i in range(6):
                for k in range(load.shape[2]):
                    load[0, i, k] += load[1, i, k]
        own = load[side]
        if has_axis(ws.kind[body]):
            d_inv = ws.joint_factor[body, INVERSE]
            if d_inv != 0.0:
                at = model.v_index[body]
                for k in range(width):
                    n, f = (own[0, k], own[1, k], own[2, k]), (own[3, k], own[4, k], own[5, k])
                    w, n, f = pass_joint(ws, body, n, f)
                    work.whitened[end, k] = work.whitening[at] * w
                    own[0, k], own[1, k], own[2, k] = n
                    own[3, k], own[4, k], own[5, k] = f
                work.support[end] = at
                end += 1
                s, t = load_spatial(ws.axis, body)
                ss, tt = d_inv * dot(s, s), d_inv * dot(t, t)
                force += ss * bound[0] + tt * bound[1]
                torque += ss * bound[2] + tt * bound[3]
        elif is_free(ws.kind[body]):
            pass_root(ws.articulated[body], width, own)
            for i in range(6):
                at = model.v_index[body] + i
                scaling = work.whitening[at]
                for k in range(width):
                    work.whitened[end, k] = scaling * own[i, k]
                work.support[end] = at
                end += 1
                force += scaling * scaling * bound[i // 3]
                torque += scaling * scaling * bound[2 + i // 3]
        above_it = carrier(model.parent, ws.kind, body)
        if has_met or side == 0:
            body_A = above_it
        if has_met or side != 0:
            body_B = above_it
    return end, _ROUNDING * math.sqrt(force), _ROUNDING * math.sqrt(torque)


@kernel
def start_wrenches(model, ws, loops, joint, R_A, p_B, load_out):
    """Write the wrenches on both bodies, about their trees' O; zeros on the world."""
    for side in range(2):
        body, sign = loops.body[joint, side], 2.0 * side - 1.0
        p = ZERO
        if body < 0:
            sign = 0.0
        else:
            p = sub(p_B, load3(ws.pose, model.root[body], ORIGIN))
        for k in range(3):
            way = scale(sign, column(R_A, k))
            moment = cross(p, way)
            for i in range(3):
                load_out[side, TORQUE + i, FORCES + k] = moment[i]
                load_out[side, FORCE + i, FORCES + k] = way[i]
                load_out[side, TORQUE + i, TORQUES + k] = way[i]
                load_out[side, FORCE + i, TORQUES + k] = 0.0


@kernel
def greatest_wrenches(load):
    """
    Return the greatest squared norms among the columns due to forces, then due to torques.

    For each of the two: torque, then force.
    """
    most = (0.0, 0.0, 0.0, 0.0)
    for side in range(2):
        for k in range(3):
            most = (
                max(most[0], square_at(load, side, TORQUE, FORCES + k)),
                max(most[1], square_at(load, side, FORCE, FORCES + k)),
                max(most[2], square_at(load, side, TORQUE, TORQUES + k)),
                max(most[3], square_at(load, side, FORCE, TORQUES + k)),
            )
    return most


@kernel
def square_at(load, side, half, column):
    """Return a wrench's squared torque or force."""
    x, y, z = load[side, half, column], load[side, half + 1, column], load[side, half + 2, column]
    return x * x + y * y + z * z


@kernel
def above(least, size):
    """Return a size, or 0 if it does not exceed `least`."""
    return size if size > least else 0.0


@kernel
def write_row(R_A, torque, force, end, work):
    """Write the whitened row for a torque or a force into work.vector."""
    first, way = FORCES, mul_tv(R_A, force)
    if dot(way, way) == 0.0:
        first, way = TORQUES, mul_tv(R_A, torque)
    for entry in range(end):
        work.vector[work.support[entry]] = (
            way[0] * work.whitened[entry, first]
            + way[1] * work.whitened[entry, first + 1]
            + way[2] * work.whitened[entry, first + 2]
        )


@kernel
def greatest_norm(values, end, first):
    """Return the greatest norm of three columns."""
    x, y, z = 0.0, 0.0, 0.0
    for entry in range(end):
        x += values[entry, first] * values[entry, first]
        y += values[entry, first + 1] * values[entry, first + 1]
        z += values[entry, first + 2] * values[entry, first + 2]
    return math.sqrt(max(x, max(y, z)))


@kernel
def reach_of(support, end, nv):
    """Return the range of coordinates in a joint's rows: the first, and the last plus 1."""
    low, high = nv, 0
    for entry in range(end):
        low, high = min(low, support[entry]), max(high, support[entry] + 1)
    return min(low, high), high
