"""
Islands whose contacts use different solvers, chosen by material pairs.

Directly solved contacts, and split contacts' normals, are solved together while all other impulses
are fixed; then the others are swept, and so on in turns (block Gauss-Seidel over the two groups).
Contacts solved both directly and iteratively are first solved with friction that never slips, then
swept with the others, and finally solved directly within the friction impulses found by the
sweeps, as in AGX.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.cone import has_constant_bound
from sim_bridge.engine.contact.gauss_seidel import sweep, update_contact, update_sliding
from sim_bridge.engine.contact.islands import affordable_sweeps
from sim_bridge.engine.contact.solver_calls import share_impulses, solve_by_newton
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_materials import DIRECT, DIRECT_AND_ITERATIVE, ITERATIVE, SPLIT
from sim_bridge.engine.data.contact_problem import Block, Bound, NEWTONS, NO_LAW, Row, SWEEPS

_DIRECTLY = 1 << DIRECT | 1 << SPLIT  # bits of the types that take part in a direct solution
_TWICE = 1 << DIRECT_AND_ITERATIVE
_SWEEPS = 50  # lower bound on the sweeps allowed for the other contacts
_SWEEPS_A_TURN = 5
_STICKS = 1e12  # [N s] bound never reached by an impulse
_EDGE = 1.0 - 1e-9  # cone share; beyond it a contact slides


def hybrid(table, island):
    """Solve an island with several solve types; return 0 at once if it has only the world's."""
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    rows, solution = world.rows(table), world.solution(table)
    types = types_of(table, island)
    if types == 1 << options.solver:
        return 0
    enough, before = 0.5 * options.contact_tolerance, math.inf
    sweeps, newtons, most = 0, 0, max(_SWEEPS, options.max_sweeps)
    if types == 1 << ITERATIVE or not has_room(table, island):
        most, types = affordable_sweeps(options, islands, island), 0
    if types & _TWICE != 0:
        fix_friction(table, island, True)
        newtons += solve_directly(table, island, _DIRECTLY | _TWICE)
        free_friction(table, island)
    is_apart = types != 0
    while sweeps < most:
        change = 0.0
        if is_apart:
            newtons += solve_directly(table, island, _DIRECTLY)
            for _ in range(_SWEEPS_A_TURN):
                change = max(change, sweep_rest(table, island))
            sweeps += _SWEEPS_A_TURN
        else:
            change = sweep(laws, islands, rows, solution, island)
            sweeps += 1
        if change <= enough:
            break
        # increasing changes: the two groups drive each other up
        is_apart = is_apart and change <= before
        before = change
    if types & _TWICE != 0:
        fix_friction(table, island, False)
        newtons += solve_directly(table, island, _DIRECTLY | _TWICE)
        free_friction(table, island)
    if newtons > 0:
        share_impulses(options, table, island)
    effort = solution.effort
    effort[SWEEPS], effort[NEWTONS] = max(effort[SWEEPS], sweeps), max(effort[NEWTONS], newtons)
    return 1


@kernel
def type_of(table, contact):
    """Return a contact's solve type; joint elements have the world's."""
    law = world.laws(table).law[contact]
    own = world.contact_materials(table).solver[law] if law != NO_LAW else -1
    return own if own >= 0 else world.options(table).solver


@kernel
def types_of(table, island):
    """Return the solve types in an island, as bits."""
    islands, types = world.islands(table), 0
    for place in range(islands.first[island], islands.first[island + 1]):
        types |= 1 << type_of(table, islands.order[place])
    return types


@kernel
def has_room(table, island):
    """Return whether all island rows fit into the direct solver."""
    laws, islands, size = world.laws(table), world.islands(table), 0
    for place in range(islands.first[island], islands.first[island + 1]):
        size += laws.rows[islands.order[place]]
    return size <= world.direct(table).right.shape[0]


@subroutine
def solve_directly(table, island, types):
    """
    Solve contacts with certain solve types directly; return the number of Newton steps.

    types: bits of these solve types. Only the normals of SPLIT contacts are solved.
    """
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    direct = world.direct(table)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        own, block = type_of(table, contact), rows.block[contact]
        direct.hidden[contact], direct.rows[contact] = block[Block.NN], laws.rows[contact]
        if types >> own & 1 == 0:
            # solvers skip contacts without inverse inertia
            block[Block.NN] = 0.0
        elif own == SPLIT:
            laws.rows[contact] = 1
    newtons = solve_by_newton(world.options(table), table, island)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        rows.block[contact, Block.NN] = direct.hidden[contact]
        laws.rows[contact] = direct.rows[contact]
    return newtons


@subroutine
def sweep_rest(table, island):
    """Sweep once over all rows not solved directly; return the greatest velocity change [m/s]."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, greatest = world.solution(table), 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        own, change = type_of(table, contact), 0.0
        if own == SPLIT:
            change = update_sliding(laws, rows, solution, contact)
        elif own != DIRECT:
            change = update_contact(laws, rows, solution, contact)
        greatest = max(greatest, change)
    return greatest


@subroutine
def fix_friction(table, island, sticks):
    """
    Replace the friction bounds at contacts solved twice by constant impulses.

    sticks: True for no slip; False for bounds from the current impulses.
    """
    laws, islands = world.laws(table), world.islands(table)
    solution, direct = world.solution(table), world.direct(table)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if type_of(table, contact) != DIRECT_AND_ITERATIVE or laws.rows[contact] == 1:
            continue
        radius, impulse = laws.radius[contact], solution.impulse[contact]
        first, second = radius[Bound.TANGENT], radius[Bound.TANGENT2]
        direct.bound[contact, 0], direct.bound[contact, 1] = first, second
        t, s = impulse[Row.TANGENT], impulse[Row.TANGENT2]
        if sticks:
            first, second = _STICKS, _STICKS
        else:
            model, normal = laws.model[contact], impulse[Row.NORMAL]
            if not has_constant_bound(model, 0):
                first *= normal
            if not has_constant_bound(model, 1):
                second *= normal
            if model == material.CONE and math.sqrt(t * t + s * s) > _EDGE * first:
                first, second = abs(t), abs(s)
        radius[Bound.TANGENT], radius[Bound.TANGENT2] = first, second
        laws.model[contact] = material.CONSTANT


@subroutine
def free_friction(table, island):
    """Undo `fix_friction`."""
    laws, islands, direct = world.laws(table), world.islands(table), world.direct(table)
    material_law = world.contact_materials(table).law
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if type_of(table, contact) == DIRECT_AND_ITERATIVE and laws.rows[contact] > 1:
            laws.model[contact] = int(material_law[laws.law[contact], material.MODEL])
            laws.radius[contact, Bound.TANGENT] = direct.bound[contact, 0]
            laws.radius[contact, Bound.TANGENT2] = direct.bound[contact, 1]


HYBRID = Stage(hybrid)
