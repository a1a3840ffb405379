"""
Mimic joints under contact: their whitened rows, and the contacts' without what they would break.

A contact's impulse must not part a mimic joint from the one it follows. In whitened coordinates
that is a projection: the contacts' rows lose their components along the mimic joints' rows.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.model import FREE
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.math.vec3 import add, dot, load3, scale

_REDUNDANT = 1e-24  # what is left of a row's square that is the others' sum
_ROUNDING = 1e-20  # what is left of a contact's rows' squares that is rounding


@subroutine
def build_mimic_rows(
    parent, kind, v_index, mimic, mimic_law,  # model
    axis, hinge, articulated, whitening,  # state (read)
    rows_out, column_inout,
):
    """Build the mimic joints' whitened rows, orthonormal by modified Gram-Schmidt."""
    rows_out[:, :] = 0.0
    for row in range(mimic.shape[0]):
        for body in range(kind.shape[0]):
            if not has_axis(kind[body]):
                continue
            effort = 0.0
            if v_index[body] == mimic[row, 0]:
                effort = 1.0
            elif v_index[body] == mimic[row, 1]:
                effort = -mimic_law[row, 0]
            if effort != 0.0 and hinge[body, 7] != 0.0:
                add_effort(parent, kind, v_index, axis, hinge, articulated, whitening,
                           body, effort, rows_out[row], column_inout)
        before = square(rows_out[row])
        for other in range(row):
            remove_part(rows_out[other], rows_out[row])
        norm = square(rows_out[row])
        scaling = 1.0 / math.sqrt(norm) if norm > _REDUNDANT * before else 0.0
        for at in range(rows_out.shape[1]):
            rows_out[row, at] *= scaling


@kernel
def add_effort(
    parent, kind, v_index, axis, hinge, articulated, whitening,  # state (read)
    body, effort,
    row_inout, column_inout,
):
    """Add to a row what an effort on a body's joint gives, there and on the way to the root."""
    at = v_index[body]
    row_inout[at] += effort * whitening[at]
    share = -effort * hinge[body, 7]
    n, f = scale(share, load3(hinge, body, 0)), scale(share, load3(hinge, body, 3))
    body = carrier(parent, kind, body)
    while body >= 0:
        at = v_index[body]
        if has_axis(kind[body]):
            if hinge[body, 7] != 0.0:
                w = dot(load3(axis, body, 0), n) + dot(load3(axis, body, 3), f)
                row_inout[at] += whitening[at] * w
                w *= -hinge[body, 7]
                n = add(n, scale(w, load3(hinge, body, 0)))
                f = add(f, scale(w, load3(hinge, body, 3)))
        elif kind[body] == FREE:
            a = articulated[body]
            for k in range(3):
                column_inout[k, 0], column_inout[3 + k, 0] = n[k], f[k]
            for i in range(6):
                for k in range(i):
                    column_inout[i, 0] -= a[i * (i + 1) // 2 + k] * column_inout[k, 0]
                row_inout[at + i] += whitening[at + i] * column_inout[i, 0]
        body = carrier(parent, kind, body)


@kernel
def square(vector):
    """Return the sum of squares."""
    total = 0.0
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return total


@kernel
def remove_part(direction, vector_inout):
    """Take from a vector its part along a unit vector."""
    part = 0.0
    for k in range(direction.shape[0]):
        part += direction[k] * vector_inout[k]
    for k in range(direction.shape[0]):
        vector_inout[k] -= part * direction[k]


@subroutine
def respect_bonds(bonds, rows, first, end):
    """
    Take from a contact's rows what the bonds would not let through; give the end.

    Where they let nothing through but rounding, nothing is left: an impulse there moves nothing.
    """
    before = squares(rows.linear, first, end), squares(rows.angular, first, end)
    for row in range(bonds.shape[0]):
        direction = bonds[row]
        for angular in range(2):
            values = rows.angular if angular == 1 else rows.linear
            others = rows.linear if angular == 1 else rows.angular
            part0, part1, part2 = 0.0, 0.0, 0.0
            for entry in range(first, end):
                d = direction[rows.support[entry]]
                part0 += d * values[0, entry]
                part1 += d * values[1, entry]
                part2 += d * values[2, entry]
            if part0 == 0.0 and part1 == 0.0 and part2 == 0.0:
                continue
            for at in range(direction.shape[0]):
                d = -direction[at]
                if d == 0.0:
                    continue
                entry = rows.place[at]
                if entry < 0:
                    entry = end
                    end += 1
                    rows.place[at] = entry
                    rows.support[entry] = at
                    for k in range(3):
                        values[k, entry] = 0.0
                        others[k, entry] = 0.0
                values[0, entry] += d * part0
                values[1, entry] += d * part1
                values[2, entry] += d * part2
    clear_rounding(before[0], first, end, rows.linear)
    clear_rounding(before[1], first, end, rows.angular)
    return end


@kernel
def squares(values, first, end):
    """Return the sums of squares of three rows."""
    x, y, z = 0.0, 0.0, 0.0
    for entry in range(first, end):
        x += values[0, entry] * values[0, entry]
        y += values[1, entry] * values[1, entry]
        z += values[2, entry] * values[2, entry]
    return x, y, z


@kernel
def clear_rounding(before, first, end, values_inout):
    """Clear each of three rows of which next to nothing is left of the squares before."""
    after = squares(values_inout, first, end)
    for k in range(3):
        if after[k] <= _ROUNDING * before[k]:
            for entry in range(first, end):
                values_inout[k, entry] = 0.0
