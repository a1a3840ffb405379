"""Forces of a medium on boxes and ellipsoids, see `description.flows`; evaluated with fields."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.fields import (
    ADDED,
    ANGULAR_DRAG_OF_FLOW,
    BLUNT_DRAG,
    BOX_SIDES,
    FLOW_CENTRE,
    FLOW_DENSITY,
    FLOW_ROTATION,
    FLOW_SHARE,
    FLOW_VISCOSITY,
    FLOW_WIND,
    KUTTA_LIFT,
    LEAST_INERTIA,
    MAGNUS_LIFT,
    SEMIAXES,
    SLENDER_DRAG,
)
from sim_bridge.engine.data.inertia import MASS
from sim_bridge.engine.dynamics.twists import point_velocity
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv
from sim_bridge.engine.math.spatial import ANGULAR
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, norm, scale, sub

_LEAST = 1e-15  # least squared speed and projection, as MuJoCo's mjMINVAL


@kernel
def bounded_drag(drag, inertia, h):
    """Return a drag coefficient reduced to keep a step of h seconds stable."""
    part = h * drag / inertia
    return drag / math.sqrt(1.0 + part * part * part * part)


@kernel
def place_of_flow(values, R_B, p_B):
    """Return the axes and the centre [m] of a box or an ellipsoid, in the world."""
    R = (
        load_v(values, FLOW_ROTATION),
        load_v(values, FLOW_ROTATION + 3),
        load_v(values, FLOW_ROTATION + 6),
    )
    return mul_mm(R_B, R), add(p_B, mul_mv(R_B, load_v(values, FLOW_CENTRE)))


@kernel
def motion_in_flow(model, own, ws, values, row, R, x):
    """Return the angular velocity, and the velocity of x relative to the medium, in axes R."""
    body = own.body[row]
    wind = add(load_v(values, FLOW_WIND), load_v(own.wind, 0))
    v = sub(point_velocity(model, ws, ws.velocity, body, x), wind)
    return mul_tv(R, load3(ws.velocity, body, ANGULAR)), mul_tv(R, v)


@subroutine
def box_force(model, own, ws, values, row, R, x, h):
    """Return the force at x and the torque on a box, in its axes R."""
    w, v = motion_in_flow(model, own, ws, values, row, R, x)
    a, b, c = load_v(values, BOX_SIDES)
    mean = (a + b + c) / 3.0
    viscous = 3.0 * math.pi * mean * values[FLOW_VISCOSITY]
    turning = math.pi * mean * mean * mean * values[FLOW_VISCOSITY]
    density, link = values[FLOW_DENSITY], own.link[row]
    a_4, b_4, c_4 = a * a * a * a, b * b * b * b, c * c * c * c
    f = (
        resisted(v[0], viscous, 0.5 * density * b * c, link[MASS], h),
        resisted(v[1], viscous, 0.5 * density * a * c, link[MASS], h),
        resisted(v[2], viscous, 0.5 * density * a * b, link[MASS], h),
    )
    n = (
        resisted(w[0], turning, density * a * (b_4 + c_4) / 64.0, link[LEAST_INERTIA], h),
        resisted(w[1], turning, density * b * (a_4 + c_4) / 64.0, link[LEAST_INERTIA], h),
        resisted(w[2], turning, density * c * (a_4 + b_4) / 64.0, link[LEAST_INERTIA], h),
    )
    return f, n


@kernel
def resisted(v, linear, quadratic, inertia, h):
    """Return the drag at a velocity: linear and quadratic."""
    return -bounded_drag(linear + quadratic * abs(v), inertia, h) * v


@subroutine
def ellipsoid_force(model, own, ws, values, row, R, x, h):
    """Return the force at x and the torque on an ellipsoid, in its axes R."""
    w, v = motion_in_flow(model, own, ws, values, row, R, x)
    s, density, link = load_v(values, SEMIAXES), values[FLOW_DENSITY], own.link[row]
    moved, turned = load_v(values, ADDED), load_v(values, ADDED + 3)
    P = (density * moved[0] * v[0], density * moved[1] * v[1], density * moved[2] * v[2])
    L = (density * turned[0] * w[0], density * turned[1] * w[1], density * turned[2] * w[2])
    f, n = cross(P, w), add(cross(P, v), cross(L, w))
    volume = 4.0 / 3.0 * math.pi * s[0] * s[1] * s[2]
    f = add(f, scale(values[MAGNUS_LIFT] * density * volume, cross(w, v)))
    lift, area = lift_and_area(values, s, v)
    f = add(f, scale(density, lift))
    longest, shortest = max(s[0], max(s[1], s[2])), min(s[0], min(s[1], s[2]))
    middle = s[0] + s[1] + s[2] - longest - shortest
    mean = 2.0 / 3.0 * (s[0] + s[1] + s[2])
    greatest = math.pi * longest * middle
    slender = values[SLENDER_DRAG] * (greatest - area)
    drag = density * norm(v) * (area * values[BLUNT_DRAG] + slender)
    drag += values[FLOW_VISCOSITY] * 3.0 * math.pi * mean
    spin = density * norm(turning_drag(values, s, w, longest, middle))
    spin += values[FLOW_VISCOSITY] * math.pi * mean * mean * mean
    share = values[FLOW_SHARE]
    f = sub(scale(share, f), scale(bounded_drag(share * drag, link[MASS], h), v))
    n = sub(scale(share, n), scale(bounded_drag(share * spin, link[LEAST_INERTIA], h), w))
    return f, n


@kernel
def lift_and_area(values, s, v):
    """Return the Kutta lift per density, and the area seen by the flow [m²]."""
    a, b, c = s[1] * s[2], s[2] * s[0], s[0] * s[1]
    normal = (a * a * v[0], b * b * v[1], c * c * v[2])
    square = dot(normal, v)
    fourth = dot(normal, normal)
    area = math.pi * math.sqrt(fourth / max(square, _LEAST))
    cosine = square / max(norm(v) * fourth, _LEAST)
    swirl = scale(values[KUTTA_LIFT] * cosine * area, cross(normal, v))
    return cross(swirl, v), area


@kernel
def turning_drag(values, s, w, longest, middle):
    """Return the quadratic damping of rotation by axes, per density and velocity."""
    most = 8.0 / 15.0 * math.pi * middle * longest * longest * longest * longest
    a, b, c = swept(s[0], s[1], s[2]), swept(s[1], s[2], s[0]), swept(s[2], s[0], s[1])
    angular, slender = values[ANGULAR_DRAG_OF_FLOW], values[SLENDER_DRAG]
    return (
        w[0] * (angular * a + slender * (most - a)),
        w[1] * (angular * b + slender * (most - b)),
        w[2] * (angular * c + slender * (most - c)),
    )


@kernel
def swept(along, one, other):
    """Return the moment swept about a semiaxis by the longer of the two others."""
    far = max(one, other)
    return 8.0 / 15.0 * math.pi * along * far * far * far * far
