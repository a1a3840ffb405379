"""
Laws that take more than two materials and a normal.

Surfaces that move as the author of a pair says, and adhesion, which the contact points of two
bodies share. A stage of its own completes what `set_laws` has set, so that other worlds neither
compile nor run it.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.islands import bodies_of
from sim_bridge.engine.contact.prepare import along_surface, relative_motion, set_frame
from sim_bridge.engine.data import surfaces as surface
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import NO_LAW
from sim_bridge.engine.data.geometry import STATIC
from sim_bridge.engine.dynamics.articulated import is_immobile
from sim_bridge.engine.math.vec3 import load3, ZERO

_REACH = 1e-4  # gap up to which surfaces touch, for what their points share [m]


def refine(table, phase):
    """Complete the laws of the contacts found."""
    geometry, surfaces, laws = world.geometry(table), world.surfaces(table), world.laws(table)
    ws, contacts = world.workspace(table), world.contacts(table)
    present = 0
    for contact in range(contacts.size[COUNT]):
        wanted = bits_of(surfaces, laws, contact)
        present |= wanted
        if wanted & surface.MOVES != 0:
            set_motion(ws, geometry, surfaces, contacts, laws, contact)
    if present & surface.ADHERES != 0:
        adhere(table)
    return 0


@kernel
def bits_of(surfaces, laws, contact):
    """Return the bits of Surfaces.refine of a contact's law."""
    return surfaces.refine[laws.law[contact]] if laws.law[contact] != NO_LAW else 0


@subroutine
def adhere(table):
    """Set gap and pull of adhesive surfaces: two bodies hold together up to ADHESION."""
    surfaces, laws, pairs = world.surfaces(table), world.laws(table), world.body_pairs(table)
    h = world.options(table).time_step
    count_points(table, surface.ADHERES)
    for contact in range(world.contacts(table).size[COUNT]):
        if bits_of(surfaces, laws, contact) & surface.ADHERES != 0:
            row, first = laws.law[contact], pairs.first[contact]
            laws.gap[contact] += surfaces.refined[row, surface.OVERLAP]
            if first >= 0:
                laws.pull[contact] = h * surfaces.law[row, surface.ADHESION] / pairs.points[first]


@subroutine
def count_points(table, bit):
    """Count the points that touch of each pair of bodies, those whose laws have a bit."""
    geometry, surfaces, laws = world.geometry(table), world.surfaces(table), world.laws(table)
    contacts, kind = world.contacts(table), world.workspace(table).kind
    pairs = world.body_pairs(table)
    pairs.last[:] = -1
    for contact in range(contacts.size[COUNT]):
        pairs.first[contact] = -1
        is_one = bits_of(surfaces, laws, contact) & bit != 0
        if not is_one or contacts.gap[contact] >= _REACH:
            continue
        a, b = bodies_of(geometry, contacts.geometry, contact)
        # of the two, one that moves: the ground may have a pair with every body
        owner = b if a < 0 or is_immobile(kind[a]) else a
        if owner < 0:
            continue
        at = pairs.last[owner]
        while at >= 0 and bodies_of(geometry, contacts.geometry, at) != (a, b):
            at = pairs.next[at]
        if at < 0:
            at = contact
            pairs.next[contact], pairs.points[contact] = pairs.last[owner], 0
            pairs.last[owner] = contact
        pairs.first[contact] = at
        pairs.points[at] += 1


@kernel
def set_motion(ws, geometry, surfaces, contacts, laws, contact):
    """Set frame and targets of surfaces that move in the author's order."""
    a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
    row, normal = laws.law[contact], load3(contacts.normal, contact, 0)
    law, side = surfaces.law[row], surfaces.refined[row, surface.SIDE]
    if side == 0.0:
        first, second = geometry.flags[a] & STATIC, geometry.flags[b] & STATIC
        side = float(second - first) / STATIC
    wanted, belt = relative_motion(ws, geometry, surfaces, a, b, normal)
    if along_surface(wanted, normal) == ZERO:
        wanted = (1.0, 0.0, 0.0) if abs(normal[0]) < 0.7 else (0.0, 1.0, 0.0)
    # the second direction, normal × first, turns with the order, as the relative velocity does
    motion = (side * law[surface.MOTION], abs(side) * law[surface.MOTION2])
    set_frame(law, motion, normal, wanted, belt, laws.frame[contact], laws.target[contact])


REFINE = Stage(refine)
