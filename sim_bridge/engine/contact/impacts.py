"""
Propagation of impacts through bodies that touch.

Newton's law of restitution for all contacts at once lets a row of touching balls share what the
first one brings. Here an impact goes on as it does in the material: only contacts that approach
take part, all of these at once, each with its restitution; what approaches then takes part in the
next round, until nothing does (generalized reflections, Smith, Kaufman, Vouga, Tamstorf and
Grinspun, "Reflections on simultaneous impact", 2012). In a round of impulses p >= 0 that end the
approach u at u' = -e u where they act, the kinetic energy changes by the sum of p (1 - e) u / 2,
and u < 0: it never grows.

Impacts happen in the middle of the step: half of the change that forces make to a velocity comes
before, half after. What contacts then have at the end of the step is what they have to reach at
least. With the impulses of all rounds together they solve that problem, so that its solution,
apart from friction, is the motion after the last round.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_problem import Block, ISLANDS, Row

_ROUNDS = 200  # a row of touching balls takes as many as it has contacts
_SWEEPS = 200
_SOLVED = 1e-12  # of the fastest approach, change of a velocity in the last sweep of a round
_APPROACHES = 1e-9  # of the fastest approach, speed that goes on
# columns of Solution.proposal meanwhile
_TARGET, _IMPULSE, _IS_HIT = range(3)


@subroutine
def propagate_impacts(table):
    """Set the velocities that contacts have to reach after impacts, in islands that have any."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, options = world.solution(table), world.options(table)
    material_law = world.contact_materials(table).law
    for island in range(solution.effort[ISLANDS]):
        fastest = fastest_impact(laws, islands, solution, material_law, options.time_step, island)
        if fastest > 0.0:
            solution.z[:] = 0.0
            propagate(laws, islands, rows, solution, material_law, options, island, fastest)
    return 0


@kernel
def fastest_impact(laws, islands, solution, material_law, h, island):
    """Return the greatest speed of an impact with restitution in an island, 0 without any."""
    fastest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        approach = laws.approach[contact]
        end = solution.bias[contact, Row.NORMAL] + laws.wanted[contact]
        if (
            laws.law[contact] >= 0
            and laws.gap[contact] + 0.5 * h * end <= 0.0
            and restitution(material_law[laws.law[contact]], approach) > 0.0
        ):
            fastest = max(fastest, -approach)
    return fastest


@kernel
def restitution(law, approach):
    """Return the restitution at a velocity along the normal, 0 at which it does not bounce."""
    return law[material.RESTITUTION] if -approach > law[material.BOUNCE_VELOCITY] else 0.0


@kernel
def unbounced_velocity(gap, h, touching):
    """Return the least velocity at the end of the step with which rigid bodies do not overlap."""
    return -2.0 * (gap - touching) / h if gap > touching else 0.0


@kernel
def is_soft(law):
    """Return whether contacts of a law yield, which impacts do not go through at once."""
    return law[material.CFM] > 0.0 or law[material.STIFFNESS] > 0.0


@kernel
def propagate(laws, islands, rows, solution, material_law, options, island, fastest):
    """
    Take all rounds of an island, and set what its contacts have to reach.

    After one alone that is what the law of restitution says at once: nothing is changed.
    """
    for place in range(islands.first[island], islands.first[island + 1]):
        solution.shift[islands.order[place]] = 0.0
    rounds = 0
    for _ in range(_ROUNDS):
        if not begin_round(
            laws, islands, rows, solution, material_law, options, island, _APPROACHES * fastest
        ):
            break
        for _ in range(_SWEEPS):
            if sweep_hit(laws, islands, rows, solution, island) <= _SOLVED * fastest:
                break
        rounds += 1
    if rounds <= 1:
        return
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if laws.law[contact] < 0 or is_soft(material_law[laws.law[contact]]):
            continue
        # of those that were not hit, another impact may have ended the approach
        wanted = laws.target[contact, Row.NORMAL] + unbounced_velocity(
            laws.gap[contact], options.time_step, options.touching
        )
        if solution.shift[contact] > 0.0:
            u = normal_velocity(laws, rows, solution, contact)
            wanted = max(u + half_change(laws, solution, contact), wanted)
        solution.bias[contact, Row.NORMAL] += laws.wanted[contact] - wanted
        laws.wanted[contact] = wanted


@kernel
def begin_round(laws, islands, rows, solution, material_law, options, island, least):
    """Find the contacts that approach, and the velocities they aim at; return whether any do."""
    is_any = False
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        own = solution.proposal[contact]
        own[_IS_HIT] = 0.0
        if laws.law[contact] < 0 or rows.block[contact, Block.NN] == 0.0:
            continue
        law = material_law[laws.law[contact]]
        u = normal_velocity(laws, rows, solution, contact)
        is_closed = laws.gap[contact] + 0.5 * options.time_step * u <= options.touching
        if u < -least and is_closed and not is_soft(law):
            own[_TARGET], own[_IMPULSE], own[_IS_HIT] = -restitution(law, u) * u, 0.0, 1.0
            is_any = True
    return is_any


@kernel
def half_change(laws, solution, contact):
    """Return half of what the step changes a velocity along the normal by without contacts."""
    end = solution.bias[contact, Row.NORMAL] + laws.wanted[contact]
    return 0.5 * (end - laws.approach[contact])


@kernel
def normal_velocity(laws, rows, solution, contact):
    """Return the velocity along a contact's normal in the middle, after the impulses so far."""
    u = laws.approach[contact] + half_change(laws, solution, contact)
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        u += rows.linear[Row.NORMAL, entry] * solution.z[rows.support[entry]]
    return u


@kernel
def sweep_hit(laws, islands, rows, solution, island):
    """Sweep once over the contacts of a round; return the greatest change of a velocity."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        own = solution.proposal[contact]
        if own[_IS_HIT] == 0.0:
            continue
        a = rows.block[contact, Block.NN] - laws.softness[contact, Row.NORMAL]
        u = normal_velocity(laws, rows, solution, contact) - own[_TARGET]
        change = max(own[_IMPULSE] - u / a, 0.0) - own[_IMPULSE]
        if change == 0.0:
            continue
        own[_IMPULSE] += change
        solution.shift[contact] += change
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            solution.z[rows.support[entry]] += change * rows.linear[Row.NORMAL, entry]
        greatest = max(greatest, abs(change) * a)
    return greatest
