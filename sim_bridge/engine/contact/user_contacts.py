"""
User contacts: merged with the contacts found, with their own laws.

They are given at the step's start, but the step solves contacts at its middle: their points and
gaps move there with the initial velocities. The point follows the body with a round surface, as a
wheel carries its contact along; else it follows the only moving body, else it moves with the mean
velocity.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.prepare import set_law, to_world
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.geometry import CAPSULE, CYLINDER, SPHERE
from sim_bridge.engine.data.phases import UserContactPhase
from sim_bridge.engine.data.user_contacts import USER_CONTACT
from sim_bridge.engine.dynamics.articulated import is_immobile
from sim_bridge.engine.dynamics.twists import point_velocity
from sim_bridge.engine.math.spatial import LINEAR
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, sub, ZERO

_LYING = 0.5  # a cylinder rolls below this cosine of the angle between its axis and the normal


def add_or_prepare(table, phase):
    """Run one phase; ADD returns the number of contacts, -1 without room."""
    if phase == UserContactPhase.ADD:
        return merge_user_contacts(table)
    return set_user_contact_laws(table)


@subroutine
def merge_user_contacts(table):
    """Merge the user contacts into the contacts found, both in order of their geometries."""
    contacts, given = world.contacts(table), world.user_contacts(table)
    found, count = contacts.size[COUNT], given.size[COUNT]
    if found + count > contacts.gap.shape[0]:
        return -1
    old, new = found - 1, count - 1
    while new >= 0:
        at = old + new + 1
        if old >= 0 and is_behind(contacts.geometry, old, given.geometry, new):
            contacts.geometry[at, 0] = contacts.geometry[old, 0]
            contacts.geometry[at, 1] = contacts.geometry[old, 1]
            contacts.feature[at], contacts.gap[at] = contacts.feature[old], contacts.gap[old]
            store3(contacts.point, at, 0, load3(contacts.point, old, 0))
            store3(contacts.normal, at, 0, load3(contacts.normal, old, 0))
            old -= 1
        else:
            contacts.geometry[at, 0] = given.geometry[new, 0]
            contacts.geometry[at, 1] = given.geometry[new, 1]
            contacts.feature[at] = given.feature[new]
            store3(contacts.normal, at, 0, load3(given.normal, new, 0))
            advance_point(table, new, at)
            new -= 1
    contacts.size[COUNT] = found + count
    return found + count


@kernel
def is_behind(geometry, row, other, other_row):
    """Return whether a geometry pair is ordered after another."""
    if geometry[row, 0] != other[other_row, 0]:
        return geometry[row, 0] > other[other_row, 0]
    return geometry[row, 1] > other[other_row, 1]


@subroutine
def advance_point(table, row, at):
    """Write a user contact's point and gap at mid-step."""
    model, ws, geometry = world.model(table), world.workspace(table), world.geometry(table)
    contacts, given = world.contacts(table), world.user_contacts(table)
    twist, half = world.response(table).twist, 0.5 * world.options(table).time_step
    a, b = given.geometry[row, 0], given.geometry[row, 1]
    point, normal = load3(given.point, row, 0), load3(given.normal, row, 0)
    body_a, body_b = geometry.body[a], geometry.body[b]
    round_a, round_b = radius(ws, geometry, a, normal), radius(ws, geometry, b, normal)
    v_a = velocity_at_start(model, ws, twist, body_a, add(point, scale(round_a, normal)), half)
    v_b = velocity_at_start(model, ws, twist, body_b, add(point, scale(-round_b, normal)), half)
    share = 0.5
    if round_a > 0.0 and round_b > 0.0:
        # the point divides the distance between the centres
        share = round_b / (round_a + round_b)
    elif round_a > 0.0 or round_b == 0.0 and is_still(ws, body_b):
        share = 1.0
    elif round_b > 0.0 or is_still(ws, body_a):
        share = 0.0
    velocity = add(scale(share, v_a), scale(1.0 - share, v_b))
    store3(contacts.point, at, 0, add(point, scale(half, velocity)))
    contacts.gap[at] = given.gap[row] + half * dot(
        normal,
        sub(
            velocity_at_start(model, ws, twist, body_a, point, half),
            velocity_at_start(model, ws, twist, body_b, point, half),
        ),
    )


@kernel
def velocity_at_start(model, ws, twist, body, point, half):
    """
    Return a body's velocity at a point given at the start, half a step ago [m/s].

    half: half the time step [s].
    """
    if body < 0:
        return ZERO
    moved = scale(half, load3(twist, body, LINEAR))
    return point_velocity(model, ws, twist, body, add(point, moved))


@kernel
def is_still(ws, body):
    """Return whether no force moves a body."""
    return body < 0 or is_immobile(ws.kind[body])


@kernel
def radius(ws, geometry, number, normal):
    """Return a surface's radius of curvature across a normal [m]; 0 if it is flat."""
    shape, size = geometry.shape[number], geometry.size[number, 0]
    if shape == SPHERE or shape == CAPSULE:
        return size
    if (
        shape == CYLINDER
        and abs(dot(to_world(ws, geometry, number, (0.0, 0.0, 1.0)), normal)) < _LYING
    ):
        return size
    return 0.0


@subroutine
def set_user_contact_laws(table):
    """
    Fill the user contacts' laws; they also push between sensors.

    Listeners may have removed some; the others are in the order in which they were given.
    """
    model, ws, geometry = world.model(table), world.workspace(table), world.geometry(table)
    contacts, given, laws = world.contacts(table), world.user_contacts(table), world.laws(table)
    contact_materials, h = world.contact_materials(table), world.options(table).time_step
    twist, row = world.response(table).twist, 0
    for contact in range(contacts.size[COUNT]):
        if contacts.feature[contact] >= USER_CONTACT:
            while not is_given(contacts, contact, given, row):
                row += 1
            laws.law[contact] = given.law[row]
            set_law(
                model,
                ws,
                geometry,
                contacts,
                twist,
                h,
                contact_materials.law[given.law[row]],
                (given.motion[row, 0], given.motion[row, 1]),
                load3(given.direction, row, 0),
                ZERO,
                contact,
                laws,
            )
            row += 1
    return 0


@kernel
def is_given(contacts, contact, given, row):
    """Return whether a contact comes from a given user contact row."""
    return (
        contacts.feature[contact] == given.feature[row]
        and contacts.geometry[contact, 0] == given.geometry[row, 0]
        and contacts.geometry[contact, 1] == given.geometry[row, 1]
    )


USER_CONTACTS = Stage(add_or_prepare)
