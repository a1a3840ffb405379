"""
Alternating direction method of multipliers (ADMM) for an island with many contacts.

A Newton step factors a matrix for each guess of the contacts that press and slide. In a wall of
bricks that touch end to end hundreds of contacts are undecided, and the guesses do not settle.
Here one factorization serves all iterations (Carpentier, Le Lidec and Montaut 2024). Impulses are
held twice: x obeys the equations of motion, y the contact laws. With the penalty R, a share of
each row's inverse inertia, and g, the velocity in the laws,

    (1 + Wᵀ D W) z = z₀ + Wᵀ D (R y + g - b)      D = 1 / (R + E), E: row softness
    x = D (R y + g - b - W z)
    y solves the contact's own law for the diagonal inertia R:  g = R (y - x) + g before

The last line has a closed form for every law: Coulomb's law needs no convex approximation there.
Each iteration costs two substitutions and one pass over the contacts. Convergence is linear; the
iterations come near the solution, from any start, and Newton steps end the last part.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.budget import greatest_velocity, INVESTS, NEAR_REST, sweep_work
from sim_bridge.engine.contact.cone import clamp, per_bound, project_disk
from sim_bridge.engine.contact.gauss_seidel import angular_velocities, linear_velocities
from sim_bridge.engine.contact.newton import is_bounded_element
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.velocity_newton import factor_symmetric, substitute
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import (
    Block,
    Bound,
    IN_ORDER,
    NO_LAW,
    ORDER_WORK,
    Row,
    TREE_WORK,
)
from sim_bridge.engine.math.vec3 import add, load_v, scale, store_v, sub

# coordinates, and rows with friction; smaller islands are left to Newton steps
_MANY, _LARGE = 72, 150
_ITERATIONS = 10  # between two looks at the residual
_LOOKS = 40
# penalties relative to a row's inverse inertia: a small one soon finds the loads of contacts that
# stick, a large one the directions of contacts that slide. Near rest Newton steps follow, after a
# few looks, if the residual falls by no more than the factor _STALLS. Where the budget is below
# _NEWTONS of them, iterations go on alone, with a penalty that leaves no slow part.
_AT_REST, _ALONE, _IN_MOTION = 0.01, 0.003, 0.6
_NEWTONS = 6
_FEW_LOOKS, _STALLS = 2, 0.3
_RELAXATION = 1.6  # over-relaxation of x (Eckstein and Bertsekas 1992)


@subroutine
def alternate(laws, islands, rows, solution, direct, island, share, tolerance, allowed):
    """
    Iterate until the natural-map residual is within `tolerance`; return the residual.

    share: first penalty relative to a row's inverse inertia. allowed: work on the island in this
    time step, beyond which no iterations begin. The coordinates must be in order. The impulses
    with the least residual remain.
    """
    best, _ = island_residual(laws, islands, rows, solution, island)
    if islands.spent[island] > allowed:
        return best
    keep_iterate(islands, solution, direct.before, island)
    begin_iterations(laws, islands, rows, solution, direct, island)
    is_regular = use_penalty(laws, islands, rows, solution, direct, island, share)
    work, looks = iteration_work(islands, rows, direct, island), 0
    can_stall = share == _AT_REST
    before, left = math.inf, math.inf
    while (
        is_regular
        and looks < _LOOKS
        and best > tolerance
        and islands.spent[island] <= allowed
        and (not can_stall or looks < _FEW_LOOKS or left <= _STALLS * before)
    ):
        for _ in range(_ITERATIONS):
            iterate(laws, islands, rows, solution, direct, island, share)
        islands.spent[island] += _ITERATIONS * work
        set_whitened(laws, islands, rows, solution, direct, island)
        before = left
        left, _ = island_residual(laws, islands, rows, solution, island)
        if left < best:
            best = left
            keep_iterate(islands, solution, direct.before, island)
        looks += 1
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        solution.impulse[contact, :] = direct.before[contact]
    set_whitened(laws, islands, rows, solution, direct, island)
    return best


@kernel
def is_large(laws, islands, direct, island):
    """
    Return whether an island has so many bodies and rows with friction that iterations pay.

    Without friction, and in single robots with many contacts, Newton's method finds the pressing
    and sliding contacts itself. The matrix needs room. Newton steps along trees are cheap.
    """
    if direct.size[TREE_WORK] >= 0:
        return False
    if direct.size[IN_ORDER] < _MANY or direct.size[ORDER_WORK] < 0:
        return False
    size = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if laws.rows[contact] > 1 and laws.law[contact] != NO_LAW:
            size += laws.rows[contact]
    return size > _LARGE


@kernel
def penalty_of(state, islands, rows, direct, island, allowed):
    """
    Return the penalty relative to a row's inverse inertia that suits an island.

    allowed: multiplications allowed for the island.
    """
    if islands.remembers[island] == INVESTS:
        return _ALONE
    if greatest_velocity(state, islands, rows, island) >= NEAR_REST:
        return _IN_MOTION
    return _AT_REST if _NEWTONS * direct.size[ORDER_WORK] <= allowed else _ALONE


@kernel
def keep_iterate(islands, solution, kept_out, island):
    """Store an island's impulses."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        kept_out[contact, :] = solution.impulse[contact]


@kernel
def iteration_work(islands, rows, direct, island):
    """Return the multiplications in one iteration."""
    work = sweep_work(islands, rows, island)
    for at in range(direct.size[IN_ORDER]):
        work += 2 * (at - direct.first[at])
    return work


@kernel
def takes_part(rows, contact):
    """Return whether a contact is solved: it has inverse inertia."""
    return rows.block[contact, Block.NN] > 0.0


@kernel
def begin_iterations(laws, islands, rows, solution, direct, island):
    """Set direct.dual to the row velocities, direct.offset to z₀, z without these impulses."""
    for at in range(direct.size[IN_ORDER]):
        direct.offset[at] = solution.z[direct.coordinate[at]]
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not takes_part(rows, contact):
            continue
        impulse, dual = solution.impulse[contact], direct.dual[contact]
        store_v(dual, Row.NORMAL, linear_velocities(laws, rows, solution, contact))
        add_linear(
            rows, direct, contact, scale(-1.0, own_linear(laws, impulse, contact)), direct.offset
        )
        if laws.rows[contact] > 3:
            store_v(dual, Row.SPIN, angular_velocities(laws, rows, solution, contact))
            add_angular(
                rows, direct, contact, scale(-1.0, load_v(impulse, Row.SPIN)), direct.offset
            )


@kernel
def own_linear(laws, impulse, contact):
    """Return the linear impulses of the rows that a contact has."""
    if laws.rows[contact] == 1:
        return impulse[Row.NORMAL], 0.0, 0.0
    return load_v(impulse, Row.NORMAL)


@kernel
def add_linear(rows, direct, contact, values, x_inout):
    """Add Wᵀ times three values of the linear rows, in the order of the coordinates."""
    n, t, s = values
    linear = rows.linear
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        x_inout[direct.place[rows.support[entry]]] += (
            n * linear[0, entry] + t * linear[1, entry] + s * linear[2, entry]
        )


@kernel
def add_angular(rows, direct, contact, values, x_inout):
    """Add Wᵀ times three values of the angular rows, in the order of the coordinates."""
    n, t, s = values
    angular = rows.angular
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        x_inout[direct.place[rows.support[entry]]] += (
            n * angular[0, entry] + t * angular[1, entry] + s * angular[2, entry]
        )


@kernel
def gain(rows, direct, values, contact):
    """Return W z of three rows; values: rows.linear or rows.angular."""
    u0, u1, u2, z = 0.0, 0.0, 0.0, direct.search
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        x = z[direct.place[rows.support[entry]]]
        u0 += values[0, entry] * x
        u1 += values[1, entry] * x
        u2 += values[2, entry] * x
    return u0, u1, u2


@kernel
def linear_penalty(laws, rows, contact, share):
    """Return R of the linear rows; 0 for rows that a contact lacks or that move nothing."""
    block = rows.block[contact]
    stiff = share * max(block[Block.D11], block[Block.D22]) if laws.rows[contact] > 1 else 0.0
    normal = 0.0 if is_bounded_element(laws, contact) else share * block[Block.NN]
    return normal, stiff, stiff


@kernel
def angular_penalty(rows, contact, share):
    """Return R of the angular rows."""
    block = rows.block[contact]
    stiff = share * max(block[Block.ROLL], block[Block.ROLL2])
    return share * block[Block.SPIN], stiff, stiff


@kernel
def inverse(penalty, softness, at):
    """Return D of three rows, from row `at` on; 0 for rows without penalty."""
    return (
        1.0 / (penalty[0] + softness[at]) if penalty[0] > 0.0 else 0.0,
        1.0 / (penalty[1] + softness[at + 1]) if penalty[1] > 0.0 else 0.0,
        1.0 / (penalty[2] + softness[at + 2]) if penalty[2] > 0.0 else 0.0,
    )


@kernel
def times(a, b):
    """Multiply two vectors by items."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@subroutine
def use_penalty(laws, islands, rows, solution, direct, island, share):
    """Factor 1 + Wᵀ D W, and set the right-hand side; return False for a singular matrix."""
    count = direct.size[IN_ORDER]
    for at in range(count):
        direct.diagonal[at] = 1.0
        direct.search[at] = direct.offset[at]
        for entry in range(direct.start[at] + direct.first[at], direct.start[at] + at):
            direct.lower[entry] = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not takes_part(rows, contact):
            continue
        impulse, dual, bias = (
            solution.impulse[contact],
            direct.dual[contact],
            solution.bias[contact],
        )
        softness, penalty = laws.softness[contact], linear_penalty(laws, rows, contact, share)
        d = inverse(penalty, softness, Row.NORMAL)
        add_weighted(rows, rows.linear, direct, contact, d)
        wanted = sub(
            add(times(penalty, load_v(impulse, Row.NORMAL)), load_v(dual, Row.NORMAL)),
            load_v(bias, Row.NORMAL),
        )
        add_linear(rows, direct, contact, times(d, wanted), direct.search)
        if laws.rows[contact] > 3:
            penalty = angular_penalty(rows, contact, share)
            d = inverse(penalty, softness, Row.SPIN)
            add_weighted(rows, rows.angular, direct, contact, d)
            wanted = sub(
                add(times(penalty, load_v(impulse, Row.SPIN)), load_v(dual, Row.SPIN)),
                load_v(bias, Row.SPIN),
            )
            add_angular(rows, direct, contact, times(d, wanted), direct.search)
    islands.spent[island] += direct.size[ORDER_WORK] // 2
    return factor_symmetric(count, direct)


@kernel
def add_weighted(rows, values, direct, contact, weight):
    """Add Wᵀ D W of three rows to the lower triangle."""
    w0, w1, w2 = weight
    first, end = rows.first[contact], rows.first[contact + 1]
    for column in range(first, end):
        c = direct.place[rows.support[column]]
        x, y, z = w0 * values[0, column], w1 * values[1, column], w2 * values[2, column]
        direct.diagonal[c] += x * values[0, column] + y * values[1, column] + z * values[2, column]
        for line in range(column + 1, end):
            r = direct.place[rows.support[line]]
            direct.lower[direct.start[max(r, c)] + min(r, c)] += (
                x * values[0, line] + y * values[1, line] + z * values[2, line]
            )


@subroutine
def iterate(laws, islands, rows, solution, direct, island, share):
    """Take one iteration; direct.search holds the right-hand side, before and after."""
    count = direct.size[IN_ORDER]
    substitute(count, True, direct, direct.search)
    for at in range(count):
        direct.next_search[at] = direct.offset[at]
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not takes_part(rows, contact):
            continue
        impulse, g, bias = solution.impulse[contact], direct.dual[contact], solution.bias[contact]
        softness, radius = laws.softness[contact], laws.radius[contact]
        penalty = linear_penalty(laws, rows, contact, share)
        d = inverse(penalty, softness, Row.NORMAL)
        before, q = load_v(impulse, Row.NORMAL), load_v(bias, Row.NORMAL)
        v = relax(
            penalty, d, before, load_v(g, Row.NORMAL), q, gain(rows, direct, rows.linear, contact)
        )
        after = obey_laws(laws, contact, v, before)
        store_v(impulse, Row.NORMAL, after)
        now = times(penalty, sub(after, v))
        store_v(g, Row.NORMAL, now)
        add_linear(
            rows,
            direct,
            contact,
            times(d, sub(add(times(penalty, after), now), q)),
            direct.next_search,
        )
        if laws.rows[contact] > 3:
            penalty = angular_penalty(rows, contact, share)
            d = inverse(penalty, softness, Row.SPIN)
            before, q = load_v(impulse, Row.SPIN), load_v(bias, Row.SPIN)
            v = relax(
                penalty,
                d,
                before,
                load_v(g, Row.SPIN),
                q,
                gain(rows, direct, rows.angular, contact),
            )
            spin = clamp(v[0], radius[Bound.SPIN] * after[0]) if penalty[0] > 0.0 else before[0]
            r1, r2 = project_disk(v[1], v[2], radius[Bound.ROLL] * after[0])
            turned = (spin, r1, r2) if penalty[1] > 0.0 else (spin, before[1], before[2])
            store_v(impulse, Row.SPIN, turned)
            now = times(penalty, sub(turned, v))
            store_v(g, Row.SPIN, now)
            add_angular(
                rows,
                direct,
                contact,
                times(d, sub(add(times(penalty, turned), now), q)),
                direct.next_search,
            )
    for at in range(count):
        direct.search[at] = direct.next_search[at]


@kernel
def relax(penalty, d, y, g, bias, moved):
    """Return the over-relaxed x - g / R of three rows, the argument of the laws; moved: W z."""
    x = times(d, sub(sub(add(times(penalty, y), g), bias), moved))
    return (
        argument(penalty[0], x[0], y[0], g[0]),
        argument(penalty[1], x[1], y[1], g[1]),
        argument(penalty[2], x[2], y[2], g[2]),
    )


@kernel
def argument(penalty, x, y, g):
    """Return one row's argument of its law."""
    if penalty == 0.0:
        return y
    return _RELAXATION * x + (1.0 - _RELAXATION) * y - g / penalty


@kernel
def obey_laws(laws, contact, v, before):
    """
    Solve a contact's law for a diagonal inertia; v: impulses without the law.

    before: impulses kept by rows that move nothing.
    """
    if is_bounded_element(laws, contact):
        return before[0], clamp(v[1], laws.radius[contact, Bound.TANGENT]), before[2]
    n = max(v[0], 0.0)
    if laws.rows[contact] == 1:
        return n, before[1], before[2]
    radius, model = laws.radius[contact], laws.model[contact]
    if model == material.CONE:
        t, s = project_disk(v[1], v[2], radius[Bound.TANGENT] * n)
        return n, t, s
    return (
        n,
        clamp(v[1], radius[Bound.TANGENT] * per_bound(model, 0, n)),
        clamp(v[2], radius[Bound.TANGENT2] * per_bound(model, 1, n)),
    )


@kernel
def set_whitened(laws, islands, rows, solution, direct, island):
    """Compute solution.z from the impulses."""
    for at in range(direct.size[IN_ORDER]):
        direct.next_search[at] = direct.offset[at]
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(rows, contact):
            impulse = solution.impulse[contact]
            add_linear(
                rows, direct, contact, own_linear(laws, impulse, contact), direct.next_search
            )
            if laws.rows[contact] > 3:
                add_angular(rows, direct, contact, load_v(impulse, Row.SPIN), direct.next_search)
    for at in range(direct.size[IN_ORDER]):
        solution.z[direct.coordinate[at]] = direct.next_search[at]
