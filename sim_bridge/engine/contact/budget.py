"""
The budget of a step: how much work each island of contacts may take, in multiplications.

Counted rather than timed, so that a step takes the same decisions on every machine. Once an island
has spent its budget, over all pivots of joints, no further Newton step begins: sweeps end with
impulses within the bounds of their laws, from which the next step of time goes on.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.contact_materials import SPLIT

MOST_WORK = 100_000_000
"""Multiplications that nothing exceeds, whatever its budget: about a tenth of a second."""

BAD = 0.05
"""Residual that bodies would be seen to sink by, and that more work is spent on [m/s]."""

OF_ENTRY_PAIR = 4
"""Multiplications of a contact's share in the matrix of coordinates, for each pair of entries."""

_OF_ENTRY = 12  # multiplications of a sweep for each entry of a contact's rows
_PILE = 150  # rows, above which an island is a pile, which may take more
_NEWTONS_OF_PILE = 10  # Newton steps that it may take at most
# by how much more may be taken by piles, for the laws of joints with the contacts, instead of
# pivots, and by solvers that call Newton's method in turns with sweeps
_MORE = 6
_PLACED_AT_REST = 30  # as much, or as many Newton steps, may be taken for what is put down at rest


@kernel
def affordable_work(options, rows, has_elements, from_rest, a_newton):
    """
    Return the multiplications that an island of so many rows may take in a step.

    has_elements: the laws of joints are among them. from_rest: see `is_placed_at_rest`. a_newton:
    multiplications of a Newton step.
    """
    most = budget = float(options.step_budget)
    if from_rest:
        most = _PLACED_AT_REST * max(budget, a_newton)
    elif has_elements or options.solver == SPLIT or options.hybrid != 0:
        most = _MORE * budget
    elif rows > _PILE:
        # of a pile twice as large a Newton step takes up to four times as much
        larger = rows / _PILE
        most = min(budget * larger * larger, float(_NEWTONS_OF_PILE) * a_newton)
        most = max(budget, min(most, _MORE * budget))
    return int(min(most, float(MOST_WORK)))


@kernel
def is_placed_at_rest(state, islands, rows, solution, island):
    """
    Return whether bodies were put on each other at rest, and this is the first step.

    Nothing moves, and no contact pushed in the last step. What stands then has to be found from
    nothing, once; what is not found would begin to move, and might fall.
    """
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for k in range(6):
            if solution.last[contact, k] != 0.0:
                return False
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if at < state.v.shape[0] and state.v[at] != 0.0:
                return False
    return state.v.shape[0] > 0


@kernel
def sweep_work(islands, rows, island):
    """Return the multiplications of a sweep over an island."""
    entries = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries += rows.first[contact + 1] - rows.first[contact]
    return _OF_ENTRY * entries


@kernel
def newton_work(islands, rows, island):
    """Return about how many multiplications a Newton step for velocities takes."""
    work = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries = rows.first[contact + 1] - rows.first[contact]
        work += OF_ENTRY_PAIR * entries * entries
    return work


@kernel
def island_rows(laws, islands, island):
    """Return the number of rows of an island."""
    rows = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        rows += laws.rows[islands.order[place]]
    return rows
