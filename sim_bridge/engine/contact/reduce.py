"""
Contact reduction: few selected from many points between two bodies.

Points and normals are sorted into bins of the space (n × p, n), with p from the pair's centre and
in units of its extent, as in AGX's contact reducer. The deepest point of each bin stays. The
others are reported as contacts without force.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.body_pairs import count_points
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import NO_LAW
from sim_bridge.engine.math.vec3 import add, cross, load3, norm, scale, store3, sub, ZERO


@subroutine
def reduce_points(table):
    """Remove the law from all unneeded points."""
    contact_materials, laws, pairs = (
        world.contact_materials(table),
        world.laws(table),
        world.body_pairs(table),
    )
    contacts, touching = world.contacts(table), world.options(table).touching
    count_points(table, material.REDUCED, math.inf)
    find_extents(table)
    for contact in range(contacts.size[COUNT]):
        first = pairs.first[contact]
        if first < 0:
            continue
        law = contact_materials.refined[laws.law[contact]]
        key = bin_of(contacts, pairs, contact, first, law[material.BINS])
        at = pairs.last_bin[first]
        while at >= 0 and pairs.bin[at] != key:
            at = pairs.next_bin[at]
        if at < 0:
            pairs.bin[contact], pairs.kept[contact] = key, contact
            pairs.next_bin[contact], pairs.last_bin[first] = pairs.last_bin[first], contact
            continue
        loser, kept = contact, pairs.kept[at]
        gain = contacts.gap[kept] - contacts.gap[contact]
        is_wider = distance_from_centre(contacts, pairs, contact, first) > distance_from_centre(
            contacts, pairs, kept, first
        )
        if gain > touching or (gain >= -touching and is_wider):
            pairs.kept[at], loser = contact, kept
        laws.rows[loser], laws.law[loser] = 0, NO_LAW


@kernel
def find_extents(table):
    """Set all body pairs' centres and extents, stored at each pair's first contact."""
    contacts, pairs = world.contacts(table), world.body_pairs(table)
    for contact in range(contacts.size[COUNT]):
        if pairs.first[contact] == contact:
            store3(pairs.center, contact, 0, ZERO)
            pairs.extent[contact], pairs.last_bin[contact] = 0.0, -1
    for contact in range(contacts.size[COUNT]):
        first = pairs.first[contact]
        if first >= 0:
            share = scale(1.0 / pairs.points[first], load3(contacts.point, contact, 0))
            store3(pairs.center, first, 0, add(load3(pairs.center, first, 0), share))
    for contact in range(contacts.size[COUNT]):
        first = pairs.first[contact]
        if first >= 0:
            pairs.extent[first] = max(
                pairs.extent[first], distance_from_centre(contacts, pairs, contact, first)
            )


@kernel
def distance_from_centre(contacts, pairs, contact, first):
    """Return a contact point's distance from its pair's centre [m]."""
    return norm(sub(load3(contacts.point, contact, 0), load3(pairs.center, first, 0)))


@kernel
def bin_of(contacts, pairs, contact, first, bins):
    """Return a contact's bin number; bins: number along each of the six dimensions."""
    extent, n = pairs.extent[first], load3(contacts.normal, contact, 0)
    arm = sub(load3(contacts.point, contact, 0), load3(pairs.center, first, 0))
    turn = cross(n, scale(1.0 / extent if extent > 0.0 else 0.0, arm))
    number = 0
    for x in (turn[0], turn[1], turn[2], n[0], n[1], n[2]):
        place = min(math.floor(0.5 * (x + 1.0) * bins), int(bins) - 1)
        number = number * int(bins) + max(place, 0)
    return number
