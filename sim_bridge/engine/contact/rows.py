"""Whitened rows of the contacts, from the factors of the trees."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.mimic_rows import respect_bonds
from sim_bridge.engine.data.contact_problem import (
    D11,
    D12,
    D22,
    N1,
    N2,
    NN,
    ROLL2_ROLL2,
    ROLL_ROLL,
    SPIN_SPIN,
)
from sim_bridge.engine.data.model import FREE, FREE_SINGLE
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, store3, sub

_SINGULAR = 1e-9  # determinant relative to that without coupling, below which nothing is inverted


@kernel
def whiten(kind, v_index, hinge, articulated, whitening_out):
    """Compute D^-½ of every coordinate."""
    for body in range(kind.shape[0]):
        at = v_index[body]
        if has_axis(kind[body]):
            whitening_out[at] = math.sqrt(hinge[body, 7])
        elif kind[body] == FREE or kind[body] == FREE_SINGLE:
            for k in range(6):
                whitening_out[at + k] = 1.0 / math.sqrt(articulated[body, k * (k + 3) // 2])


@kernel
def build_rows(
    parent, root, kind, v_index, geometry_body,  # model
    pose, axis, hinge, articulated, count, geometry, point, laws, bonds,  # state (read)
    rows,
):
    """
    Build the rows of all contacts that push, and each contact's own Delassus matrix.

    bonds: orthonormal whitened rows of what else ties joints and bodies.
    """
    rows.first[0] = 0
    end = rows.first[0]
    for contact in range(count):
        rows.first[contact] = end
        if laws.rows[contact] == 0:
            continue
        turns = laws.rows[contact] > 3
        for side in range(2):
            body = geometry_body[geometry[contact, side]]
            if body >= 0:
                sign = 1.0 - 2.0 * side
                p = sub(load3(point, contact, 0), load3(pose, root[body], 9))
                f0 = scale(sign, load3(laws.frame, contact, 0))
                f1 = scale(sign, load3(laws.frame, contact, 3))
                f2 = scale(sign, load3(laws.frame, contact, 6))
                if turns:
                    zero = (0.0, 0.0, 0.0)
                    add_side(parent, kind, v_index, axis, hinge, articulated, rows.whitening,
                             body, f0, zero, f1, zero, f2, zero, end,
                             rows.place, rows.support, rows.angular, rows.linear, rows.column)
                end = add_side(parent, kind, v_index, axis, hinge, articulated, rows.whitening,
                               body, cross(p, f0), f0, cross(p, f1), f1, cross(p, f2), f2, end,
                               rows.place, rows.support, rows.linear, rows.angular, rows.column)
        if bonds.shape[0] > 0:
            end = respect_bonds(bonds, rows, rows.first[contact], end)
        for entry in range(rows.first[contact], end):
            rows.place[rows.support[entry]] = -1
        fill_block(rows.first[contact], end, rows.linear, rows.angular, turns,
                   laws.softness[contact], rows.block[contact])
        invert_block(rows.block[contact], rows.inverse[contact])
    rows.first[count] = end


@subroutine
def add_side(
    parent, kind, v_index, axis, hinge, articulated, whitening,  # state (read)
    body, n0, f0, n1, f1, n2, f2, end,
    place_inout, support_out, values_inout, others_inout, column_inout,
):
    """
    Add what three wrenches on a body give to three rows; give the end of their entries.

    The wrenches travel from the body to the root of its tree, and leave at each joint what it does
    not pass on: the first half of an articulated-body solution. others_inout: the contact's other
    three rows, which get a zero for every new entry.
    """
    while body >= 0:
        joint = kind[body]
        at = v_index[body]
        if has_axis(joint):
            d_inv = hinge[body, 7]
            if d_inv != 0.0:
                s, t = load3(axis, body, 0), load3(axis, body, 3)
                u, x = load3(hinge, body, 0), load3(hinge, body, 3)
                w0 = dot(s, n0) + dot(t, f0)
                w1 = dot(s, n1) + dot(t, f1)
                w2 = dot(s, n2) + dot(t, f2)
                end = add_entry(place_inout, support_out, values_inout, others_inout, at, end,
                                scale(whitening[at], (w0, w1, w2)))
                w0, w1, w2 = d_inv * w0, d_inv * w1, d_inv * w2
                n0, f0 = sub(n0, scale(w0, u)), sub(f0, scale(w0, x))
                n1, f1 = sub(n1, scale(w1, u)), sub(f1, scale(w1, x))
                n2, f2 = sub(n2, scale(w2, u)), sub(f2, scale(w2, x))
        elif joint == FREE or joint == FREE_SINGLE:
            # L⁻¹, then D^-½
            a = articulated[body]
            for k in range(3):
                store3(column_inout, k, 0, (n0[k], n1[k], n2[k]))
                store3(column_inout, 3 + k, 0, (f0[k], f1[k], f2[k]))
            for i in range(6):
                y = load3(column_inout, i, 0)
                for k in range(i):
                    y = sub(y, scale(a[i * (i + 1) // 2 + k], load3(column_inout, k, 0)))
                store3(column_inout, i, 0, y)
                end = add_entry(place_inout, support_out, values_inout, others_inout, at + i, end,
                                scale(whitening[at + i], y))
        body = carrier(parent, kind, body)
    return end


@kernel
def add_entry(place_inout, support_out, values_inout, others_inout, at, end, values):
    """Add three values at a coordinate, as a new entry where it has none; give the end."""
    entry = place_inout[at]
    if entry < 0:
        entry = end
        place_inout[at] = entry
        support_out[entry] = at
        for k in range(3):
            values_inout[k, entry] = values[k]
            others_inout[k, entry] = 0.0
        return end + 1
    for k in range(3):
        values_inout[k, entry] += values[k]
    return max(end, entry + 1)


@kernel
def fill_block(first, end, linear, angular, turns, softness, block_out):
    """Compute the contact's own Delassus matrix."""
    for k in range(9):
        block_out[k] = 0.0
    for entry in range(first, end):
        n, t, s = linear[0, entry], linear[1, entry], linear[2, entry]
        block_out[NN] += n * n
        block_out[N1] += n * t
        block_out[D11] += t * t
        block_out[N2] += n * s
        block_out[D12] += t * s
        block_out[D22] += s * s
    block_out[NN] += softness[0]
    block_out[D11] += softness[1]
    block_out[D22] += softness[2]
    if turns:
        for entry in range(first, end):
            n, t, s = angular[0, entry], angular[1, entry], angular[2, entry]
            block_out[SPIN_SPIN] += n * n
            block_out[ROLL_ROLL] += t * t
            block_out[ROLL2_ROLL2] += s * s


@kernel
def invert_block(block, inverse_out):
    """Invert the linear rows' matrix by cofactors; give zeros where it is nearly singular."""
    a, b, c = block[NN], block[N1], block[N2]
    d, e, f = block[D11], block[D12], block[D22]
    c0, c1, c2 = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * c0 + b * c1 + c * c2
    scaling = 1.0 / determinant if determinant > _SINGULAR * a * d * f else 0.0
    inverse_out[NN] = scaling * c0
    inverse_out[N1], inverse_out[D11] = scaling * c1, scaling * (a * f - c * c)
    inverse_out[N2], inverse_out[D12] = scaling * c2, scaling * (b * c - a * e)
    inverse_out[D22] = scaling * (a * d - b * b)
