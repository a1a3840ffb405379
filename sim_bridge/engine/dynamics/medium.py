"""
Medium around links: added mass, velocity damping, and support of their weight.

After AGX's effective mass and velocity damping. On a link with mass m and inertia I about its
centre of mass c, the medium exerts this force and this torque at c:

    -A a - D v        A = m C       D = m d        a, v: acceleration and velocity of c
    -B α - E w        B = √C I √C   E = √d I √d    α, w: angular ones

The coefficients C and rates d are separate for each axis. In a step, v and w are the end-of-step
velocities, with the directions at its middle: M (1 + C + h d) stands on the left-hand side, so any
d is stable. The medium's own gyroscopic forces are neglected, as in AGX.

A link without gravity gets its weight as an upward force.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.model import (
    ADDED,
    COUPLING,
    DRAG,
    FREE,
    IS_COUPLED,
    KINEMATIC,
    LIFTED,
    POINT,
)
from sim_bridge.engine.math.mat3 import load_m, mul_mv, mul_tv
from sim_bridge.engine.math.spatial import (
    add_spatial,
    ANGULAR,
    LINEAR,
    load_spatial,
    ORIGIN,
    ROTATION,
)
from sim_bridge.engine.math.vec3 import add, cross, load3, load_v, scale, sub, unit_vector


@subroutine
def add_medium(model, ws, h):
    """Add A + h D and B + h E to the bodies' own inertias, before the trees are eliminated."""
    for row in range(model.medium_body.shape[0]):
        body = model.medium_body[row]
        own = ws.articulated[body]
        R = load_m(ws.pose, body, ROTATION)
        c = point_from_origin(model, ws, body, model.medium[row])
        for axis in range(6):
            w, v = unit_vector(axis), unit_vector(axis - 3)
            n, f = push_for(model.medium[row], ADDED, R, c, w, v)
            n_drag, f_drag = push_for(model.medium[row], DRAG, R, c, w, v)
            n, f = add(n, scale(h, n_drag)), add(f, scale(h, f_drag))
            entries = (n[0], n[1], n[2], f[0], f[1], f[2])
            for line in range(axis, 6):
                own[line * (line + 1) // 2 + axis] += entries[line]


@subroutine
def oppose(model, ws, h):
    """
    Add the medium's forces to ws.force, the forces that keep all joint accelerations at zero.

    ws.twist: body velocities at the start of a step of h seconds; if h is 0, the current ones.
    """
    for row in range(model.medium_body.shape[0]):
        body = model.medium_body[row]
        R = load_m(ws.pose, body, ROTATION)
        c = point_from_origin(model, ws, body, model.medium[row])
        w, v = load_spatial(ws.twist, body)
        base = model.root[body]
        if ws.kind[base] >= FREE and ws.kind[base] != KINEMATIC:
            # the origin's acceleration exceeds the spatial acceleration by w x v
            w_O, v_O = load_spatial(ws.velocity, base)
            turn = cross(w_O, v_O)
            v = add(v, scale(h, turn))
        n, f = opposition(model, ws, model.medium[row], R, c, w, v, ws.drift, body)
        add_spatial(ws.force, body, n, f)


@subroutine
def oppose_reactions(model, ws):
    """Add the medium's forces to the joint forces ws.force (parent on child), about O."""
    for row in range(model.medium_body.shape[0]):
        body = model.medium_body[row]
        R = load_m(ws.pose, body, ROTATION)
        c = point_from_origin(model, ws, body, model.medium[row])
        w, v = load_spatial(ws.velocity, body)
        n, f = opposition(model, ws, model.medium[row], R, c, w, v, ws.acceleration, body)
        while body >= 0:
            add_spatial(ws.force, body, n, f)
            body = model.parent[body]


@kernel
def opposition(model, ws, medium, R, c, w, v, acceleration, body):
    """
    Return the torque about O and the force for moving a link against the medium.

    w, v: velocity causing drag. acceleration: (nb, 6) spatial accelerations, less gravity.
    """
    g, turning = load_v(model.gravity, 0), load3(ws.velocity, body, ANGULAR)
    # classical acceleration of the mass centre: add w x v to the spatial one; add gravity, which
    # the bodies' rows leave out
    moving = add(load3(ws.velocity, body, LINEAR), cross(turning, c))
    dv = add(add(load3(acceleration, body, LINEAR), g), cross(turning, moving))
    n, f = push_for(medium, ADDED, R, c, load3(acceleration, body, ANGULAR), dv)
    n_drag, f_drag = push_for(medium, DRAG, R, c, w, v)
    weight = scale(medium[LIFTED], g)
    f = add(add(f, f_drag), weight)
    return add(add(n, n_drag), cross(c, weight)), f


@kernel
def push_for(medium, at, R, c, w, v):
    """Return (torque about O, force) of the two inertias in columns from `at` on, for (w, v)."""
    v_c = add(v, cross(w, c))
    f = _mul_rotated(medium, at, R, v_c)
    n = _mul_rotated(medium, at + 6, R, w)
    if at == ADDED and medium[IS_COUPLED] != 0.0:
        f = add(f, coupled(medium, R, w, False))
        n = add(n, coupled(medium, R, v_c, True))
    return add(n, cross(c, f)), f


@kernel
def coupled(medium, R, x, is_transposed):
    """Return R S Rᵀ x, or R Sᵀ Rᵀ x, for the matrix S in the columns from COUPLING on."""
    S = load_v(medium, COUPLING), load_v(medium, COUPLING + 3), load_v(medium, COUPLING + 6)
    y = mul_tv(R, x)
    return mul_mv(R, mul_tv(S, y) if is_transposed else mul_mv(S, y))


@kernel
def _mul_rotated(medium, at, R, x):
    """Return R S Rᵀ x for the symmetric matrix S in six columns from `at` on."""
    y = mul_tv(R, x)
    return mul_mv(
        R,
        (
            medium[at] * y[0] + medium[at + 1] * y[1] + medium[at + 2] * y[2],
            medium[at + 1] * y[0] + medium[at + 3] * y[1] + medium[at + 4] * y[2],
            medium[at + 2] * y[0] + medium[at + 4] * y[1] + medium[at + 5] * y[2],
        ),
    )


@kernel
def point_from_origin(model, ws, body, medium):
    """Return a link's centre of mass relative to its tree's O [m], world axes."""
    p_OB = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
    return add(p_OB, mul_mv(load_m(ws.pose, body, ROTATION), load_v(medium, POINT)))
