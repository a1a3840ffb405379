"""
Laws that take more than two materials and a normal.

Surfaces that move as the author of a pair says. A stage of its own completes what `set_laws` has
set, so that other worlds neither compile nor run it.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.prepare import along_surface, relative_motion, set_frame
from sim_bridge.engine.data import surfaces as surface
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import NO_LAW
from sim_bridge.engine.data.geometry import STATIC
from sim_bridge.engine.math.vec3 import load3, ZERO


def refine(table, phase):
    """Complete the laws of the contacts found."""
    geometry, surfaces, laws = world.geometry(table), world.surfaces(table), world.laws(table)
    ws, contacts = world.workspace(table), world.contacts(table)
    for contact in range(contacts.size[COUNT]):
        if laws.law[contact] != NO_LAW and surfaces.refine[laws.law[contact]] & surface.MOVES != 0:
            set_motion(ws, geometry, surfaces, contacts, laws, contact)
    return 0


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
