"""
Mimic joints under contact: their whitened rows, projected out of the contact rows.

A contact impulse must not violate a mimic joint's law. In whitened coordinates this is a
projection: the contact rows lose their components along the mimic rows.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.dynamics.whitening import whiten_mimic_row

_REDUNDANT = 1e-24  # a row is redundant below this remaining share of its squared norm
_ROUNDING = 1e-20  # a contact row is rounding up to this remaining share of its squared norm


@subroutine
def build_mimic_rows(model, ws, rows):
    """Build rows.mimic: whitened and orthonormal, by modified Gram-Schmidt."""
    rows.mimic[:, :] = 0.0
    for row in range(model.mimic.shape[0]):
        own = rows.mimic[row]
        whiten_mimic_row(model, ws, row, rows.whitening, rows.column, own)
        before = square(own)
        for other in range(row):
            remove_part(rows.mimic[other], own)
        norm = square(own)
        scaling = 1.0 / math.sqrt(norm) if norm > _REDUNDANT * before else 0.0
        for at in range(own.shape[0]):
            own[at] *= scaling


@kernel
def square(vector):
    """Return the sum of squares."""
    total = 0.0
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return total


@kernel
def remove_part(direction, vector_inout):
    """Subtract from a vector its projection on a unit vector."""
    part = 0.0
    for k in range(direction.shape[0]):
        part += direction[k] * vector_inout[k]
    for k in range(direction.shape[0]):
        vector_inout[k] -= part * direction[k]


@subroutine
def respect_bonds(bonds, rows, first, end):
    """
    Project the bonds out of a contact's rows; return the next free entry.

    bonds: orthonormal whitened rows. A row that becomes zero to rounding is cleared: an impulse
    there causes no motion.
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
    """Clear each of three rows whose remaining squared norm is negligible relative to `before`."""
    after = squares(values_inout, first, end)
    for k in range(3):
        if after[k] <= _ROUNDING * before[k]:
            for entry in range(first, end):
                values_inout[k, entry] = 0.0
