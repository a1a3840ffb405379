"""
Dynamics matrices from composite inertias.

Sources: Featherstone (2008), section 6.2, for the mass matrix; Echeandia and Wensing (2021),
"Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems";
Singh, Russo and Wensing (2022), "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra". Quantities are in world axes, for the velocity coordinates of `model`.

With a body's matrix B = (v x* I - I v x + (I v) x-*) / 2, I a + v x* I v equals I a + B v.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import MOMENT, mul_rigid, XX, XY, XZ, YY, YZ, ZZ
from sim_bridge.engine.data.model import ARMATURE, FREE
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.math.mat3 import load_m, mul_mv, mul_tv
from sim_bridge.engine.math.spatial import cross_force, cross_motion, load_spatial, store_spatial
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    load3,
    load_v,
    scale,
    store3,
    unit_vector,
    ZERO,
)

# columns in Coordinates.composite_rate
_MATRIX, _MOMENT_RATE = 0, 9


@kernel
def set_axes(model, ws, coordinates):
    """Write all coordinate axes from the bodies' axes."""
    for body in range(model.parent.shape[0]):
        set_axis(model, ws, coordinates, body)


@kernel
def set_axis(model, ws, coordinates, body):
    """Write the axes for a body's own coordinates."""
    at = model.v_index[body]
    if model.kind[body] >= FREE:
        for k in range(3):
            store_spatial(coordinates.axis, at + k, ZERO, unit_vector(k))
            store_spatial(coordinates.axis, at + 3 + k, unit_vector(k), ZERO)
    elif has_axis(model.kind[body]):
        s, t = load_spatial(ws.axis, body)
        store_spatial(coordinates.axis, at, s, t)


@kernel
def set_axis_rates(model, ws, coordinates):
    """Write the axes' rates and shifts from ws.velocity."""
    for i in range(coordinates.above.shape[0]):
        child, holder = coordinates.moved[i], coordinates.holder[i]
        s, t = load_spatial(coordinates.axis, i)
        w, v = load_spatial(ws.velocity, child)
        rate_w, rate_v = ZERO, ZERO
        shift_w, shift_v = cross_motion(w, v, s, t)
        if model.kind[child] >= FREE:
            # a free joint's axes are the world axes through its origin
            rate_v = cross(v, s)
            if is_translation(model, child, i):
                shift_w, shift_v = ZERO, ZERO
        elif holder >= 0:
            w, v = load_spatial(ws.velocity, holder)
            rate_w, rate_v = cross_motion(w, v, s, t)
        store_spatial(coordinates.axis_rate, i, rate_w, rate_v)
        store_spatial(coordinates.shift, i, shift_w, shift_v)


@kernel
def set_shift_rates(model, ws, coordinates):
    """Write the shift rates from ws.velocity and ws.acceleration; the latter includes gravity."""
    for i in range(coordinates.above.shape[0]):
        child = coordinates.moved[i]
        if is_translation(model, child, i):
            store_spatial(coordinates.shift_rate, i, ZERO, ZERO)
            continue
        s, t = load_spatial(coordinates.axis, i)
        dw, dv = load_spatial(ws.acceleration, child)
        w, v = load_spatial(ws.velocity, child)
        shift_w, shift_v = load_spatial(coordinates.shift, i)
        a, b = cross_motion(dw, dv, s, t)
        c, d = cross_motion(w, v, shift_w, shift_v)
        store_spatial(coordinates.shift_rate, i, add(a, c), add(b, d))


@kernel
def store_rate(ws, body, rate_out):
    """
    Write M and ḣ, the parts of a body's inertia rate and B, from ws.rigid and ws.velocity.

    By blocks, B is (M, 0; -ḣ x, 0), and the inertia rate about O is (M + Mᵀ, ḣ x; -ḣ x, 0).
    rate_out: (nb, 12) M by rows, then ḣ.
    """
    i = ws.rigid[body]
    h = load_v(i, MOMENT)
    w, v = load_spatial(ws.velocity, body)
    n, dh = mul_rigid(ws.rigid, body, w, v)
    # w x I_O by rows
    a = cross(w, (i[XX], i[XY], i[XZ]))
    b = cross(w, (i[XY], i[YY], i[YZ]))
    c = cross(w, (i[XZ], i[YZ], i[ZZ]))
    vh = dot(v, h)
    out = rate_out[body]
    out[0] = a[0] + vh - v[0] * h[0]
    out[4] = b[1] + vh - v[1] * h[1]
    out[8] = c[2] + vh - v[2] * h[2]
    xy = 0.5 * (a[1] + b[0] - h[0] * v[1] - v[0] * h[1])
    xz = 0.5 * (a[2] + c[0] - h[0] * v[2] - v[0] * h[2])
    yz = 0.5 * (b[2] + c[1] - h[1] * v[2] - v[1] * h[2])
    out[1], out[2], out[5] = xy + 0.5 * n[2], xz - 0.5 * n[1], yz + 0.5 * n[0]
    out[3], out[6], out[7] = xy - 0.5 * n[2], xz + 0.5 * n[1], yz - 0.5 * n[0]
    store3(rate_out, body, _MOMENT_RATE, dh)


@kernel
def compose(model, width, rows_inout):
    """Add up the first `width` columns of the bodies' rows to composites, from leaves to roots."""
    for body in range(model.parent.shape[0] - 1, -1, -1):
        above = model.parent[body]
        if above >= 0:
            for k in range(width):
                rows_inout[above, k] += rows_inout[body, k]


@kernel
def moment_rate(rate, body):
    """Return the rate of the first mass moment."""
    return load3(rate, body, _MOMENT_RATE)


@kernel
def mul_b(rate, body, w, v):
    """Return B (w, v)."""
    return mul_mv(load_m(rate, body, _MATRIX), w), cross(w, moment_rate(rate, body))


@kernel
def mul_bt(rate, body, n, f):
    """Return the torque part of Bᵀ (n, f); the force part is zero."""
    return add(mul_tv(load_m(rate, body, _MATRIX), n), cross(moment_rate(rate, body), f))


@kernel
def mul_inertia_rate(rate, body, w, v):
    """Return the inertia rate times (w, v)."""
    m, dh = load_m(rate, body, _MATRIX), moment_rate(rate, body)
    return add(add(mul_mv(m, w), mul_tv(m, w)), cross(dh, v)), cross(w, dh)


@kernel
def fill_mass_matrix(model, ws, coordinates, matrix_out):
    """Write the mass matrix from composite inertias."""
    matrix_out[:, :] = 0.0
    for i in range(coordinates.above.shape[0]):
        s, t = load_spatial(coordinates.axis, i)
        n, f = mul_rigid(ws.rigid, coordinates.moved[i], s, t)
        j = i
        while j >= 0:
            s, t = load_spatial(coordinates.axis, j)
            value = dot(s, n) + dot(t, f)
            matrix_out[i, j] = value
            matrix_out[j, i] = value
            j = coordinates.above[j]
        matrix_out[i, i] += model.passive[i, ARMATURE]


@kernel
def fill_coriolis_matrix(ws, coordinates, matrix_out):
    """Write the Coriolis matrix C, with dM/dt - 2 C skew-symmetric, from composites."""
    rate = coordinates.composite_rate
    matrix_out[:, :] = 0.0
    for i in range(coordinates.above.shape[0]):
        child = coordinates.moved[i]
        s, t = load_spatial(coordinates.axis, i)
        rate_w, rate_v = load_spatial(coordinates.axis_rate, i)
        n, f = mul_rigid(ws.rigid, child, s, t)
        z = mul_bt(rate, child, s, t)
        column_n, column_f = mul_rigid(ws.rigid, child, rate_w, rate_v)
        more_n, more_f = mul_b(rate, child, s, t)
        column_n, column_f = add(column_n, more_n), add(column_f, more_f)
        j = i
        while j >= 0:
            s, t = load_spatial(coordinates.axis, j)
            rate_w, rate_v = load_spatial(coordinates.axis_rate, j)
            matrix_out[j, i] = dot(s, column_n) + dot(t, column_f)
            matrix_out[i, j] = dot(rate_w, n) + dot(rate_v, f) + dot(s, z)
            j = coordinates.above[j]


@kernel
def fill_derivatives(model, ws, coordinates, by_q_out, by_v_out):
    """
    Write the inverse-dynamics derivatives by positions and by velocities.

    Uses composites and ws.force, the joint forces. The columns for a free joint's translations are
    zero.
    """
    rate = coordinates.composite_rate
    by_q_out[:, :], by_v_out[:, :] = 0.0, 0.0
    for i in range(coordinates.above.shape[0]):
        child = coordinates.moved[i]
        s_i, t_i = load_spatial(coordinates.axis, i)
        shift_w, shift_v = load_spatial(coordinates.shift, i)
        n, f = mul_rigid(ws.rigid, child, s_i, t_i)
        z = mul_bt(rate, child, s_i, t_i)
        force_n, force_f = load_spatial(ws.force, child)

        # change in the force through coordinate i's joint, per unit coordinate i
        a, b = load_spatial(coordinates.shift_rate, i)
        q_n, q_f = mul_rigid(ws.rigid, child, a, b)
        a, b = mul_b(rate, child, shift_w, shift_v)
        q_n, q_f = add(q_n, scale(2.0, a)), add(q_f, scale(2.0, b))
        if not is_translation(model, child, i):
            a, b = cross_force(s_i, t_i, force_n, force_f)
            q_n, q_f = add(q_n, a), add(q_f, b)
        a, b = load_spatial(coordinates.axis_rate, i)
        v_n, v_f = mul_rigid(ws.rigid, child, add(a, shift_w), add(b, shift_v))
        a, b = mul_b(rate, child, s_i, t_i)
        v_n, v_f = add(v_n, scale(2.0, a)), add(v_f, scale(2.0, b))

        j = i
        while j >= 0:
            s, t = load_spatial(coordinates.axis, j)
            by_q_out[j, i] = dot(s, q_n) + dot(t, q_f)
            by_v_out[j, i] = dot(s, v_n) + dot(t, v_f)
            if j != i:
                # effect of coordinate j on effort i
                shift_w, shift_v = load_spatial(coordinates.shift, j)
                a, b = load_spatial(coordinates.shift_rate, j)
                by_q_out[i, j] = dot(a, n) + dot(b, f) + 2.0 * dot(shift_w, z)
                a, b = load_spatial(coordinates.axis_rate, j)
                by_v_out[i, j] = (
                    dot(add(a, shift_w), n) + dot(add(b, shift_v), f) + 2.0 * dot(s, z)
                )
                if coordinates.moved[j] == child and not is_translation(model, child, j):
                    # axis i does not turn with coordinate j of the same joint
                    a, b = cross_motion(s_i, t_i, s, t)
                    by_q_out[i, j] += dot(a, force_n) + dot(b, force_f)
            j = coordinates.above[j]


@kernel
def is_translation(model, child, coordinate):
    """Return whether a coordinate moves a free joint's child along a world axis."""
    return model.kind[child] >= FREE and coordinate - model.v_index[child] < 3
