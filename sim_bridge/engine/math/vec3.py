"""
Vectors as 3-tuples, matrices as 3-tuples of rows.

They need no allocation, and the compiler keeps them in registers. The names contain the operand
kinds: v a vector, m a matrix, s a scalar.
"""

import math

from sim_bridge.compiler.kernel import kernel


@kernel
def load_v(array, at):
    """Read three numbers of a 1-d array."""
    return array[at], array[at + 1], array[at + 2]


@kernel
def load3(array, row, column):
    """Read three numbers of a row of a 2-d array."""
    return array[row, column], array[row, column + 1], array[row, column + 2]


@kernel
def store3(array_out, row, column, v):
    """Write three numbers into a row of a 2-d array."""
    array_out[row, column], array_out[row, column + 1], array_out[row, column + 2] = v


@kernel
def load_m(array, row, column):
    """Read a matrix stored by rows in nine numbers of a row of a 2-d array."""
    return load3(array, row, column), load3(array, row, column + 3), load3(array, row, column + 6)


@kernel
def store_m(array_out, row, column, m):
    """Write a matrix by rows into nine numbers of a row of a 2-d array."""
    store3(array_out, row, column, m[0])
    store3(array_out, row, column + 3, m[1])
    store3(array_out, row, column + 6, m[2])


@kernel
def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@kernel
def dot(a, b):
    """Return the inner product of a and b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def mul_mv(m, v):
    """Return m v."""
    return dot(m[0], v), dot(m[1], v), dot(m[2], v)


@kernel
def mul_tv(m, v):
    """Return mᵀ v."""
    return (m[0][0] * v[0] + m[1][0] * v[1] + m[2][0] * v[2],
            m[0][1] * v[0] + m[1][1] * v[1] + m[2][1] * v[2],
            m[0][2] * v[0] + m[1][2] * v[1] + m[2][2] * v[2])


@kernel
def mul_mm(a, b):
    """Return a b."""
    return mul_tv(b, a[0]), mul_tv(b, a[1]), mul_tv(b, a[2])


@kernel
def _least_axis(v):
    """Return the coordinate axis farthest from the direction of v."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        return 1.0, 0.0, 0.0
    if y <= z:
        return 0.0, 1.0, 0.0
    return 0.0, 0.0, 1.0


@kernel
def perpendicular(v):
    """Return a unit vector orthogonal to v, which must not be zero."""
    u = cross(v, _least_axis(v))
    return scale(1.0 / math.sqrt(dot(u, u)), u)
