"""
The budget of a step: how much work each island of contacts may take, in multiplications.

Counted rather than timed, so that a step takes the same decisions on every machine. Once an island
has spent its budget, over all pivots of joints, no further Newton step begins: sweeps end with
impulses within the bounds of their laws, from which the next step of time goes on. Then pivots
only release joints.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_problem import ISLANDS
from sim_bridge.engine.data.surfaces import DIRECT

MOST_WORK = 600_000_000
"""Multiplications that no island exceeds, whatever its budget: some tenths of a second."""

_OF_ENTRY = 12  # multiplications of a sweep for each entry of a contact's rows
_OF_COORDINATE = 600  # of a pivot: trees factorized and rows built anew
_PILE = 150  # rows, above which an island is a pile, which may take more
_IN_TURNS = 10  # by how much more solvers may take that call Newton's method in turns with sweeps


@kernel
def affordable_work(options, rows):
    """Return the multiplications that an island of so many rows may take in a step."""
    budget = options.step_budget
    if options.solver != DIRECT or options.hybrid != 0:
        budget *= _IN_TURNS
    if rows <= _PILE:
        return budget
    # a Newton step of n rows without gaps takes n³
    larger = rows / _PILE
    return int(min(budget * larger * larger * larger, float(MOST_WORK)))


@kernel
def sweep_work(islands, rows, island):
    """Return the multiplications of a sweep over an island."""
    entries = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries += rows.first[contact + 1] - rows.first[contact]
    return _OF_ENTRY * entries


@subroutine
def is_spent(table, pivots):
    """Return whether an island has taken all that it may, in so many pivots of joints."""
    options, islands, laws = world.options(table), world.islands(table), world.laws(table)
    own = pivots * _OF_COORDINATE * world.workspace(table).v.shape[0]
    for island in range(world.solution(table).effort[ISLANDS]):
        if own + islands.spent[island] > affordable_work(
                options, island_rows(laws, islands, island)):
            return True
    return False


@kernel
def island_rows(laws, islands, island):
    """Return the number of rows of an island."""
    rows = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        rows += laws.rows[islands.order[place]]
    return rows
