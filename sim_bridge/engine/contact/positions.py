"""
Position correction: separation of bodies that velocities alone do not separate.

A body that meets another within a step, or penetrated it deeply in an earlier one, would end the
step inside it although its velocity no longer approaches. The second half of the step's drift
therefore uses an additional velocity along the normals, just enough to remove the penetration.
This problem resembles the velocity problem, without friction. Its solution changes positions and
leaves velocities unchanged (split impulses; the position projection by Gear, Gupta and Leimkuhler
1985).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import linear_velocities
from sim_bridge.engine.contact.islands import affordable_sweeps
from sim_bridge.engine.contact.prepare import directions
from sim_bridge.engine.contact.respond import add_push
from sim_bridge.engine.contact.solver_calls import solve_normals
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_materials import ITERATIVE
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Block, ISLANDS, Row
from sim_bridge.engine.math.vec3 import scale, ZERO

_FEW_SWEEPS = 12  # before Newton steps
# columns of Solution.aside after the six impulse columns
_OF_NORMAL, _OF_SOFTNESS = 6, 7


@subroutine
def find_missing(options, contact_materials, contacts, laws, rows, solution):
    """
    Convert the normal bias to missing displacements; return whether there are any.

    A missing displacement has to be added in half a step; the bias holds twice this value, a
    velocity times the time step.

    Penetration that began in this step is removed completely. Older penetration is removed by the
    share ERP of its depth below the surface layer. Soft contacts are left to their springs.
    """
    missing, h = False, options.time_step
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] == 0:
            continue
        law = contact_materials.law[laws.law[contact]]
        softness = laws.softness[contact, Row.NORMAL]
        u_n = linear_velocities(laws, rows, solution, contact)[Row.NORMAL]
        velocity = u_n - softness * solution.impulse[contact, Row.NORMAL] + laws.wanted[contact]
        start = laws.gap[contact] - 0.5 * h * laws.approach[contact]
        end = laws.gap[contact] + 0.5 * h * velocity
        depth = -law[material.LAYER] - start
        wanted = min(start, 0.0)
        if depth > 0.0:
            wanted = start + min(law[material.ERP] * depth, h * law[material.MAX_VELOCITY])
        if softness > 0.0:
            wanted = min(wanted, end)
        solution.shift[contact] = 0.0
        solution.bias[contact, Row.NORMAL] = 2.0 * (end - wanted)
        missing = missing or end < wanted - options.touching
    return missing


@subroutine
def solve_positions(table):
    """
    Find the impulses that separate the bodies; solution.shift holds them times the time step.

    Sweeps over an island end once a sweep moves bodies by no more than the touching gap. If they
    have not ended after a few sweeps, Newton's method continues, except in worlds solved
    iteratively: the errors left by sweeps would tilt a body that lands flat, and a stack would
    keep rocking. Large islands, which can afford only few sweeps, are solved by sweeps alone.
    """
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    options, solution = world.options(table), world.solution(table)
    enough = options.touching
    is_direct = options.solver != ITERATIVE and options.hybrid == 0
    solution.z[:] = 0.0
    for island in range(solution.effort[ISLANDS]):
        most = affordable_sweeps(options, islands, island)
        sweeps, greatest = 0, math.inf
        while sweeps < most and greatest > enough:
            if is_direct and sweeps == _FEW_SWEEPS:
                solve_shifts(table, island)
            greatest = 0.0
            for place in range(islands.first[island], islands.first[island + 1]):
                contact = islands.order[place]
                greatest = max(greatest, update_shift(laws, rows, solution, contact))
            sweeps += 1


@subroutine
def solve_shifts(table, island):
    """
    Solve an island's position problem by Newton's method, with the shifts as impulses.

    Its velocities are displacements [m], and so is its tolerance. Its work counts towards the
    island's work in this step.
    """
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution = world.solution(table)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        impulse, block, aside = (
            solution.impulse[contact],
            rows.block[contact],
            solution.aside[contact],
        )
        aside[:_OF_NORMAL] = impulse
        aside[_OF_NORMAL] = block[Block.NN]
        aside[_OF_SOFTNESS] = laws.softness[contact, Row.NORMAL]
        impulse[:] = 0.0
        impulse[Row.NORMAL] = solution.shift[contact]
        block[Block.NN] -= aside[_OF_SOFTNESS]
        laws.softness[contact, Row.NORMAL] = 0.0
    solve_normals(world.options(table), table, island)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        aside = solution.aside[contact]
        solution.shift[contact] = solution.impulse[contact, Row.NORMAL]
        solution.impulse[contact, :] = aside[:_OF_NORMAL]
        rows.block[contact, Block.NN] = aside[_OF_NORMAL]
        laws.softness[contact, Row.NORMAL] = aside[_OF_SOFTNESS]


@kernel
def update_shift(laws, rows, solution, contact):
    """Solve one contact's position law; return its displacement change [m]."""
    first, end = rows.first[contact], rows.first[contact + 1]
    a_nn = rows.block[contact, Block.NN] - laws.softness[contact, Row.NORMAL]
    if a_nn <= 0.0:
        return 0.0
    u = solution.bias[contact, Row.NORMAL]
    for entry in range(first, end):
        u += rows.linear[Row.NORMAL, entry] * solution.z[rows.support[entry]]
    old = solution.shift[contact]
    change = max(old - u / a_nn, 0.0) - old
    if change == 0.0:
        return 0.0
    solution.shift[contact] = old + change
    for entry in range(first, end):
        solution.z[rows.support[entry]] += change * rows.linear[Row.NORMAL, entry]
    return abs(change) * a_nn


@subroutine
def gather_shifts(ws, geometry, contacts, laws, solution, h, response):
    """Sum the position impulses, as mean forces over the step, into response.wrench."""
    response.wrench[:, :] = 0.0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0 and solution.shift[contact] > 0.0:
            force = scale(solution.shift[contact] / (h * h), directions(laws, contact)[Row.NORMAL])
            add_push(ws, geometry, contacts, contact, force, ZERO, response)
