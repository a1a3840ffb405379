"""
Load sharing among redundant contacts.

The four corners of a box can share its weight in many ways, and can push against each other with
any friction. Where the box slides, the shares decide about friction's torque, and so about the
motion. The engine takes the solution for slightly compliant contacts, in the limit: in the first
round all rows yield by the same small share (Tikhonov regularization); the next rounds take this
compliance back (proximal point method). The solution depends neither on the last step's impulses
nor on the contacts' order, so a symmetric scene moves symmetrically, and loads do not flicker.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import linear_velocities
from sim_bridge.engine.contact.proximal import go_back, keep_impulses, take_round
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.velocity_newton import order_coordinates
from sim_bridge.engine.data.contact_problem import Block, NO_LAW, ORDER_WORK, Row, TREE_WORK

# first and later compliance, relative to the normal rows' inverse inertia: later rounds with 1e-4
# leave residuals in tall stacks, a first round with 1e-6 has too much rounding to be symmetric
_FIRST_YIELD, _YIELD = 1e-4, 1e-6
_ROUNDS = 10
_NEWTONS = 8  # in a round
_ACCURACY = 1e-9  # residual in a round, relative to the greatest velocity by a normal impulse
_ENOUGH = 1e-14  # last rounds reach this residual, relative to the same velocity,
_STALLS = 0.5  # or reduce the residual to no less than this share
_AT_REST = 1e-6  # keeps bodies at rest, relative to the tolerance
_BEST = 1e-4  # always suffices, relative to the tolerance
_NEAR = 10.0  # islands with a greater residual, relative to the tolerance, are left as they are
_CREEP = 1e-7  # contacts slide above this velocity [m/s]
_POINTS = 4  # so many sliding contacts in one pair are redundant


@subroutine
def share_load(laws, islands, rows, solution, direct, island, geometry, tolerance, allowed):
    """
    Replace an island's impulses by a compliant solution, if contacts are redundant.

    geometry: each contact's two geometries. allowed: island work in this time step; beyond it, no
    Newton step begins.
    """
    before, _ = island_residual(laws, islands, rows, solution, island)
    if before > _NEAR * tolerance:
        return
    if not is_redundant(laws, islands, rows, solution, direct, island, geometry, tolerance):
        return
    order_coordinates(islands, rows, direct, island)
    if direct.size[ORDER_WORK] < 0 and direct.size[TREE_WORK] < 0:
        return
    keep_impulses(islands, solution, island, direct.before)
    stiffness, gain = scale_of(laws, islands, rows, solution, island)
    compliance, about, natural = _FIRST_YIELD * stiffness, 0.0, before
    for _ in range(_ROUNDS):
        is_solved, _ = take_round(
            laws,
            islands,
            rows,
            solution,
            direct,
            island,
            0.0,
            compliance,
            about,
            _ACCURACY * gain,
            _NEWTONS,
            allowed,
            0,
        )
        left, _ = island_residual(laws, islands, rows, solution, island)
        is_good = left <= max(_ENOUGH * gain, _AT_REST * tolerance)
        is_last = about > 0.0 and (left > _STALLS * natural or is_good)
        natural = left
        if is_last or about == 0.0 and not is_solved:
            break
        compliance, about = _YIELD * stiffness, 1.0
    if about == 0.0 or not natural <= max(before, _BEST * tolerance):
        go_back(laws, islands, rows, solution, direct.before, island)


@kernel
def scale_of(laws, islands, rows, solution, island):
    """
    Return the contacts' inverse inertia and velocity scales.

    These are the geometric mean between the normal rows' least and greatest inverse inertia, and
    the greatest velocity given by a normal impulse to its own contact.
    """
    least, greatest, gain = math.inf, 0.0, 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        own = rows.block[contact, Block.NN]
        if own > 0.0 and laws.law[contact] != NO_LAW:
            least, greatest = min(least, own), max(greatest, own)
            gain = max(gain, own * solution.impulse[contact, Row.NORMAL])
    return math.sqrt(least * greatest), gain


@kernel
def is_redundant(laws, islands, rows, solution, direct, island, geometry, tolerance):
    """Return whether contacts have more rows than coordinates, or a pair has many sliding ones."""
    count, size, in_pair, last = 0, 0, 0, -1
    is_shared = False
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not is_pressing(laws, rows, solution, contact, tolerance):
            continue
        _, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
        # without friction the motion does not depend on the loads
        slides = laws.rows[contact] > 1 and u_1 * u_1 + u_2 * u_2 > _CREEP * _CREEP
        is_same = (
            last >= 0
            and geometry[contact, 0] == geometry[last, 0]
            and geometry[contact, 1] == geometry[last, 1]
        )
        in_pair, last = in_pair + 1 if is_same else 1, contact
        is_shared = is_shared or slides and in_pair >= _POINTS
        count += 2 if slides else min(laws.rows[contact], 3)
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if rows.place[at] < 0:
                rows.place[at] = size
                direct.coordinate[size] = at
                size += 1
    for k in range(size):
        rows.place[direct.coordinate[k]] = -1
    return is_shared or count > size


@kernel
def is_pressing(laws, rows, solution, contact, tolerance):
    """Return whether rigid bodies press or touch at a contact."""
    if laws.law[contact] == NO_LAW or rows.block[contact, Block.NN] == 0.0:
        return False
    if laws.softness[contact, Row.NORMAL] != 0.0:
        return False
    u_n = linear_velocities(laws, rows, solution, contact)[Row.NORMAL]
    return solution.impulse[contact, Row.NORMAL] > 0.0 or u_n <= tolerance
