"""
Factor of a mass matrix that keeps the zeros between branches of a tree.

M = Lᵀ D L, L with ones on its diagonal and nothing but the coordinates above each one in its row
(Featherstone 2008, section 6.5).
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import KINEMATIC


@kernel
def factorize_mass(model, coordinates):
    """Replace the mass matrix in coordinates.factor by L, and write coordinates.pivot."""
    factor, above = coordinates.factor, coordinates.above
    for number in range(above.shape[0] - 1, -1, -1):
        k = coordinates.order[number]
        pivot = 1.0 / factor[k, k]
        i = above[k]
        while i >= 0:
            share = factor[k, i] * pivot
            j = i
            while j >= 0:
                factor[i, j] -= share * factor[k, j]
                j = above[j]
            factor[k, i] = share
            i = above[i]
        is_told = model.kind[coordinates.moved[k]] == KINEMATIC
        coordinates.pivot[k] = 0.0 if is_told else pivot


@kernel
def solve_mass(coordinates, x_inout):
    """Replace x by M⁻¹ x, column by column; x: (nv, n)."""
    factor, above = coordinates.factor, coordinates.above
    for number in range(above.shape[0] - 1, -1, -1):
        k = coordinates.order[number]
        i = above[k]
        while i >= 0:
            subtract_row(factor[k, i], x_inout[k], x_inout[i])
            i = above[i]
    for number in range(above.shape[0]):
        k = coordinates.order[number]
        pivot = coordinates.pivot[k]
        for column in range(x_inout.shape[1]):
            x_inout[k, column] *= pivot
        i = above[k]
        while i >= 0:
            subtract_row(factor[k, i], x_inout[i], x_inout[k])
            i = above[i]


@kernel
def subtract_row(share, row, from_inout):
    """Subtract a multiple of a row from another."""
    for column in range(row.shape[0]):
        from_inout[column] -= share * row[column]


@kernel
def invert_mass(coordinates, inverse_out):
    """Write M⁻¹: each row up to its diagonal, in the order of coordinates, and its mirror."""
    factor, above = coordinates.factor, coordinates.above
    inverse_out[:, :] = 0.0
    for number in range(above.shape[0]):
        column = coordinates.order[number]
        x = inverse_out[column]
        x[column] = 1.0
        k = column
        while k >= 0:
            i = above[k]
            while i >= 0:
                x[i] -= factor[k, i] * x[k]
                i = above[i]
            k = above[k]
        for place in range(number + 1):
            k = coordinates.order[place]
            value = x[k] * coordinates.pivot[k]
            i = above[k]
            while i >= 0:
                value -= factor[k, i] * x[i]
                i = above[i]
            x[k] = value
            inverse_out[k, column] = value
