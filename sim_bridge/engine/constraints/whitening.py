"""
Whitened rows of a joint that closes a loop, from the factors of the trees it joins.

A wrench on a body gives, on the way to the root of its tree, to each coordinate what D^-½ L⁻¹ of
the mass matrix L D Lᵀ does. What acts on both of a joint's bodies cancels in part, or altogether,
where their ways meet: three forces and three torques are whitened for all of its rows.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import axis_of
from sim_bridge.engine.contact.mimic_rows import add_effort
from sim_bridge.engine.data.loops import FORCES, TORQUES
from sim_bridge.engine.data.model import FREE, FREE_SINGLE
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.math.vec3 import cross, dot, load3, mul_tv, scale, sub

# what is left of a force or torque, relative to what came together, that is but rounding
_ROUNDING = 1e-12


@subroutine
def whiten_joint(model, kind, pose, axis, hinge, articulated, loops, work, joint, R_A, p_B):
    """
    Whiten three forces at B's origin along A's axes and three torques, these if any row has some.

    The wrenches travel from both bodies to where their ways to the root meet, and on from there
    together: the first half of an articulated-body solution. Returns the end of their entries, and
    the sizes up to which a force and a torque are rounding.
    """
    load, end = work.load, 0
    width = work.whitened.shape[1] if loops.turns[joint] != 0 else TORQUES
    start_wrenches(pose, model.root, loops, joint, R_A, p_B, load)
    body_A, body_B = loops.body[joint, 0], loops.body[joint, 1]
    has_met = False
    bound = greatest_wrenches(load)
    force, torque = 0.0, 0.0
    while body_A >= 0 or body_B >= 0:
        side, body = (0, body_A) if body_A >= body_B else (1, body_B)
        if body_A == body_B and not has_met:
            has_met = True
            bound = greatest_wrenches(load)
            for k in range(load.shape[1]):
                load[0, k] += load[1, k]
        own = load[side]
        if has_axis(kind[body]):
            if hinge[body, 7] != 0.0:
                pass_axis(axis, hinge, work.whitening[model.v_index[body]], body, width, own,
                          work.whitened[end])
                work.support[end] = model.v_index[body]
                end += 1
                s, t = load3(axis, body, 0), load3(axis, body, 3)
                ss, tt = hinge[body, 7] * dot(s, s), hinge[body, 7] * dot(t, t)
                force += ss * bound[0] + tt * bound[1]
                torque += ss * bound[2] + tt * bound[3]
        elif kind[body] == FREE or kind[body] == FREE_SINGLE:
            pass_root(articulated[body], width, own)
            for i in range(6):
                at = model.v_index[body] + i
                scaling = work.whitening[at]
                for k in range(width):
                    work.whitened[end, k] = scaling * own[8 * i + k]
                work.support[end] = at
                end += 1
                force += scaling * scaling * bound[i // 3]
                torque += scaling * scaling * bound[2 + i // 3]
        above_it = carrier(model.parent, kind, body)
        if has_met or side == 0:
            body_A = above_it
        if has_met or side != 0:
            body_B = above_it
    return end, _ROUNDING * math.sqrt(force), _ROUNDING * math.sqrt(torque)


@kernel
def pass_axis(axis, hinge, whitening, body, width, wrench_inout, entry_out):
    """Let wrenches leave at a body's joint what it does not pass on; whiten that."""
    s, t = load3(axis, body, 0), load3(axis, body, 3)
    u, x = load3(hinge, body, 0), load3(hinge, body, 3)
    for k in range(width):
        n = wrench_inout[k], wrench_inout[8 + k], wrench_inout[16 + k]
        f = wrench_inout[24 + k], wrench_inout[32 + k], wrench_inout[40 + k]
        w = dot(s, n) + dot(t, f)
        entry_out[k] = whitening * w
        w *= hinge[body, 7]
        n, f = sub(n, scale(w, u)), sub(f, scale(w, x))
        wrench_inout[k], wrench_inout[8 + k], wrench_inout[16 + k] = n
        wrench_inout[24 + k], wrench_inout[32 + k], wrench_inout[40 + k] = f


@kernel
def pass_root(articulated, width, wrench_inout):
    """Multiply wrenches on a free root by L⁻¹, of its articulated inertia L D Lᵀ."""
    for i in range(6):
        for j in range(i):
            factor = articulated[i * (i + 1) // 2 + j]
            for k in range(width):
                wrench_inout[8 * i + k] -= factor * wrench_inout[8 * j + k]


@kernel
def start_wrenches(pose, root, loops, joint, R_A, p_B, load_out):
    """Write the wrenches on both bodies, about their trees' O; zeros on the world."""
    for side in range(2):
        body, sign = loops.body[joint, side], 2.0 * side - 1.0
        p = (0.0, 0.0, 0.0)
        if body < 0:
            sign = 0.0
        else:
            p = sub(p_B, load3(pose, root[body], 9))
        for k in range(3):
            way = scale(sign, axis_of(R_A, k))
            moment = cross(p, way)
            for i in range(3):
                load_out[side, 8 * i + FORCES + k] = moment[i]
                load_out[side, 8 * i + 24 + FORCES + k] = way[i]
                load_out[side, 8 * i + TORQUES + k] = way[i]
                load_out[side, 8 * i + 24 + TORQUES + k] = 0.0


@kernel
def greatest_wrenches(load):
    """Return the greatest squares of torques and forces: of the forces' wrenches, the torques'."""
    most = (0.0, 0.0, 0.0, 0.0)
    for side in range(2):
        for k in range(3):
            most = (max(most[0], square_at(load, side, FORCES + k)),
                    max(most[1], square_at(load, side, 24 + FORCES + k)),
                    max(most[2], square_at(load, side, TORQUES + k)),
                    max(most[3], square_at(load, side, 24 + TORQUES + k)))
    return most


@kernel
def square_at(load, side, at):
    """Return the square of a torque or a force."""
    x, y, z = load[side, at], load[side, at + 8], load[side, at + 16]
    return x * x + y * y + z * z


@kernel
def above(least, size):
    """Return a size, 0 where it is no more than the least."""
    return size if size > least else 0.0


@kernel
def write_row(R_A, torque, force, end, work):
    """Write the whitened row of a torque or a force."""
    first, way = FORCES, mul_tv(R_A, force)
    if dot(way, way) == 0.0:
        first, way = TORQUES, mul_tv(R_A, torque)
    for entry in range(end):
        work.vector[work.support[entry]] = (
            way[0] * work.whitened[entry, first] + way[1] * work.whitened[entry, first + 1]
            + way[2] * work.whitened[entry, first + 2])


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
    """Return the first coordinate of a joint's rows, and the one after the last."""
    low, high = nv, 0
    for entry in range(end):
        low, high = min(low, support[entry]), max(high, support[entry] + 1)
    return min(low, high), high


@kernel
def whiten_mimic(model, kind, axis, hinge, articulated, row, whitening, column_inout, row_out):
    """Whiten a mimic joint's row: effort on it, and less the multiplier on the followed joint."""
    for body in range(kind.shape[0]):
        if not has_axis(kind[body]) or hinge[body, 7] == 0.0:
            continue
        effort = 0.0
        if model.v_index[body] == model.mimic[row, 0]:
            effort = 1.0
        elif model.v_index[body] == model.mimic[row, 1]:
            effort = -model.mimic_law[row, 0]
        if effort != 0.0:
            add_effort(model.parent, kind, model.v_index, axis, hinge, articulated, whitening,
                       body, effort, row_out, column_inout)
