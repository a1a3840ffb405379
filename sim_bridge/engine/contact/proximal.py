"""
Proximal point method around Newton steps, for robustness.

A box on four corners has more contact rows than degrees of freedom. Many impulses solve its
problem, or the last bits of the gaps decide which contacts press. The Newton matrix is then
singular, and its steps erratic. Each round here solves a nearby problem instead, where every row
also yields in proportion to its impulse change since the start of the round (Rockafellar 1976).
This problem has a unique solution, found by Newton's method in a few steps. Any fixed point of the
rounds solves the original problem. The compliance shrinks as long as the inner problems are
solved, so few rounds are needed. The first rounds are about zero impulses instead, with less and
less compliance, and come near the solution in fewer steps.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.budget import BAD, sweep_work
from sim_bridge.engine.contact.gauss_seidel import push, sweep
from sim_bridge.engine.contact.newton import find_direction, is_bounded_element, move_along
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.rows import diagonal_of
from sim_bridge.engine.data.contact_problem import (
    Block,
    KEPT_BIAS,
    KEPT_BLOCK,
    KEPT_IMPULSE,
    KEPT_SOFTNESS,
    Row,
)
from sim_bridge.engine.math.vec3 import load_v, sub

_ROUNDS = 40
MOST_NEWTONS = 150
_NEWTONS_A_ROUND = 12
_NEWTONS_AT_REST = 3
_FOR_BAD = 30  # factor on the allowed work for a residual above BAD,
_MOST_FOR_BAD = 2_500_000  # but no more work than this, unless the regular allowance is larger
_LAST_NEWTONS = 2  # Newton steps in the last round, whatever their cost
_WORSE = 2.0  # a Newton step is taken in full up to this residual growth
_SHORTEST = 0.1  # smallest Newton step share tried
_BEST = 1e-4  # share of the tolerance that always suffices
_AT_REST = 1e-7  # the same for an island solved already, to bring it to rest
_FIRST_YIELD, _LAST_YIELD = 1e-2, 1e-6  # in `seek_least`, relative to a row's inverse inertia
_ROUGHLY = 0.3  # rounds in `seek_least` end at this share of the residual
_FEW = 3  # after at most this many Newton steps in a round, the next one yields much less
_LESS, _MUCH_LESS = 0.1, 1e-3
_ACCURACY = 1e-3  # rounds outside `seek_least` end at this share of the residual
_YIELD = 1e-3  # first compliance, relative to a row's inverse inertia
_LEAST_YIELD = 1e-10
_YIELD_AT_REST = 1e-6
_MOST_YIELD = 0.1


@subroutine
def solve_proximal(laws, islands, rows, solution, direct, island, tolerance, most, most_newtons):
    """
    Solve an island to a natural-map residual of `tolerance`; return the Newton step count.

    After convergence, a last round reduces the residual much further, so a world at rest stays at
    rest for long; an island already within tolerance takes only this round, with an even smaller
    residual. Jammed bodies whose laws have no solution must not stop a simulation. So no Newton
    step begins after too many steps, or after too much work on the island in this time step, over
    all pivots of joints at their stops. most: multiplications allowed. most_newtons: Newton steps
    allowed; a round may exceed them.
    """
    natural, _ = island_residual(laws, islands, rows, solution, island)
    newtons, share, best, is_last = 0, _YIELD, _BEST * tolerance, False
    turns = _NEWTONS_A_ROUND
    if natural <= tolerance:
        share, best, turns = _YIELD_AT_REST, _AT_REST * tolerance, _NEWTONS_AT_REST
    else:
        natural, newtons = seek_least(
            laws, islands, rows, solution, direct, island, natural, tolerance, most, most_newtons
        )
        if natural <= tolerance:
            share = _LAST_YIELD
    for _ in range(_ROUNDS):
        is_spent = newtons >= most_newtons or (
            islands.spent[island] > allowed_work(natural, most) and natural > tolerance
        )
        if is_spent or is_last or natural <= best:
            break
        is_last = natural <= tolerance
        wanted = max(best, _ACCURACY * natural)
        solved, own = take_round(
            laws,
            islands,
            rows,
            solution,
            direct,
            island,
            share,
            0.0,
            1.0,
            wanted,
            turns,
            allowed_work(natural, most),
            _LAST_NEWTONS if is_last else 0,
        )
        newtons += own
        left, _ = island_residual(laws, islands, rows, solution, island)
        if not solved and not left <= 0.5 * natural:
            go_back(laws, islands, rows, solution, direct.kept, island)
            if is_last:
                break
            sweep(laws, islands, rows, solution, island)
            share = min(10.0 * share, _MOST_YIELD)
            natural, _ = island_residual(laws, islands, rows, solution, island)
            continue
        if left > 0.1 * natural:
            share = max(0.1 * share, _LEAST_YIELD)
        natural = left
    return newtons


@kernel
def allowed_work(natural, most):
    """Return the multiplications allowed for an island in one step, at this residual."""
    return most if natural <= BAD else min(_FOR_BAD * most, max(most, _MOST_FOR_BAD))


@subroutine
def seek_least(
    laws, islands, rows, solution, direct, island, natural, tolerance, most, most_newtons
):
    """
    Approach the solution with the least impulses; return the residual and the Newton steps.

    Each round is about zero impulses, and yields less than the one before (Tikhonov
    regularization): redundant contacts share a load evenly, and all press. Rounds about a finished
    impact's impulses would lead to another solution, with many contacts at the bounds of their
    laws, and take many steps. A yielding row leaves a residual of about its share of the impulses;
    rounds that would leave more than the current residual are skipped.
    """
    newtons, share = 0, _FIRST_YIELD
    greatest = greatest_gain(islands, rows, solution, island)
    if greatest > 0.0:
        share = min(share, natural / greatest)
    while share >= _LAST_YIELD and natural > tolerance:
        is_spent = islands.spent[island] > allowed_work(natural, most)
        if newtons > 0 and (is_spent or newtons >= most_newtons):
            break
        _, own = take_round(
            laws,
            islands,
            rows,
            solution,
            direct,
            island,
            share,
            0.0,
            0.0,
            _ROUGHLY * natural,
            _NEWTONS_A_ROUND,
            allowed_work(natural, most),
            0,
        )
        newtons += own
        left, _ = island_residual(laws, islands, rows, solution, island)
        if left <= natural:
            natural = left
        else:
            go_back(laws, islands, rows, solution, direct.kept, island)
        share *= _MUCH_LESS if own <= _FEW else _LESS
    return natural, newtons


@kernel
def greatest_gain(islands, rows, solution, island):
    """Return the greatest velocity given by a normal impulse to its own contact [m/s]."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        greatest = max(
            greatest, rows.block[contact, Block.NN] * solution.impulse[contact, Row.NORMAL]
        )
    return greatest


@subroutine
def take_round(
    laws,
    islands,
    rows,
    solution,
    direct,
    island,
    share,
    even,
    about,
    wanted,
    turns,
    allowed,
    least,
):
    """
    Solve a problem with yielding rows to a residual of `wanted`; return success and steps.

    direct.kept holds the previous impulses. share: compliance relative to a row's inverse inertia.
    even: compliance added to every row. about: 1 if rows yield about their current impulses, 0
    about zero. turns: greatest number of Newton steps. allowed: work on the island in this time
    step, beyond which only the first `least` steps begin.
    """
    soften(laws, islands, rows, solution, island, share, even, about, direct.kept)
    near, _ = island_residual(laws, islands, rows, solution, island)
    newtons = 0
    for turn in range(turns):
        before = islands.spent[island]
        size = find_direction(laws, islands, rows, solution, direct, island)
        if size < 0:
            break
        newtons += 1
        near = search_along(laws, islands, rows, solution, direct, island, size, near)
        # another step costs as much; the last round spares Newton steps in the next time steps
        another = islands.spent[island] - before
        if near <= wanted or islands.spent[island] + another > allowed and turn + 1 >= least:
            break
    harden(laws, islands, rows, solution, direct.kept, island)
    return near <= wanted, newtons


@kernel
def search_along(laws, islands, rows, solution, direct, island, size, natural):
    """
    Take a Newton step, or a share that hardly raises the residual; return the residual.

    natural: residual before the step.
    """
    # an impulse change and a residual each cost half a sweep
    length, work = 1.0, sweep_work(islands, rows, island) // 2
    move_along(rows, solution, direct, size, length)
    near, _ = island_residual(laws, islands, rows, solution, island)
    islands.spent[island] += work
    while not near <= _WORSE * natural and length > _SHORTEST:
        length *= 0.5
        move_along(rows, solution, direct, size, -length)
        near, _ = island_residual(laws, islands, rows, solution, island)
        islands.spent[island] += work
    return near


@kernel
def soften(laws, islands, rows, solution, island, share, even, about, kept_out):
    """Make every row yield about `about` times its impulse; share, even: as in `take_round`."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, softness = rows.block[contact], laws.softness[contact]
        impulse, bias = solution.impulse[contact], solution.bias[contact]
        kept_out[contact, KEPT_IMPULSE:KEPT_BIAS] = impulse
        kept_out[contact, KEPT_BIAS:KEPT_SOFTNESS] = bias
        kept_out[contact, KEPT_SOFTNESS:KEPT_BLOCK] = softness
        kept_out[contact, KEPT_BLOCK:] = block
        # a two-sided element's normal row moves nothing, see `law_rows`
        first = Row.TANGENT if is_bounded_element(laws, contact) else Row.NORMAL
        for row in range(first, laws.rows[contact]):
            at = diagonal_of(row)
            more = share * block[at] + even
            block[at] += more
            softness[row] += more
            bias[row] -= about * more * impulse[row]


@kernel
def harden(laws, islands, rows, solution, kept, island):
    """Undo `soften`, but keep the impulses."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        solution.bias[contact, :] = kept[contact, KEPT_BIAS:KEPT_SOFTNESS]
        laws.softness[contact, :] = kept[contact, KEPT_SOFTNESS:KEPT_BLOCK]
        rows.block[contact, :] = kept[contact, KEPT_BLOCK:]


@kernel
def keep_impulses(islands, solution, island, kept_out):
    """Store an island's impulses, for `go_back`."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        kept_out[contact, KEPT_IMPULSE:KEPT_BIAS] = solution.impulse[contact]


@kernel
def go_back(laws, islands, rows, solution, kept, island):
    """Restore the impulses stored by `soften` or `keep_impulses`."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        impulse, before = solution.impulse[contact], kept[contact, KEPT_IMPULSE:KEPT_BIAS]
        push(
            laws,
            rows,
            contact,
            sub(load_v(before, Row.NORMAL), load_v(impulse, Row.NORMAL)),
            sub(load_v(before, Row.SPIN), load_v(impulse, Row.SPIN)),
            solution.z,
        )
        impulse[:] = before
