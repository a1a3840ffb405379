"""Contact frames and laws of a step, set before the trees are factorized."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.contact_problem import (
    NO_LAW,
    NORMAL,
    ROLL,
    ROLL2,
    ROLL_BOUND,
    SPIN,
    SPIN_BOUND,
    TANGENT,
    TANGENT2,
    TANGENT2_BOUND,
    TANGENT_BOUND,
)
from sim_bridge.engine.data.geometry import SENSOR, TRACK_SPEED
from sim_bridge.engine.data.surfaces import (
    ADHESION,
    CFM,
    CONE,
    CONSTANT,
    DAMPING,
    LAYER,
    MODEL,
    MOTION,
    MOTION2,
    MOTION_N,
    MU,
    MU2,
    ROLLING,
    SLIP,
    SLIP2,
    SPINNING,
    STIFFNESS,
)
from sim_bridge.engine.dynamics.twists import relative_velocity
from sim_bridge.engine.math.spatial import ROTATION
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_m, load_v, mul_mv, scale, sub

_STICKY_REACH = 1e-4  # gap up to which adhesion pulls [m]
_TRACK_END = 1e-5  # sine of the angle from the axis at which a track has no direction any more


@subroutine
def set_laws(model, ws, geometry, surfaces, contacts, twist, h, laws):
    """Fill the laws of all contacts; twist: at the start of the step."""
    for contact in range(contacts.size[0]):
        a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
        laws.rows[contact] = 0
        laws.law[contact] = NO_LAW
        if (geometry.flags[a] | geometry.flags[b]) & SENSOR != 0:
            continue
        laws.law[contact] = surfaces.pair[geometry.material[a], geometry.material[b]]
        law = surfaces.law[laws.law[contact]]
        laws.model[contact] = int(law[MODEL])
        normal = load3(contacts.normal, contact, 0)
        wanted, velocity_a = surface_motion(ws, geometry, a, scale(-1.0, normal))
        wanted_b, velocity_b = surface_motion(ws, geometry, b, normal)
        if dot(wanted, wanted) == 0.0:
            wanted = wanted_b
        belt = sub(velocity_b, velocity_a)
        set_frame(law, normal, wanted, belt, laws.frame[contact], laws.target[contact])
        set_bounds(law, h, laws.radius[contact])
        set_softness(law, h, laws.frame[contact], laws.softness[contact])
        laws.rows[contact] = rows_of_law(law)
        sticks = law[ADHESION] > 0.0 and contacts.gap[contact] < law[LAYER] + _STICKY_REACH
        laws.pull[contact] = h * law[ADHESION] if sticks else 0.0
        laws.approach[contact] = dot(normal, relative_velocity(
            model, ws, twist, geometry.body[a], geometry.body[b],
            load3(contacts.point, contact, 0)))


@kernel
def rows_of_law(law):
    """Return the number of rows that a law needs."""
    if law[ROLLING] > 0.0 or law[SPINNING] > 0.0:
        return 6
    return 1 if law[MU] == 0.0 and law[MU2] == 0.0 else 3


@kernel
def to_world(ws, geometry, number, vector):
    """Transform a vector from a geometry's frame to world axes."""
    vector = mul_mv(load_m(geometry.frame, number, ROTATION), vector)
    body = geometry.body[number]
    return mul_mv(load_m(ws.pose, body, ROTATION), vector) if body >= 0 else vector


@subroutine
def surface_motion(ws, geometry, number, outward):
    """
    Return a geometry's friction direction, and its surface velocity relative to its body [m/s].

    World axes; the direction is zero where there is none. The direction of a track is its running
    direction. At the track's ends, where the outward normal is along the axis, there is none.
    """
    wanted = to_world(ws, geometry, number, load3(geometry.direction, number, 0))
    velocity = to_world(ws, geometry, number, load3(geometry.belt, number, 0))
    along = cross(to_world(ws, geometry, number, load3(geometry.track, number, 0)), outward)
    norm = math.sqrt(dot(along, along))
    if norm > _TRACK_END:
        along = scale(1.0 / norm, along)
        velocity = add(velocity, scale(geometry.track[number, TRACK_SPEED], along))
        if dot(wanted, wanted) == 0.0:
            wanted = along
    return wanted, velocity


@kernel
def any_tangent(n):
    """Return a unit vector orthogonal to n that changes as little as possible with n."""
    if abs(n[2]) > 0.7071:
        norm = math.sqrt(n[1] * n[1] + n[2] * n[2])
        return 0.0, -n[2] / norm, n[1] / norm
    norm = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return -n[1] / norm, n[0] / norm, 0.0


@kernel
def set_frame(law, n, wanted, belt, frame_out, target_out):
    """
    Choose the friction directions, and their target velocities.

    An ellipse is scaled to a circle in its second direction: impulses by mu / mu2, velocities,
    their duals, by mu2 / mu.
    """
    first = any_tangent(n)
    wanted = sub(wanted, scale(dot(wanted, n), n))
    norm = math.sqrt(dot(wanted, wanted))
    if norm > 1e-6:
        first = scale(1.0 / norm, wanted)
    second = cross(n, first)
    mu, mu2 = law[MU], law[MU2]
    ratio = mu2 / mu if law[MODEL] == CONE and mu != mu2 and 0.0 < mu < math.inf else 1.0
    for k in range(3):
        frame_out[3 * NORMAL + k] = n[k]
        frame_out[3 * TANGENT + k] = first[k]
        frame_out[3 * TANGENT2 + k] = ratio * second[k]
    target_out[NORMAL] = law[MOTION_N]
    target_out[TANGENT] = law[MOTION] + dot(belt, first)
    target_out[TANGENT2] = ratio * (law[MOTION2] + dot(belt, second))


@kernel
def set_bounds(law, h, radius_out):
    """Set the friction bounds; those of constant limits are impulses."""
    share = h if law[MODEL] == CONSTANT else 1.0
    radius_out[TANGENT_BOUND] = share * law[MU]
    radius_out[TANGENT2_BOUND] = share * (law[MU] if law[MODEL] == CONE else law[MU2])
    radius_out[ROLL_BOUND], radius_out[SPIN_BOUND] = law[ROLLING], law[SPINNING]


@kernel
def set_softness(law, h, frame, softness_out):
    """Set the compliance of rows; h k and d of a spring and a damper act like ODE's CFM."""
    softness_out[NORMAL] = law[CFM] / h
    if law[STIFFNESS] > 0.0:
        softness_out[NORMAL] = 1.0 / (h * (h * law[STIFFNESS] + law[DAMPING]))
    softness_out[TANGENT] = law[SLIP] / h
    second = load_v(frame, 3 * TANGENT2)
    stretch = second[0] * second[0] + second[1] * second[1] + second[2] * second[2]
    softness_out[TANGENT2] = law[SLIP2] / h * stretch
    softness_out[SPIN] = softness_out[ROLL] = softness_out[ROLL2] = 0.0


@kernel
def world_impulse(laws, solution, contact):
    """Return a contact's linear and angular impulse on its first body, world axes."""
    impulse = solution.impulse[contact]
    n, t, s = directions(laws, contact)
    push = scale(impulse[NORMAL] - laws.pull[contact], n)
    twist = (0.0, 0.0, 0.0)
    if laws.rows[contact] > 1:
        push = add(push, add(scale(impulse[TANGENT], t), scale(impulse[TANGENT2], s)))
    if laws.rows[contact] > 3:
        twist = add(scale(impulse[SPIN], n),
                    add(scale(impulse[ROLL], t), scale(impulse[ROLL2], s)))
    return push, twist


@kernel
def directions(laws, contact):
    """Return a contact's normal and both friction directions, see Laws.frame."""
    return (load3(laws.frame, contact, 3 * NORMAL), load3(laws.frame, contact, 3 * TANGENT),
            load3(laws.frame, contact, 3 * TANGENT2))
