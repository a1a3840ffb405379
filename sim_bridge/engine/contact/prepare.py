"""Contact frames and laws for one step, set before the trees are factorized."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.body_pairs import REACH
from sim_bridge.engine.contact.cone import has_constant_bound
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import Bound, NO_LAW, Row
from sim_bridge.engine.data.geometry import SENSOR, TRACK_SPEED
from sim_bridge.engine.dynamics.twists import relative_turn, relative_velocity
from sim_bridge.engine.math.mat3 import load_m, mul_mv
from sim_bridge.engine.math.spatial import ROTATION
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    load3,
    load_v,
    norm,
    scale,
    store_v,
    sub,
    ZERO,
)

IMPACT = 1e-6  # up to this approach velocity nothing is an impact [m/s]: resting bodies have it
_ALONG = 1e-6  # friction directions up to this sine of their angle to the normal are ignored, and
# two directions up to this cosine of their angle count as orthogonal
_FACES_X = 0.7  # a surface faces the x axis from this cosine of the angle to its normal on
_TRACK_END = 1e-5  # a track has no running direction below this sine of the angle to its axis


@subroutine
def set_laws(model, ws, geometry, contact_materials, contacts, twist, h, laws):
    """Fill all contact laws; twist: at the step's start."""
    for contact in range(contacts.size[0]):
        a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
        if contact > 0 and is_alike(contacts, contact):
            copy_law(model, ws, geometry, contacts, twist, contact, laws)
            continue
        laws.rows[contact] = 0
        laws.law[contact] = NO_LAW
        laws.gap[contact], laws.pull[contact] = contacts.gap[contact], 0.0
        if (geometry.flags[a] | geometry.flags[b]) & SENSOR != 0:
            continue
        laws.law[contact] = contact_materials.pair[geometry.material[a], geometry.material[b]]
        law = contact_materials.law[laws.law[contact]]
        normal = load3(contacts.normal, contact, 0)
        wanted, belt = relative_surface_motion(ws, geometry, contact_materials, a, b, normal)
        if has_directions(law):
            wanted = first_direction(wanted, normal)
        set_law(
            model,
            ws,
            geometry,
            contacts,
            twist,
            h,
            law,
            (law[material.MOTION], law[material.MOTION2]),
            wanted,
            belt,
            contact,
            laws,
        )
        for side in range(2):
            number = contacts.geometry[contact, side]
            if geometry.slip[number, 0] + geometry.slip[number, 1] > 0.0:
                add_rolling_slip(model, ws, geometry, contacts, twist, h, number, contact, laws)


@kernel
def set_law(model, ws, geometry, contacts, twist, h, law, motion, wanted, belt, contact, laws):
    """Fill a contact's values from its law; motion, wanted, belt: as in `set_frame`."""
    laws.model[contact] = int(law[material.MODEL])
    normal = load3(contacts.normal, contact, 0)
    set_frame(law, motion, normal, wanted, belt, laws.frame[contact], laws.target[contact])
    set_bounds(law, h, laws.radius[contact])
    set_softness(law, h, laws.frame[contact], laws.softness[contact])
    laws.rows[contact] = rows_of_law(law)
    laws.approach[contact] = approach(model, ws, geometry, contacts, twist, contact)


@subroutine
def add_rolling_slip(model, ws, geometry, contacts, twist, h, number, contact, laws):
    """
    Soften a wheel's friction rows in proportion to its turning rate; number: its geometry.

    A tyre's creep is proportional to its rolling speed and to its force, which the near points of
    two geometries share.
    """
    body = geometry.body[number]
    if body < 0:
        return
    axis, _velocity = surface_motion(ws, geometry, number, load3(contacts.normal, contact, 0))
    rate = abs(dot(axis, relative_turn(twist, body, model.parent[body])))
    creep = rate / h * float(near_points(contacts, contact))
    second = load3(laws.frame, contact, 3 * Row.TANGENT2)
    laws.softness[contact, Row.TANGENT] += creep * geometry.slip[number, 0]
    laws.softness[contact, Row.TANGENT2] += creep * geometry.slip[number, 1] * dot(second, second)


@kernel
def near_points(contacts, contact):
    """Return how many contact points are within reach, between the same geometries; at least 1."""
    pairs, count, other = contacts.geometry, 0, contact
    while (
        other < contacts.size[0]
        and pairs[other, 0] == pairs[contact, 0]
        and pairs[other, 1] == pairs[contact, 1]
    ):
        if contacts.gap[other] < REACH:
            count += 1
        other += 1
    other = contact - 1
    while (
        other >= 0
        and pairs[other, 0] == pairs[contact, 0]
        and pairs[other, 1] == pairs[contact, 1]
    ):
        if contacts.gap[other] < REACH:
            count += 1
        other -= 1
    return max(count, 1)


@kernel
def approach(model, ws, geometry, contacts, twist, contact):
    """Return a contact's normal velocity, first body relative to the second [m/s]."""
    return dot(
        load3(contacts.normal, contact, 0),
        relative_velocity(
            model,
            ws,
            twist,
            geometry.body[contacts.geometry[contact, 0]],
            geometry.body[contacts.geometry[contact, 1]],
            load3(contacts.point, contact, 0),
        ),
    )


@kernel
def is_alike(contacts, contact):
    """Return whether a contact has the same geometries and normal as the previous contact."""
    pairs, normal = contacts.geometry, contacts.normal
    return (
        pairs[contact, 0] == pairs[contact - 1, 0]
        and pairs[contact, 1] == pairs[contact - 1, 1]
        and load3(normal, contact, 0) == load3(normal, contact - 1, 0)
    )


@kernel
def copy_law(model, ws, geometry, contacts, twist, contact, laws):
    """Copy the law from the previous contact to one that `is_alike`."""
    before = contact - 1
    laws.law[contact], laws.rows[contact] = laws.law[before], laws.rows[before]
    laws.gap[contact], laws.pull[contact] = contacts.gap[contact], 0.0
    if laws.law[contact] == NO_LAW:
        return
    laws.model[contact] = laws.model[before]
    laws.frame[contact, :] = laws.frame[before]
    laws.target[contact, :] = laws.target[before]
    laws.radius[contact, :] = laws.radius[before]
    laws.softness[contact, :] = laws.softness[before]
    laws.approach[contact] = approach(model, ws, geometry, contacts, twist, contact)


@kernel
def rows_of_law(law):
    """Return the row count required by a law."""
    if law[material.ROLLING] > 0.0 or law[material.SPINNING] > 0.0:
        return 6
    return 1 if law[material.MU] == 0.0 and law[material.MU2] == 0.0 else 3


@kernel
def to_world(ws, geometry, number, vector):
    """Transform a vector from a geometry's frame to world axes."""
    vector = mul_mv(load_m(geometry.frame, number, ROTATION), vector)
    body = geometry.body[number]
    return mul_mv(load_m(ws.pose, body, ROTATION), vector) if body >= 0 else vector


@subroutine
def relative_surface_motion(ws, geometry, contact_materials, a, b, normal):
    """
    Return two geometries' friction direction, and b's surface velocity less a's [m/s].

    If both have a direction, the surface with the lower friction against its own material sets it.
    Surfaces with equal friction use the directions' bisector. Orthogonal directions have two
    bisectors, and rounding must not choose: the bisector of the vectors as given is used.
    """
    if is_plain(geometry, a) and is_plain(geometry, b):
        return ZERO, ZERO
    wanted, velocity = surface_motion(ws, geometry, a, scale(-1.0, normal))
    other, velocity_b = surface_motion(ws, geometry, b, normal)
    if wanted == ZERO:
        wanted = other
    elif other != ZERO:
        own, its = along_surface(wanted, normal), along_surface(other, normal)
        mu, its_mu = (
            own_friction(contact_materials, geometry, a),
            own_friction(contact_materials, geometry, b),
        )
        if own == ZERO or (its != ZERO and its_mu < mu):
            wanted = its
        elif its != ZERO and its_mu == mu:
            wanted = add(own, scale(-1.0 if dot(own, its) < -_ALONG else 1.0, its))
    return wanted, sub(velocity_b, velocity)


@kernel
def has_directions(law):
    """Return whether friction differs from direction to direction."""
    return (
        law[material.MODEL] != material.CONE
        or law[material.MU] != law[material.MU2]
        or law[material.SLIP] != law[material.SLIP2]
    )


@kernel
def first_direction(wanted, normal):
    """
    Return the first friction direction between two surfaces, unless `wanted` is along the surface.

    It is the projection of the world's x axis, or of y where the surface faces x.
    """
    if along_surface(wanted, normal) != ZERO:
        return wanted
    return (1.0, 0.0, 0.0) if abs(normal[0]) < _FACES_X else (0.0, 1.0, 0.0)


@kernel
def is_plain(geometry, number):
    """Return whether a geometry's surface does not move and has no friction direction."""
    belt, track = load3(geometry.belt, number, 0), load3(geometry.track, number, 0)
    return belt == ZERO and track == ZERO and load3(geometry.direction, number, 0) == ZERO


@kernel
def along_surface(vector, normal):
    """Return the unit vector along the surface, zero for a vector along the normal."""
    vector = sub(vector, scale(dot(vector, normal), normal))
    length = norm(vector)
    return scale(1.0 / length, vector) if length > _ALONG else ZERO


@kernel
def own_friction(contact_materials, geometry, number):
    """Return the first friction coefficient of a geometry's material against itself."""
    own = geometry.material[number]
    return contact_materials.law[contact_materials.pair[own, own], material.MU]


@subroutine
def surface_motion(ws, geometry, number, outward):
    """
    Return a geometry's friction direction, and its surface velocity relative to its body [m/s].

    Both in world axes; the direction is zero if there is none. A track's direction is its running
    direction. At the track's ends, where the outward normal is along the axis, there is none.
    """
    wanted, holder = load3(geometry.direction, number, 0), geometry.direction_body[number]
    wanted = (
        mul_mv(load_m(ws.pose, holder, ROTATION), wanted)
        if holder >= 0
        else to_world(ws, geometry, number, wanted)
    )
    velocity = to_world(ws, geometry, number, load3(geometry.belt, number, 0))
    along = cross(to_world(ws, geometry, number, load3(geometry.track, number, 0)), outward)
    length = norm(along)
    if length > _TRACK_END:
        along = scale(1.0 / length, along)
        velocity = add(velocity, scale(geometry.track[number, TRACK_SPEED], along))
        if dot(wanted, wanted) == 0.0:
            wanted = along
    return wanted, velocity


@kernel
def any_tangent(n):
    """Return a unit vector orthogonal to n, chosen to change as little as possible with n."""
    if abs(n[2]) > 0.7071:
        length = math.sqrt(n[1] * n[1] + n[2] * n[2])
        return 0.0, -n[2] / length, n[1] / length
    length = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return -n[1] / length, n[0] / length, 0.0


@kernel
def set_frame(law, motion, n, wanted, belt, frame_out, target_out):
    """
    Set the normal, the friction directions, and the target velocities.

    motion: velocities along both friction directions [m/s]. wanted: preferred first direction,
    world axes, zero for none. belt: relative surface velocity, world axes [m/s].

    An ellipse is scaled to a circle in its second direction: impulses by mu / mu2, velocities,
    their duals, by mu2 / mu.
    """
    first = any_tangent(n)
    wanted = sub(wanted, scale(dot(wanted, n), n))
    length = norm(wanted)
    if length > _ALONG:
        first = scale(1.0 / length, wanted)
    second = cross(n, first)
    mu, mu2, ratio = law[material.MU], law[material.MU2], 1.0
    if law[material.MODEL] == material.CONE and mu != mu2 and 0.0 < mu < math.inf:
        ratio = mu2 / mu
    store_v(frame_out, 3 * Row.NORMAL, n)
    store_v(frame_out, 3 * Row.TANGENT, first)
    store_v(frame_out, 3 * Row.TANGENT2, scale(ratio, second))
    target_out[Row.NORMAL] = law[material.MOTION_N]
    target_out[Row.TANGENT] = motion[0] + dot(belt, first)
    target_out[Row.TANGENT2] = ratio * (motion[1] + dot(belt, second))


@kernel
def set_bounds(law, h, radius_out):
    """Set the friction bounds; constant limits become impulses [N s]."""
    model = law[material.MODEL]
    first = law[material.MU]
    second = law[material.MU if model == material.CONE else material.MU2]
    radius_out[Bound.TANGENT] = h * first if has_constant_bound(model, 0) else first
    radius_out[Bound.TANGENT2] = h * second if has_constant_bound(model, 1) else second
    radius_out[Bound.ROLL], radius_out[Bound.SPIN] = law[material.ROLLING], law[material.SPINNING]


@kernel
def set_softness(law, h, frame, softness_out):
    """Set the row compliances; a spring k and a damper d have the CFM 1 / (h k + d), as in ODE."""
    softness_out[Row.NORMAL] = law[material.CFM] / h
    if law[material.STIFFNESS] > 0.0:
        softness_out[Row.NORMAL] = 1.0 / (
            h * (h * law[material.STIFFNESS] + law[material.DAMPING])
        )
    softness_out[Row.TANGENT] = law[material.SLIP] / h
    second = load_v(frame, 3 * Row.TANGENT2)
    softness_out[Row.TANGENT2] = law[material.SLIP2] / h * dot(second, second)
    softness_out[Row.SPIN] = softness_out[Row.ROLL] = softness_out[Row.ROLL2] = 0.0


@kernel
def restores(law):
    """Return whether impacts on a spring follow the coefficient of restitution."""
    return law[material.STIFFNESS] > 0.0 and law[material.RESTITUTION] > 0.0


@kernel
def begin_impact(law, h, contact, last, laws):
    """
    Make an elastic contact with restitution rigid if it begins, with an impact, in this step.

    The contact is open one step before the step's start, closed at its end at its approach
    velocity, and has not pushed in the last step. A body that is on its spring stays on it.
    last: normal impulse in the last step.
    """
    gap, moved = laws.gap[contact], 0.5 * h * laws.approach[contact]
    is_fast = -laws.approach[contact] > max(law[material.BOUNCE_VELOCITY], IMPACT)
    if restores(law) and is_fast and last == 0.0 and gap + moved <= 0.0 <= gap - 3.0 * moved:
        laws.softness[contact, Row.NORMAL] = 0.0


@kernel
def world_impulse(laws, solution, contact):
    """Return a contact's linear and angular impulse on its first body, world axes."""
    impulse = solution.impulse[contact]
    n, t, s = directions(laws, contact)
    push = scale(impulse[Row.NORMAL] - laws.pull[contact], n)
    twist = ZERO
    if laws.rows[contact] > 1:
        push = add(push, add(scale(impulse[Row.TANGENT], t), scale(impulse[Row.TANGENT2], s)))
    if laws.rows[contact] > 3:
        twist = add(
            scale(impulse[Row.SPIN], n),
            add(scale(impulse[Row.ROLL], t), scale(impulse[Row.ROLL2], s)),
        )
    return push, twist


@kernel
def directions(laws, contact):
    """Return a contact's normal and both friction directions, see Laws.frame."""
    return load_m(laws.frame, contact, 0)
