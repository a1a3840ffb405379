"""Engine contact solvers for a problem with given rows and laws."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.rows import fill_block, invert_block
from sim_bridge.engine.contact.solve import solve_contacts
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import COMPLEMENTARITY, ISLANDS, NATURAL


@entry
def solve_given(table: Table):
    """
    Solve a handle's contacts; solution.impulse holds the guess and receives the impulses.

    Given are the contacts' pairs, the laws, the islands, the row entries, and the biases.
    """
    contacts, laws, islands = world.contacts(table), world.laws(table), world.islands(table)
    rows, solution = world.rows(table), world.solution(table)
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            fill_block(
                rows.first[contact],
                rows.first[contact + 1],
                rows.linear,
                rows.angular,
                laws.rows[contact] > 3,
                laws.softness[contact],
                rows.block[contact],
            )
            invert_block(rows.block[contact], rows.inverse[contact])
    solve_contacts(table)
    residual = solution.residual
    residual[NATURAL] = residual[COMPLEMENTARITY] = 0.0
    for island in range(solution.effort[ISLANDS]):
        natural, complementarity = island_residual(laws, islands, rows, solution, island)
        residual[NATURAL] = max(residual[NATURAL], natural)
        residual[COMPLEMENTARITY] = max(residual[COMPLEMENTARITY], complementarity)
