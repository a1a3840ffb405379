"""
The budget of a step: how much work each island of contacts may take, in multiplications.

Counted rather than timed, so that a step takes the same decisions on every machine. Once an island
has spent its budget, over all pivots of joints, no further Newton step begins: sweeps end with
impulses within the bounds of their laws, from which the next step of time goes on.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.surfaces import SPLIT

MOST_WORK = 100_000_000
"""Multiplications that no pile exceeds, whatever its budget: about a tenth of a second."""

BAD = 0.05
"""Residual that bodies would be seen to sink by, and that more work is spent on [m/s]."""

OF_ENTRY_PAIR = 4
"""Multiplications of a contact's share in the matrix of coordinates, for each pair of entries."""

_OF_ENTRY = 12  # multiplications of a sweep for each entry of a contact's rows
_PILE = 150  # rows, above which an island is a pile, which may take more
_FEW_TREES = 20  # up to which it is a robot or a stack, and may take no more than joints' laws may
_NEWTONS_OF_PILE = 10  # Newton steps that it may take at least
# by how much more may be taken for the laws of joints with the contacts, instead of pivots, and by
# solvers that call Newton's method in turns with sweeps
_MORE = 6


@kernel
def affordable_work(options, rows, trees, has_elements, a_newton):
    """
    Return the multiplications that an island of so many rows and trees may take in a step.

    has_elements: the laws of joints are among them. a_newton: multiplications of a Newton step.
    """
    budget = options.step_budget
    if has_elements or options.solver == SPLIT or options.hybrid != 0:
        budget *= _MORE
    if rows <= _PILE:
        return budget
    # of a pile twice as large a Newton step takes up to four times as much
    larger = rows / _PILE
    most = min(budget * larger * larger, float(MOST_WORK))
    most = min(most, max(budget, float(_NEWTONS_OF_PILE) * a_newton))
    if trees <= _FEW_TREES:
        most = min(most, max(budget, float(_MORE) * options.step_budget))
    return int(most)


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
