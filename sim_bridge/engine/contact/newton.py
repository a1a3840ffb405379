"""
A semi-smooth Newton method for an island's contact problem.

Alart and Curnier (1991): the natural maps of all laws are linearized at once; contacts that part
drop out, sticking rows demand zero velocity, a sliding contact's impulse turns with its velocity
on the edge of the disk. One banded linear system, with partial pivoting. It finds in a few steps
what sweeps over stacks and extreme mass ratios would take thousands for; `proximal` makes it
robust.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import push_rows, velocities
from sim_bridge.engine.data.contact_problem import FIRST, NN, NORMAL, ROLL, ROLL2, SECOND, SPIN
from sim_bridge.engine.data.surfaces import CONE, CONSTANT


@subroutine
def find_direction(laws, islands, rows, solution, direct, island):
    """
    Find a Newton step of an island's impulses; give how many of them it changes.

    Contacts that part lose their impulse at once. The changes are left in direct.right, those of
    the impulses in direct.unknown. Returns -1 where there is no room for the system or it is
    singular.
    """
    size = list_unknowns(laws, islands, rows, solution, direct.unknown, island)
    if size <= 0:
        return size
    band = fill_matrix(direct.unknown, size, laws.softness, rows.first, rows.support,
                       rows.linear, rows.angular, direct.dense, direct.matrix)
    islands.spent[island] += size * (size + band * band)
    for at in range(size):
        if direct.unknown[at, 1] == NORMAL:
            set_contact_equations(laws, rows, solution, direct, at, size)
    if not solve_banded(band, size, direct.matrix, direct.right):
        return -1
    total = 0.0
    for i in range(size):
        total += abs(direct.right[i])
    return size if math.isfinite(total) else -1


@subroutine
def move_along(rows, solution, direct, size, length):
    """Move impulses by so many times what `find_direction` found."""
    for i in range(size):
        contact, row = direct.unknown[i, 0], direct.unknown[i, 1]
        change = length * direct.right[i]
        solution.impulse[contact, row] += change
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            solution.z[rows.support[entry]] += change * value_of(
                rows.linear, rows.angular, entry, row)


@kernel
def value_of(linear, angular, entry, row):
    """Return one entry of a whitened row."""
    return linear[row, entry] if row < SPIN else angular[row - SPIN, entry]


@kernel
def diagonal_of(row):
    """Return the column of Rows.block that holds a row's own inverse inertia."""
    return row * (row + 3) // 2 if row < SPIN else row + 3


@kernel
def list_unknowns(laws, islands, rows, solution, unknown_out, island):
    """List the rows of contacts that press, and drop the others' impulses; -1 without room."""
    size = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, impulse = rows.block[contact], solution.impulse[contact]
        if block[NN] == 0.0:
            continue
        first, end = rows.first[contact], rows.first[contact + 1]
        u_n = velocities(rows.support, rows.linear, first, end, solution.bias[contact],
                         laws.softness[contact], impulse, 0, solution.z)[0]
        if impulse[NORMAL] - u_n / block[NN] <= 0.0:
            push_rows(rows.support, rows.linear, first, end,
                      -impulse[0], -impulse[1], -impulse[2], solution.z)
            if laws.rows[contact] > 3:
                push_rows(rows.support, rows.angular, first, end,
                          -impulse[3], -impulse[4], -impulse[5], solution.z)
            for k in range(6):
                impulse[k] = 0.0
            continue
        if size + laws.rows[contact] > unknown_out.shape[0]:
            return -1
        for row in range(laws.rows[contact]):
            if block[diagonal_of(row)] > 0.0:
                unknown_out[size, 0], unknown_out[size, 1] = contact, row
                unknown_out[size, 2], unknown_out[size, 3] = span_of(rows.support, first, end)
                size += 1
    return size


@kernel
def span_of(support, first, end):
    """Return the least and the greatest coordinate of a contact's entries."""
    least, greatest = support[first], support[first]
    for entry in range(first, end):
        least = min(least, support[entry])
        greatest = max(greatest, support[entry])
    return least, greatest


@kernel
def fill_matrix(
    unknown, size, softness, first, support, linear, angular, dense_inout, matrix_out,
):
    """
    Compute the Delassus matrix of the unknowns; give its bandwidth.

    Contacts are ordered by what touches, so that those far apart in the order share nothing.
    """
    band = 0
    for i in range(size):
        contact, row = unknown[i, 0], unknown[i, 1]
        for entry in range(first[contact], first[contact + 1]):
            dense_inout[support[entry]] = value_of(linear, angular, entry, row)
        for j in range(i + 1):
            total = 0.0
            if unknown[j, 2] <= unknown[i, 3] and unknown[i, 2] <= unknown[j, 3]:
                other, column = unknown[j, 0], unknown[j, 1]
                band = max(band, i - j)
                for entry in range(first[other], first[other + 1]):
                    total += (value_of(linear, angular, entry, column)
                              * dense_inout[support[entry]])
            matrix_out[i, j] = total
            matrix_out[j, i] = total
        for entry in range(first[contact], first[contact + 1]):
            dense_inout[support[entry]] = 0.0
        matrix_out[i, i] += softness[contact, row]
    return band


@kernel
def set_contact_equations(laws, rows, solution, direct, at, size):
    """Turn one contact's rows of the Delassus matrix, from `at` on, into Newton equations."""
    contact, unknown = direct.unknown[at, 0], direct.unknown
    matrix, right = direct.matrix, direct.right
    impulse, radius = solution.impulse[contact], laws.radius[contact]
    bias, softness = solution.bias[contact], laws.softness[contact]
    first, end = rows.first[contact], rows.first[contact + 1]
    u_n, u_1, u_2 = velocities(rows.support, rows.linear, first, end, bias, softness, impulse, 0,
                               solution.z)
    normal = at
    right[at] = -u_n
    at += 1
    push = max(impulse[NORMAL], 0.0)
    model = laws.model[contact]
    fixed = model == CONSTANT
    if model == CONE and is_pair(unknown, at, size, contact, FIRST, SECOND):
        set_disk_equations(at, normal, size, push, radius[0], impulse[1], impulse[2], u_1, u_2,
                           matrix, right)
        at += 2
    while at < size and unknown[at, 0] == contact and unknown[at, 1] < SPIN:
        row = unknown[at, 1]
        set_interval_equation(at, normal, size, push, radius[row - 1], fixed, impulse[row],
                              u_1 if row == FIRST else u_2, matrix, right)
        at += 1
    if laws.rows[contact] > 3:
        u_n, u_1, u_2 = velocities(rows.support, rows.angular, first, end, bias, softness,
                                   impulse, 3, solution.z)
        if at < size and unknown[at, 0] == contact and unknown[at, 1] == SPIN:
            set_interval_equation(at, normal, size, push, radius[3], False, impulse[3], u_n,
                                  matrix, right)
            at += 1
        if is_pair(unknown, at, size, contact, ROLL, ROLL2):
            set_disk_equations(at, normal, size, push, radius[2], impulse[4], impulse[5],
                               u_1, u_2, matrix, right)
            at += 2
        while at < size and unknown[at, 0] == contact:
            row = unknown[at, 1]
            set_interval_equation(at, normal, size, push, radius[2], False, impulse[row],
                                  u_1 if row == ROLL else u_2, matrix, right)
            at += 1


@kernel
def is_pair(unknown, at, size, contact, row, other):
    """Return whether two rows of a contact are the unknowns `at` and the next."""
    return (at + 1 < size and unknown[at, 0] == contact and unknown[at, 1] == row
            and unknown[at + 1, 0] == contact and unknown[at + 1, 1] == other)


@subroutine
def set_interval_equation(
    i, normal, size, push, radius, fixed, impulse, velocity, matrix_inout, right_inout,
):
    """Make the equation of a row whose impulse is bounded on its own."""
    bound = radius if fixed else radius * push
    scaling = matrix_inout[i, i]
    wanted = impulse - velocity / scaling
    if abs(wanted) <= bound:
        right_inout[i] = -velocity
        return
    side = math.copysign(1.0, wanted)
    for j in range(size):
        matrix_inout[i, j] = 0.0
    matrix_inout[i, i] = scaling
    if not fixed:
        matrix_inout[i, normal] = -scaling * side * radius
    right_inout[i] = scaling * (side * bound - impulse)


@subroutine
def set_disk_equations(
    i, normal, size, push, radius, t, s, u_1, u_2, matrix_inout, right_inout,
):
    """Make the equations of two rows whose impulse is bounded by a disk."""
    stiff = max(matrix_inout[i, i], matrix_inout[i + 1, i + 1])
    y1, y2 = t - u_1 / stiff, s - u_2 / stiff
    length = math.sqrt(y1 * y1 + y2 * y2)
    bound = radius * push
    if length <= bound:
        right_inout[i], right_inout[i + 1] = -u_1, -u_2
        return
    # λ - bound y / |y| = 0, with dy = dλ - G dλ / stiff and d bound = radius dλ_n
    d1, d2 = y1 / length, y2 / length
    share = bound / length
    p11, p12, p22 = share * d2 * d2, -share * d1 * d2, share * d1 * d1
    for j in range(size):
        g1, g2 = matrix_inout[i, j], matrix_inout[i + 1, j]
        matrix_inout[i, j] = p11 * g1 + p12 * g2
        matrix_inout[i + 1, j] = p12 * g1 + p22 * g2
    matrix_inout[i, i] += stiff * (1.0 - p11)
    matrix_inout[i, i + 1] -= stiff * p12
    matrix_inout[i + 1, i] -= stiff * p12
    matrix_inout[i + 1, i + 1] += stiff * (1.0 - p22)
    matrix_inout[i, normal] -= stiff * radius * d1
    matrix_inout[i + 1, normal] -= stiff * radius * d2
    right_inout[i] = stiff * (bound * d1 - t)
    right_inout[i + 1] = stiff * (bound * d2 - s)


@subroutine
def solve_banded(band, size, matrix_inout, x_inout):
    """
    Solve by Gaussian elimination with partial pivoting; False for a singular matrix.

    band: how far from the diagonal entries are not 0; exchanging rows doubles it to the right.
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
