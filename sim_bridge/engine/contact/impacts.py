"""
Impact propagation through touching bodies.

Newton's law of restitution for all contacts at once lets a row of touching balls share the
momentum of the first one. Here an impact travels as in the material. Only approaching contacts
take part in a round, all at once, each with its restitution. Contacts that approach afterwards
take part in the next round, until no contact approaches (generalized reflections, Smith, Kaufman,
Vouga, Tamstorf and Grinspun, "Reflections on simultaneous impact", 2012). In a round with impulses
p >= 0 that change the approach velocity u to u' = -e u where they act, the kinetic energy changes
by the sum of p (1 - e) u / 2, with u < 0: it never grows.

Impacts happen at mid-step: half the velocity change caused by forces comes before, half after. The
contact velocities at the step's end then become lower bounds in the contact problem. The summed
impulses from all rounds solve this problem, so its solution, apart from friction, is the motion
after the last round.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.prepare import begin_impact
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Block, ISLANDS, Row

_ROUNDS = 200  # a row of touching balls needs one round per contact
_SWEEPS = 200
_SOLVED = 1e-12  # velocity change in a round's last sweep, relative to the fastest approach
_APPROACHES = 1e-9  # speed that starts another round, relative to the fastest approach
# columns of Solution.proposal during propagation
_TARGET, _IMPULSE, _IS_HIT = range(3)


@kernel
def begin_impacts(contact_materials, contacts, h, laws, solution):
    """Leave impacts on springs to the restitution; solution.impulse: of the last step."""
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            law, last = contact_materials.law[laws.law[contact]], solution.impulse[contact]
            begin_impact(law, h, contact, last[Row.NORMAL], laws)


@subroutine
def propagate_impacts(table):
    """Set the contacts' required velocities after impacts, in all islands with impacts."""
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
    """Return the greatest impact speed with restitution in an island, 0 without impacts [m/s]."""
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
    """Return the restitution at a velocity along the normal, 0 below the bounce velocity."""
    return law[material.RESTITUTION] if -approach > law[material.BOUNCE_VELOCITY] else 0.0


@kernel
def unbounced_velocity(gap, h, touching):
    """Return the least final velocity without overlap of rigid bodies [m/s]."""
    return -2.0 * (gap - touching) / h if gap > touching else 0.0


@kernel
def is_soft(laws, contact):
    """Return whether a contact is compliant; compliant ones do not pass on impacts at once."""
    return laws.softness[contact, Row.NORMAL] > 0.0


@kernel
def propagate(laws, islands, rows, solution, material_law, options, island, fastest):
    """
    Compute all rounds for an island, and set the contacts' required velocities.

    Changes nothing after a single round: the law of restitution gives the same result directly.
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
        if laws.law[contact] < 0 or is_soft(laws, contact):
            continue
        # another impact may have ended the approach at contacts that were not hit
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
    """Find approaching contacts and their target velocities; return whether there are any."""
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
        if u < -least and is_closed and not is_soft(laws, contact):
            own[_TARGET], own[_IMPULSE], own[_IS_HIT] = -restitution(law, u) * u, 0.0, 1.0
            is_any = True
    return is_any


@kernel
def half_change(laws, solution, contact):
    """Return half the normal velocity change in the step due to everything but contacts [m/s]."""
    end = solution.bias[contact, Row.NORMAL] + laws.wanted[contact]
    return 0.5 * (end - laws.approach[contact])


@kernel
def normal_velocity(laws, rows, solution, contact):
    """Return a contact's normal velocity at mid-step, after all impulses so far [m/s]."""
    u = laws.approach[contact] + half_change(laws, solution, contact)
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        u += rows.linear[Row.NORMAL, entry] * solution.z[rows.support[entry]]
    return u


@kernel
def sweep_hit(laws, islands, rows, solution, island):
    """Sweep once over the contacts in a round; return the greatest velocity change [m/s]."""
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
