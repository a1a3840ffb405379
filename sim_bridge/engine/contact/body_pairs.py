"""Number of contact points between each two bodies, for laws that share a quantity among them."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.islands import bodies_of
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import NO_LAW
from sim_bridge.engine.dynamics.articulated import is_immobile

REACH = 1e-4
"""Points up to this gap [m] take part when a quantity is shared among the points of a pair."""


@kernel
def bits_of(contact_materials, laws, contact):
    """Return a contact law's ContactMaterials.refine bits."""
    return contact_materials.refine[laws.law[contact]] if laws.law[contact] != NO_LAW else 0


@kernel
def sorted_bodies(geometry, contacts, contact):
    """Return a contact's two bodies, lower index first."""
    a, b = bodies_of(geometry, contacts.geometry, contact)
    return min(a, b), max(a, b)


@subroutine
def count_points(table, bit, reach):
    """Count the points between each two bodies, if within reach and their law has a given bit."""
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
        # the mobile body of the two: the ground may have a pair with every body
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
