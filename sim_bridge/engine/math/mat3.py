"""
Matrices as 3-tuples of rows.

The letters in a product's name are its operands: m matrix, t transposed matrix, v vector.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.math.vec3 import dot, load3, store3


@kernel
def load_m(array, row, column):
    """Read a matrix, stored by rows, from nine numbers in a 2-d array's row."""
    return load3(array, row, column), load3(array, row, column + 3), load3(array, row, column + 6)


@kernel
def store_m(array_out, row, column, m):
    """Write a matrix by rows to nine numbers in a 2-d array's row."""
    store3(array_out, row, column, m[0])
    store3(array_out, row, column + 3, m[1])
    store3(array_out, row, column + 6, m[2])


@kernel
def mul_mv(m, v):
    """Return m v."""
    return dot(m[0], v), dot(m[1], v), dot(m[2], v)


@kernel
def mul_tv(m, v):
    """Return mᵀ v."""
    return (
        m[0][0] * v[0] + m[1][0] * v[1] + m[2][0] * v[2],
        m[0][1] * v[0] + m[1][1] * v[1] + m[2][1] * v[2],
        m[0][2] * v[0] + m[1][2] * v[1] + m[2][2] * v[2],
    )


@kernel
def mul_mm(a, b):
    """Return a b."""
    return mul_tv(b, a[0]), mul_tv(b, a[1]), mul_tv(b, a[2])


@kernel
def column(m, k):
    """Return column k of m."""
    return m[0][k], m[1][k], m[2][k]


@kernel
def transposed(m):
    """Return mᵀ."""
    return column(m, 0), column(m, 1), column(m, 2)
