"""
Semismooth Newton method for an island's contact problem.

Alart and Curnier (1991): the natural maps of all laws are linearized at once. Separating contacts
drop out, sticking rows require zero velocity, and a sliding contact's impulse turns with its
velocity on the disk's edge. This gives one banded linear system, solved with partial pivoting. It
needs a few steps where sweeps over stacks and extreme mass ratios would need thousands; `proximal`
makes it robust.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.banded import solve_banded
from sim_bridge.engine.contact.cone import has_constant_bound, slide_on_disk
from sim_bridge.engine.contact.gauss_seidel import angular_velocities, linear_velocities, push
from sim_bridge.engine.contact.rows import diagonal_of, value_of
from sim_bridge.engine.contact.tree_newton import solve_along_trees
from sim_bridge.engine.contact.velocity_newton import solve_for_velocities
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import (
    Block,
    Bound,
    HIGHEST,
    LOWEST,
    NO_LAW,
    OF_CONTACT,
    OF_ROW,
    ORDER_WORK,
    Row,
    TREE_WORK,
)
from sim_bridge.engine.math.vec3 import load_v, scale


@subroutine
def find_direction(laws, islands, rows, solution, direct, island):
    """
    Compute a Newton step for an island's impulses; return the number of changed impulses.

    Separating contacts lose their impulse at once. The changes are stored in direct.right, for the
    impulses listed in direct.unknown. Returns -1 if the system is too large or singular.
    """
    size = list_unknowns(laws, islands, rows, solution, direct.unknown, island)
    if size <= 0:
        return size
    trees = direct.size[TREE_WORK]
    if trees >= 0:
        islands.spent[island] += trees
        if not solve_along_trees(laws, rows, solution, direct, size):
            return -1
        return size if is_finite_step(direct, size) else -1
    band, work = bandwidth(direct.unknown, size), direct.size[ORDER_WORK]
    if 0 <= work < size * (size + band * band) or size > direct.matrix.shape[0]:
        islands.spent[island] += work
        if work < 0 or not solve_for_velocities(laws, rows, solution, direct, size):
            return -1
        return size if is_finite_step(direct, size) else -1
    fill_matrix(laws, rows, direct, size)
    islands.spent[island] += size * (size + band * band)
    for at in range(size):
        if direct.unknown[at, OF_ROW] == Row.NORMAL:
            set_contact_equations(laws, rows, solution, direct, at, size)
        elif is_bounded_element(laws, direct.unknown[at, OF_CONTACT]):
            contact = direct.unknown[at, OF_CONTACT]
            direct.right[at] = -linear_velocities(laws, rows, solution, contact)[Row.TANGENT]
    if not solve_banded(band, size, direct.matrix, direct.right):
        return -1
    return size if is_finite_step(direct, size) else -1


@kernel
def is_finite_step(direct, size):
    """Return whether all changes in direct.right are finite."""
    total = 0.0
    for i in range(size):
        total += abs(direct.right[i])
    return math.isfinite(total)


@kernel
def bandwidth(unknown, size):
    """Return the greatest distance between two unknowns that share coordinates."""
    band = 0
    for i in range(size):
        for j in range(i - band):
            if (
                unknown[j, LOWEST] <= unknown[i, HIGHEST]
                and unknown[i, LOWEST] <= unknown[j, HIGHEST]
            ):
                band = i - j
                break
    return band


@subroutine
def move_along(rows, solution, direct, size, length):
    """Add a multiple of the step from `find_direction` to the impulses."""
    for i in range(size):
        contact, row = direct.unknown[i, OF_CONTACT], direct.unknown[i, OF_ROW]
        change = length * direct.right[i]
        solution.impulse[contact, row] += change
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            solution.z[rows.support[entry]] += change * value_of(rows, entry, row)


@kernel
def list_unknowns(laws, islands, rows, solution, unknown_out, island):
    """
    List the rows of pressing contacts in unknown_out, and clear all other impulses.

    Returns the number of rows, -1 without room.
    """
    size = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, impulse = rows.block[contact], solution.impulse[contact]
        if block[Block.NN] == 0.0:
            continue
        u_n = linear_velocities(laws, rows, solution, contact)[Row.NORMAL]
        if impulse[Row.NORMAL] - u_n / block[Block.NN] <= 0.0:
            push(
                laws,
                rows,
                contact,
                scale(-1.0, load_v(impulse, Row.NORMAL)),
                scale(-1.0, load_v(impulse, Row.SPIN)),
                solution.z,
            )
            impulse[:] = 0.0
            continue
        if size + laws.rows[contact] > unknown_out.shape[0]:
            return -1
        first = Row.NORMAL
        if is_bounded_element(laws, contact):
            first = Row.TANGENT
            if is_put_at_bound(laws, rows, solution, contact):
                continue
        for row in range(first, laws.rows[contact]):
            if block[diagonal_of(row)] > 0.0:
                unknown_out[size, OF_CONTACT], unknown_out[size, OF_ROW] = contact, row
                unknown_out[size, LOWEST], unknown_out[size, HIGHEST] = span_of(rows, contact)
                size += 1
    return size


@kernel
def is_bounded_element(laws, contact):
    """Return whether a contact is a joint element with two bounds, see `law_rows`."""
    return laws.law[contact] == NO_LAW and laws.rows[contact] == 3


@kernel
def is_put_at_bound(laws, rows, solution, contact):
    """Set an element's impulse to its bound if the bound is reached; return whether it is."""
    impulse, bound = solution.impulse[contact], laws.radius[contact, Bound.TANGENT]
    u = linear_velocities(laws, rows, solution, contact)[Row.TANGENT]
    wanted = impulse[Row.TANGENT] - u / rows.block[contact, Block.D11]
    if abs(wanted) <= bound:
        return False
    change = math.copysign(bound, wanted) - impulse[Row.TANGENT]
    push(laws, rows, contact, (0.0, change, 0.0), (0.0, 0.0, 0.0), solution.z)
    impulse[Row.TANGENT] += change
    return True


@kernel
def span_of(rows, contact):
    """Return the least and the greatest coordinate of a contact's entries."""
    first = rows.first[contact]
    least, greatest = rows.support[first], rows.support[first]
    for entry in range(first, rows.first[contact + 1]):
        least = min(least, rows.support[entry])
        greatest = max(greatest, rows.support[entry])
    return least, greatest


@kernel
def fill_matrix(laws, rows, direct, size):
    """
    Compute direct.matrix, the Delassus matrix of the unknowns.

    Contacts are ordered by the touching geometries, so contacts far apart in the order share no
    coordinates.
    """
    unknown, dense, matrix = direct.unknown, direct.dense, direct.matrix
    for i in range(size):
        contact, row = unknown[i, OF_CONTACT], unknown[i, OF_ROW]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            dense[rows.support[entry]] = value_of(rows, entry, row)
        for j in range(i + 1):
            total = 0.0
            if (
                unknown[j, LOWEST] <= unknown[i, HIGHEST]
                and unknown[i, LOWEST] <= unknown[j, HIGHEST]
            ):
                other, column = unknown[j, OF_CONTACT], unknown[j, OF_ROW]
                for entry in range(rows.first[other], rows.first[other + 1]):
                    total += value_of(rows, entry, column) * dense[rows.support[entry]]
            matrix[i, j] = total
            matrix[j, i] = total
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            dense[rows.support[entry]] = 0.0
        matrix[i, i] += laws.softness[contact, row]


@kernel
def set_contact_equations(laws, rows, solution, direct, at, size):
    """Convert one contact's Delassus matrix rows, from `at` on, to Newton equations."""
    contact, unknown = direct.unknown[at, OF_CONTACT], direct.unknown
    impulse, radius = solution.impulse[contact], laws.radius[contact]
    u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
    normal = at
    direct.right[at] = -u_n
    at += 1
    pressing = max(impulse[Row.NORMAL], 0.0)
    model = laws.model[contact]
    if model == material.CONE and is_pair(unknown, at, size, contact, Row.TANGENT, Row.TANGENT2):
        set_disk_equations(
            direct,
            at,
            normal,
            size,
            pressing,
            radius[Bound.TANGENT],
            (impulse[Row.TANGENT], impulse[Row.TANGENT2]),
            (u_1, u_2),
        )
        at += 2
    while at < size and unknown[at, OF_CONTACT] == contact and unknown[at, OF_ROW] < Row.SPIN:
        row = unknown[at, OF_ROW]
        # Bound has the tangent rows in Row's order, without the normal row
        set_interval_equation(
            direct,
            at,
            normal,
            size,
            pressing,
            radius[row - Row.TANGENT],
            has_constant_bound(model, row - Row.TANGENT),
            impulse[row],
            u_1 if row == Row.TANGENT else u_2,
        )
        at += 1
    if laws.rows[contact] > 3:
        u_n, u_1, u_2 = angular_velocities(laws, rows, solution, contact)
        if at < size and unknown[at, OF_CONTACT] == contact and unknown[at, OF_ROW] == Row.SPIN:
            set_interval_equation(
                direct,
                at,
                normal,
                size,
                pressing,
                radius[Bound.SPIN],
                False,
                impulse[Row.SPIN],
                u_n,
            )
            at += 1
        if is_pair(unknown, at, size, contact, Row.ROLL, Row.ROLL2):
            set_disk_equations(
                direct,
                at,
                normal,
                size,
                pressing,
                radius[Bound.ROLL],
                (impulse[Row.ROLL], impulse[Row.ROLL2]),
                (u_1, u_2),
            )
            at += 2
        while at < size and unknown[at, OF_CONTACT] == contact:
            row = unknown[at, OF_ROW]
            set_interval_equation(
                direct,
                at,
                normal,
                size,
                pressing,
                radius[Bound.ROLL],
                False,
                impulse[row],
                u_1 if row == Row.ROLL else u_2,
            )
            at += 1


@kernel
def is_pair(unknown, at, size, contact, row, other):
    """Return whether unknowns `at` and `at` + 1 are the rows `row` and `other` of a contact."""
    return (
        at + 1 < size
        and unknown[at, OF_CONTACT] == contact
        and unknown[at, OF_ROW] == row
        and unknown[at + 1, OF_CONTACT] == contact
        and unknown[at + 1, OF_ROW] == other
    )


@subroutine
def set_interval_equation(direct, i, normal, size, pressing, radius, fixed, impulse, velocity):
    """
    Write equation i, for a row with its own impulse bound.

    normal: index of the normal row's equation. pressing: normal impulse. fixed: the bound is
    `radius` itself instead of `radius` times `pressing`.
    """
    matrix, right = direct.matrix, direct.right
    bound = radius if fixed else radius * pressing
    scaling = matrix[i, i]
    wanted = impulse - velocity / scaling
    if abs(wanted) <= bound:
        right[i] = -velocity
        return
    side = math.copysign(1.0, wanted)
    matrix[i, :size] = 0.0
    matrix[i, i] = scaling
    if not fixed:
        matrix[i, normal] = -scaling * side * radius
    right[i] = scaling * (side * bound - impulse)


@subroutine
def set_disk_equations(direct, i, normal, size, pressing, radius, impulse, velocity):
    """
    Write equations i and i + 1, for two rows with a disk bound.

    Arguments as in `set_interval_equation`.
    """
    matrix, right = direct.matrix, direct.right
    t, s = impulse
    stiff, bound = max(matrix[i, i], matrix[i + 1, i + 1]), radius * pressing
    slides, d1, d2, p11, p12, p22 = slide_on_disk(stiff, bound, impulse, velocity)
    if not slides:
        right[i], right[i + 1] = -velocity[0], -velocity[1]
        return
    for j in range(size):
        g1, g2 = matrix[i, j], matrix[i + 1, j]
        matrix[i, j] = p11 * g1 + p12 * g2
        matrix[i + 1, j] = p12 * g1 + p22 * g2
    matrix[i, i] += stiff * (1.0 - p11)
    matrix[i, i + 1] -= stiff * p12
    matrix[i + 1, i] -= stiff * p12
    matrix[i + 1, i + 1] += stiff * (1.0 - p22)
    matrix[i, normal] -= stiff * radius * d1
    matrix[i + 1, normal] -= stiff * radius * d2
    right[i] = stiff * (bound * d1 - t)
    right[i + 1] = stiff * (bound * d2 - s)
