"""
The proximal point method around Newton steps, which makes them robust.

A box on four corners has more contact rows than degrees of freedom. Many impulses solve its
problem, or the last bits of the gaps decide which of them press. The Newton matrix is then
singular, and its steps erratic. Each round here solves a nearby problem instead, in which every
row also yields in proportion to the change of its impulse since the start of the round
(Rockafellar 1976). That problem has a unique solution, which Newton's method finds in a few steps.
Any fixed point of the rounds is a solution of the original problem. The compliance shrinks as long
as the inner problems are solved, so few rounds are needed. The first rounds are about zero
impulses instead, with less and less compliance, which comes near the solution in fewer steps.
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
_MOST_NEWTONS = 150
_NEWTONS_A_ROUND = 12
_NEWTONS_AT_REST = 3
_FOR_BAD = 30  # times as much work is allowed for a residual above BAD,
_MOST_FOR_BAD = 2_500_000  # but no more than this, unless what is allowed anyway is
_LAST_NEWTONS = 2  # of the last round, whatever they cost
_WORSE = 2.0  # growth of the residual with which a Newton step is taken in full
_SHORTEST = 0.1  # share of a Newton step that is tried last
_BEST = 1e-4  # share of the tolerance that is good enough for anything
_AT_REST = 1e-7  # and for what is solved already, but shall come to rest
_FIRST_YIELD, _LAST_YIELD = 1e-2, 1e-6  # in `seek_least`, relative to a row's inverse inertia
_ROUGHLY = 0.3  # share of the residual that its rounds end with
_FEW = 3  # Newton steps of a round, after which the next one yields much less
_LESS, _MUCH_LESS = 0.1, 1e-3
_ACCURACY = 1e-3  # share of the residual that other rounds end with
_YIELD = 1e-3  # at first, relative to a row's inverse inertia
_LEAST_YIELD = 1e-10
_YIELD_AT_REST = 1e-8
_MOST_YIELD = 0.1


@subroutine
def solve_proximal(laws, islands, rows, solution, direct, island, tolerance, most):
    """
    Solve an island to a natural-map residual of `tolerance`; return the number of Newton steps.

    After convergence, a last round reduces the residual much further, so that a world at rest
    stays at rest for long; what is solved from the beginning takes this round alone, and a deeper
    one. Jammed bodies whose laws have no solution must not stop a simulation. So no Newton step
    begins after too many, or after too much work on the island in this time step, over all pivots
    of joints at their stops. most: multiplications of this work.
    """
    natural, _ = island_residual(laws, islands, rows, solution, island)
    newtons, share, best, is_last = 0, _YIELD, _BEST * tolerance, False
    turns = _NEWTONS_A_ROUND
    if natural <= tolerance:
        share, best, turns = _YIELD_AT_REST, _AT_REST * tolerance, _NEWTONS_AT_REST
    else:
        natural, newtons = seek_least(
            laws, islands, rows, solution, direct, island, natural, tolerance, most
        )
        if natural <= tolerance:
            share = _LAST_YIELD
    for _ in range(_ROUNDS):
        is_spent = newtons >= _MOST_NEWTONS or (
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
    """Return the work that an island may take in a step, with this residual."""
    return most if natural <= BAD else min(_FOR_BAD * most, max(most, _MOST_FOR_BAD))


@subroutine
def seek_least(laws, islands, rows, solution, direct, island, natural, tolerance, most):
    """
    Approach the solution with the least impulses; return the residual and the Newton steps.

    Each round is about zero impulses, and yields less than the one before (Tikhonov
    regularization): what shares a load shares it evenly, and all of it presses. Rounds about the
    impulses of an impact that is over would lead to another solution, with many contacts at the
    bounds of their laws, and take many steps. What yields leaves a residual of about its share of
    the impulses; rounds that would leave more than there is are skipped.
    """
    newtons, share = 0, _FIRST_YIELD
    greatest = greatest_gain(islands, rows, solution, island)
    if greatest > 0.0:
        share = max(min(share, natural / greatest), _LAST_YIELD)
    while share >= _LAST_YIELD and natural > tolerance:
        if newtons > 0 and islands.spent[island] > allowed_work(natural, most):
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
    """Return the greatest velocity that a normal impulse of an island gives its own contact."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        greatest = max(
            greatest, rows.block[contact, Block.NN] * solution.impulse[contact, Row.NORMAL]
        )
    return greatest


@subroutine
def take_round(
    laws, islands, rows, solution, direct, island, share, about, wanted, turns, allowed, least
):
    """
    Solve a problem that yields to a residual of `wanted`; return whether it is, and the steps.

    The impulses before stay in direct.kept. about: 1 if rows yield about their present impulses, 0
    about none. turns: Newton steps at most. allowed: work on the island in this time step, beyond
    which only the first `least` steps begin.
    """
    soften(laws, islands, rows, solution, island, share, about, direct.kept)
    near, _ = island_residual(laws, islands, rows, solution, island)
    newtons = 0
    for turn in range(turns):
        before = islands.spent[island]
        size = find_direction(laws, islands, rows, solution, direct, island)
        if size < 0:
            break
        newtons += 1
        near = search_along(laws, islands, rows, solution, direct, island, size, near)
        # another step takes as much; the last round spares the next steps their Newton steps
        another = islands.spent[island] - before
        if near <= wanted or islands.spent[island] + another > allowed and turn + 1 >= least:
            break
    harden(laws, islands, rows, solution, direct.kept, island)
    return near <= wanted, newtons


@kernel
def search_along(laws, islands, rows, solution, direct, island, size, natural):
    """
    Take a Newton step, or a share that hardly raises the residual; return the residual.

    natural: the residual before.
    """
    # a change of the impulses and the residual take half as much as a sweep
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
def soften(laws, islands, rows, solution, island, share, about, kept_out):
    """Make every row yield by a share of its inverse inertia, about `about` times its impulse."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, softness = rows.block[contact], laws.softness[contact]
        impulse, bias = solution.impulse[contact], solution.bias[contact]
        kept_out[contact, KEPT_IMPULSE:KEPT_BIAS] = impulse
        kept_out[contact, KEPT_BIAS:KEPT_SOFTNESS] = bias
        kept_out[contact, KEPT_SOFTNESS:KEPT_BLOCK] = softness
        kept_out[contact, KEPT_BLOCK:] = block
        # the normal of an element with two bounds moves nothing, see `law_rows`
        first = Row.TANGENT if is_bounded_element(laws, contact) else Row.NORMAL
        for row in range(first, laws.rows[contact]):
            at = diagonal_of(row)
            more = share * block[at]
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
    """Store the impulses of an island, for `go_back`."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        kept_out[contact, KEPT_IMPULSE:KEPT_BIAS] = solution.impulse[contact]


@kernel
def go_back(laws, islands, rows, solution, kept, island):
    """Restore the impulses from before `soften` or of `keep_impulses`."""
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
