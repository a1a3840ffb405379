"""Contact points counted by the two bodies that they are between."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.islands import bodies_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import NO_LAW
from sim_bridge.engine.dynamics.articulated import is_immobile

REACH = 1e-4
"""Gap up to which surfaces touch, for what their points share [m]."""


@kernel
def bits_of(contact_materials, laws, contact):
    """Return the bits of ContactMaterials.refine of a contact's law."""
    return contact_materials.refine[laws.law[contact]] if laws.law[contact] != NO_LAW else 0


@kernel
def sorted_bodies(geometry, contacts, contact):
    """Return the two bodies of a contact, the lower number first."""
    a, b = bodies_of(geometry, contacts.geometry, contact)
    return min(a, b), max(a, b)


@subroutine
def count_points(table, bit, reach):
    """Count the points of each pair of bodies, those within reach whose laws have a bit."""
    geometry, contact_materials, laws = (
        world.geometry(table),
        world.contact_materials(table),
        world.laws(table),
    )
    contacts, kind = world.contacts(table), world.workspace(table).kind
    pairs = world.body_pairs(table)
    pairs.last[:] = -1
    for contact in range(contacts.size[COUNT]):
        pairs.first[contact] = -1
        is_one = bits_of(contact_materials, laws, contact) & bit != 0
        if not is_one or contacts.gap[contact] >= reach:
            continue
        a, b = sorted_bodies(geometry, contacts, contact)
        # of the two, one that moves: the ground may have a pair with every body
        owner = b if a < 0 or is_immobile(kind[a]) else a
        if owner < 0:
            continue
        at = pairs.last[owner]
        while at >= 0 and sorted_bodies(geometry, contacts, at) != (a, b):
            at = pairs.next[at]
        if at < 0:
            at = contact
            pairs.next[contact], pairs.points[contact] = pairs.last[owner], 0
            pairs.last[owner] = contact
        pairs.first[contact] = at
        pairs.points[at] += 1
