"""
Vectors as 3-tuples.

They need no allocation; the compiler keeps them in registers.
"""

import math

from sim_bridge.compiler.kernel import kernel

ZERO = (0.0, 0.0, 0.0)


@kernel
def load_v(array, at):
    """Read three numbers from a 1-d array."""
    return array[at], array[at + 1], array[at + 2]


@kernel
def store_v(array_out, at, v):
    """Write three numbers to a 1-d array."""
    array_out[at], array_out[at + 1], array_out[at + 2] = v


@kernel
def load3(array, row, column):
    """Read three numbers from a 2-d array's row."""
    return array[row, column], array[row, column + 1], array[row, column + 2]


@kernel
def store3(array_out, row, column, v):
    """Write three numbers to a 2-d array's row."""
    array_out[row, column], array_out[row, column + 1], array_out[row, column + 2] = v


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
    """Return the inner product a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def norm(v):
    """Return |v|."""
    return math.sqrt(dot(v, v))


@kernel
def unit_vector(axis):
    """Return the unit vector along axis 0, 1 or 2; the zero vector for other axes."""
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


@kernel
def least_axis(v):
    """Return the index of the coordinate axis farthest from the direction of v."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        return 0
    return 1 if y <= z else 2


@kernel
def greatest_axis(v):
    """Return the index of the coordinate axis nearest to the direction of v."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x >= y and x >= z:
        return 0
    return 1 if y >= z else 2


@kernel
def perpendicular(v):
    """Return a unit vector orthogonal to v; v must not be zero."""
    u = cross(v, unit_vector(least_axis(v)))
    return scale(1.0 / norm(u), u)
