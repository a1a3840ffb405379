"""
Mass-matrix factorization with zeros between tree branches.

M = Lᵀ D L. L has a unit diagonal. Row k has further entries only at the coordinates above k
(Featherstone 2008, section 6.5).
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.model import KINEMATIC


@kernel
def factorize_mass(model, coordinates):
    """Replace the mass matrix in coordinates.factor by L; write coordinates.pivot."""
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
        is_kinematic = model.kind[coordinates.moved[k]] == KINEMATIC
        coordinates.pivot[k] = 0.0 if is_kinematic else pivot


@kernel
def solve_mass(coordinates, x_inout):
    """Replace x by M⁻¹ x; x: (nv, n)."""
    lift(coordinates, x_inout)
    lower(coordinates, x_inout)


@kernel
def invert_mass(coordinates, inverse_out):
    """Write M⁻¹, symmetric to the bit."""
    count = inverse_out.shape[0]
    inverse_out[:, :] = 0.0
    for k in range(count):
        inverse_out[k, k] = 1.0
    solve_mass(coordinates, inverse_out)
    for number in range(count):
        k = coordinates.order[number]
        for place in range(number):
            i = coordinates.order[place]
            inverse_out[k, i] = inverse_out[i, k]


@subroutine
def lift(coordinates, x_inout):
    """Replace x by L⁻ᵀ x."""
    factor, above = coordinates.factor, coordinates.above
    for number in range(above.shape[0] - 1, -1, -1):
        k = coordinates.order[number]
        x = x_inout[k]
        # skip leading and trailing zeros: columns from other branches are often zero
        first, end = 0, x.shape[0]
        while first < end and x[first] == 0.0:
            first += 1
        while first < end and x[end - 1] == 0.0:
            end -= 1
        i = above[k]
        while i >= 0:
            share, other = factor[k, i], x_inout[i]
            for column in range(first, end):
                other[column] -= share * x[column]
            i = above[i]


@subroutine
def lower(coordinates, x_inout):
    """Replace x by L⁻¹ D⁻¹ x, four columns at a time to keep the sums in registers."""
    factor, above = coordinates.factor, coordinates.above
    width = x_inout.shape[1]
    for number in range(above.shape[0]):
        k = coordinates.order[number]
        pivot, x = coordinates.pivot[k], x_inout[k]
        for first in range(0, width - 3, 4):
            a, b = pivot * x[first], pivot * x[first + 1]
            c, d = pivot * x[first + 2], pivot * x[first + 3]
            i = above[k]
            while i >= 0:
                share, other = factor[k, i], x_inout[i]
                a -= share * other[first]
                b -= share * other[first + 1]
                c -= share * other[first + 2]
                d -= share * other[first + 3]
                i = above[i]
            x[first], x[first + 1], x[first + 2], x[first + 3] = a, b, c, d
        for column in range(width - width % 4, width):
            a = pivot * x[column]
            i = above[k]
            while i >= 0:
                a -= factor[k, i] * x_inout[i, column]
                i = above[i]
            x[column] = a
