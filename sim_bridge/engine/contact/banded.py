"""Gaussian elimination for a banded matrix with partial pivoting."""

from sim_bridge.compiler.kernel import subroutine


@subroutine
def solve_banded(band, size, matrix_inout, x_inout):
    """
    Solve by Gaussian elimination with partial pivoting; return False for a singular matrix.

    band: half bandwidth of the nonzero entries; row exchanges double it to the right.
    """
    for k in range(size):
        last, right = min(k + band + 1, size), min(k + 2 * band + 1, size)
        pivot = k
        for i in range(k + 1, last):
            if abs(matrix_inout[i, k]) > abs(matrix_inout[pivot, k]):
                pivot = i
        if not abs(matrix_inout[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for j in range(k, right):
                other = matrix_inout[pivot, j]
                matrix_inout[pivot, j] = matrix_inout[k, j]
                matrix_inout[k, j] = other
            other = x_inout[pivot]
            x_inout[pivot] = x_inout[k]
            x_inout[k] = other
        for i in range(k + 1, last):
            factor = matrix_inout[i, k] / matrix_inout[k, k]
            if factor != 0.0:
                for j in range(k + 1, right):
                    matrix_inout[i, j] -= factor * matrix_inout[k, j]
                x_inout[i] -= factor * x_inout[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, min(k + 2 * band + 1, size)):
            x_inout[k] -= matrix_inout[k, j] * x_inout[j]
        x_inout[k] /= matrix_inout[k, k]
    return True
