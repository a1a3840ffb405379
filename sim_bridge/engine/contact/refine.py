"""
Contact laws that depend on more than two materials and a normal.

Surface velocities set for a pair of materials, signed by the pair's order; friction along a body
axis; adhesion and mass-proportional friction, shared by two bodies' contact points;
depth-proportional friction; contact reduction, and compliance from the contact area. A separate
stage completes the values from `set_laws`, so other worlds neither compile nor run it.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.contact.area import share_areas
from sim_bridge.engine.contact.body_pairs import bits_of, count_points, REACH
from sim_bridge.engine.contact.islands import bodies_of
from sim_bridge.engine.contact.prepare import first_direction, relative_surface_motion, set_frame
from sim_bridge.engine.contact.reduce import reduce_points
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Bound
from sim_bridge.engine.data.geometry import STATIC
from sim_bridge.engine.dynamics.articulated import is_immobile
from sim_bridge.engine.math.mat3 import load_m, mul_mv
from sim_bridge.engine.math.spatial import ROTATION
from sim_bridge.engine.math.vec3 import load3


def refine(table, phase):
    """Complete the contact laws; return -1 if a Python function has failed."""
    geometry, contact_materials, laws = (
        world.geometry(table),
        world.contact_materials(table),
        world.laws(table),
    )
    ws, contacts = world.workspace(table), world.contacts(table)
    present = 0
    for contact in range(contacts.size[COUNT]):
        present |= bits_of(contact_materials, laws, contact)
    if present & material.REDUCED != 0:
        reduce_points(table)
    for contact in range(contacts.size[COUNT]):
        wanted = bits_of(contact_materials, laws, contact)
        if wanted & (material.MOVES | material.DIRECTED) != 0:
            set_directions(ws, geometry, contact_materials, contacts, laws, contact)
        if wanted & material.DEEP != 0:
            factor = contact_materials.refined[laws.law[contact], material.DEPTH_FACTOR]
            scale_friction(laws, contact, factor * max(-contacts.gap[contact], 0.0))
    if present & material.ADHERES != 0:
        adhere(table)
    if present & material.WEIGHED != 0:
        weigh(table)
    if present & material.SPREADS != 0:
        share_areas(table)
    if present & material.CUSTOM != 0:
        return call_stage(world.options(table).custom, table, phase)
    return 0


@subroutine
def adhere(table):
    """Set gap and pull at adhesive surfaces: two bodies hold together up to the force ADHESION."""
    contact_materials, laws, pairs = (
        world.contact_materials(table),
        world.laws(table),
        world.body_pairs(table),
    )
    h = world.options(table).time_step
    count_points(table, material.ADHERES, REACH)
    for contact in range(world.contacts(table).size[COUNT]):
        if bits_of(contact_materials, laws, contact) & material.ADHERES != 0:
            row, first = laws.law[contact], pairs.first[contact]
            laws.gap[contact] += contact_materials.refined[row, material.OVERLAP]
            if first >= 0:
                laws.pull[contact] = (
                    h * contact_materials.law[row, material.ADHESION] / pairs.points[first]
                )


@subroutine
def weigh(table):
    """Bound the friction between two bodies by their masses, independently of the normal force."""
    model, geometry, contacts = world.model(table), world.geometry(table), world.contacts(table)
    contact_materials, laws, pairs = (
        world.contact_materials(table),
        world.laws(table),
        world.body_pairs(table),
    )
    kind = world.workspace(table).kind
    count_points(table, material.WEIGHED, REACH)
    for contact in range(contacts.size[COUNT]):
        if bits_of(contact_materials, laws, contact) & material.WEIGHED != 0:
            a, b = bodies_of(geometry, contacts.geometry, contact)
            mass = moved_mass(model, kind, a) + moved_mass(model, kind, b)
            first = pairs.first[contact]
            scale_friction(laws, contact, mass / (pairs.points[first] if first >= 0 else 1))


@kernel
def moved_mass(model, kind, body):
    """Return a body's mass if forces move it, else 0 [kg]."""
    return model.inertia[body, 0] if body >= 0 and not is_immobile(kind[body]) else 0.0


@kernel
def scale_friction(laws, contact, factor):
    """Multiply a contact's friction bounds by a factor."""
    laws.radius[contact, Bound.TANGENT] *= factor
    laws.radius[contact, Bound.TANGENT2] *= factor


@kernel
def set_directions(ws, geometry, contact_materials, contacts, laws, contact):
    """Set frame and targets at a contact with moving surfaces or a friction axis."""
    a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
    row, normal = laws.law[contact], load3(contacts.normal, contact, 0)
    law, side = contact_materials.law[row], contact_materials.refined[row, material.SIDE]
    if side == 0.0:
        first, second = geometry.flags[a] & STATIC, geometry.flags[b] & STATIC
        side = float(second - first) / STATIC
    wanted, belt = relative_surface_motion(ws, geometry, contact_materials, a, b, normal)
    if contact_materials.refine[row] & material.DIRECTED != 0:
        body, wanted = (
            contact_materials.direction_body[row],
            load3(contact_materials.refined, row, material.AXIS),
        )
        if body >= 0:
            wanted = mul_mv(load_m(ws.pose, body, ROTATION), wanted)
    wanted = first_direction(wanted, normal)
    # the second direction, normal × first, turns with the order, like the relative velocity
    motion = (side * law[material.MOTION], abs(side) * law[material.MOTION2])
    set_frame(law, motion, normal, wanted, belt, laws.frame[contact], laws.target[contact])


REFINE = Stage(refine)
