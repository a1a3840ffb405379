"""
Block Gauss-Seidel sweeps over the contacts of an island.

Each contact's law is solved exactly while the others' impulses stay (non-smooth contact dynamics,
Jean 1999; exact local solutions and disk projection as in Pinocchio's solver). Matrix-free: the
impulses act on the whitened velocity z.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.cone import clamp, per_bound, project_disk, solve_cone
from sim_bridge.engine.data.contact_problem import (
    D11,
    D12,
    D22,
    N1,
    N2,
    NN,
    ROLL2_ROLL2,
    ROLL_ROLL,
    SPIN_SPIN,
)
from sim_bridge.engine.data.surfaces import CONE


@subroutine
def sweep(laws, islands, rows, solution, island):
    """Go once over an island's contacts; give the greatest change in terms of velocity [m/s]."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, impulse = rows.block[contact], solution.impulse[contact]
        if block[NN] == 0.0:
            continue
        first, end = rows.first[contact], rows.first[contact + 1]
        bias, softness = solution.bias[contact], laws.softness[contact]
        if laws.rows[contact] == 1:
            change = update_normal(rows.support, rows.linear, first, end, block, bias, softness,
                                   impulse, solution.z)
        else:
            change = update_friction(
                rows.support, rows.linear, first, end, block, rows.inverse[contact], bias,
                softness, laws.model[contact], laws.radius[contact], impulse, solution.z)
            if laws.rows[contact] > 3:
                change = max(change, update_turning(
                    rows.support, rows.angular, first, end, block, bias, softness,
                    laws.radius[contact], impulse, solution.z))
        greatest = max(greatest, change)
    return greatest


@subroutine
def sweep_friction(laws, islands, rows, solution, island):
    """Go once over an island's friction, with its normal impulses as they are; as `sweep`."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, impulse = rows.block[contact], solution.impulse[contact]
        if block[NN] == 0.0 or laws.rows[contact] == 1:
            continue
        first, end = rows.first[contact], rows.first[contact + 1]
        bias, softness = solution.bias[contact], laws.softness[contact]
        greatest = max(greatest, update_tangent(
            rows.support, rows.linear, first, end, block, bias, softness,
            laws.model[contact], laws.radius[contact], impulse, solution.z))
        if laws.rows[contact] > 3:
            greatest = max(greatest, update_turning(
                rows.support, rows.angular, first, end, block, bias, softness,
                laws.radius[contact], impulse, solution.z))
    return greatest


@kernel
def velocities(support, values, first, end, bias, softness, impulse, at, z):
    """Return the velocities of three rows of a contact, the first of them number `at`."""
    u0 = bias[at] + softness[at] * impulse[at]
    u1 = bias[at + 1] + softness[at + 1] * impulse[at + 1]
    u2 = bias[at + 2] + softness[at + 2] * impulse[at + 2]
    for entry in range(first, end):
        x = z[support[entry]]
        u0 += values[0, entry] * x
        u1 += values[1, entry] * x
        u2 += values[2, entry] * x
    return u0, u1, u2


@kernel
def push_rows(support, values, first, end, n, t, s, z_inout):
    """Add three rows' impulses to the whitened velocity."""
    for entry in range(first, end):
        z_inout[support[entry]] += (
            n * values[0, entry] + t * values[1, entry] + s * values[2, entry])


@kernel
def update_normal(support, linear, first, end, block, bias, softness, impulse_inout, z_inout):
    """Solve a contact without friction."""
    old = impulse_inout[0]
    u = bias[0] + softness[0] * old
    for entry in range(first, end):
        u += linear[0, entry] * z_inout[support[entry]]
    new = max(old - u / block[NN], 0.0)
    change = new - old
    if change == 0.0:
        return 0.0
    impulse_inout[0] = new
    for entry in range(first, end):
        z_inout[support[entry]] += change * linear[0, entry]
    return abs(change) * block[NN]


@kernel
def update_friction(
    support, linear, first, end, block, inverse, bias, softness, model, radius,
    impulse_inout, z_inout,
):
    """Solve a contact's normal and friction together."""
    u_n, u_1, u_2 = velocities(support, linear, first, end, bias, softness, impulse_inout, 0,
                               z_inout)
    a_nn, a_n1, a_11 = block[NN], block[N1], block[D11]
    a_n2, a_12, a_22 = block[N2], block[D12], block[D22]
    n, t, s = impulse_inout[0], impulse_inout[1], impulse_inout[2]
    q_n = u_n - (a_nn * n + a_n1 * t + a_n2 * s)
    q_1 = u_1 - (a_n1 * n + a_11 * t + a_12 * s)
    q_2 = u_2 - (a_n2 * n + a_12 * t + a_22 * s)
    if model == CONE:
        # most contacts stick as they did
        x_n = n - (inverse[NN] * u_n + inverse[N1] * u_1 + inverse[N2] * u_2)
        x_1 = t - (inverse[N1] * u_n + inverse[D11] * u_1 + inverse[D12] * u_2)
        x_2 = s - (inverse[N2] * u_n + inverse[D12] * u_1 + inverse[D22] * u_2)
        bound = radius[0] * x_n
        if not (q_n < 0.0 and inverse[NN] > 0.0 and x_n >= 0.0
                and x_1 * x_1 + x_2 * x_2 <= bound * bound):
            x_n, x_1, x_2 = solve_cone(a_nn, a_n1, a_11, a_n2, a_12, a_22, q_n, q_1, q_2,
                                       radius[0], t, s)
    else:
        x_n = max(-(q_n + a_n1 * t + a_n2 * s) / a_nn, 0.0)
        bound = per_bound(model, x_n)
        x_1, x_2 = t, s
        if a_11 > 0.0:
            x_1 = clamp(-(q_1 + a_n1 * x_n + a_12 * s) / a_11, radius[0] * bound)
        if a_22 > 0.0:
            x_2 = clamp(-(q_2 + a_n2 * x_n + a_12 * x_1) / a_22, radius[1] * bound)
    n, t, s = x_n - n, x_1 - t, x_2 - s
    if n == 0.0 and t == 0.0 and s == 0.0:
        return 0.0
    impulse_inout[0], impulse_inout[1], impulse_inout[2] = x_n, x_1, x_2
    push_rows(support, linear, first, end, n, t, s, z_inout)
    return max(abs(n) * a_nn, max(abs(t) * a_11, abs(s) * a_22))


@kernel
def update_tangent(
    support, linear, first, end, block, bias, softness, model, radius, impulse_inout, z_inout,
):
    """Solve a contact's friction for its present normal impulse, by a projected step."""
    _, u_1, u_2 = velocities(support, linear, first, end, bias, softness, impulse_inout, 0,
                             z_inout)
    t, s = impulse_inout[1], impulse_inout[2]
    stiff = max(block[D11], block[D22])
    if stiff == 0.0:
        return 0.0
    if model == CONE:
        x_1, x_2 = project_disk(t - u_1 / stiff, s - u_2 / stiff, radius[0] * impulse_inout[0])
    else:
        bound = per_bound(model, impulse_inout[0])
        x_1 = clamp(t - u_1 / stiff, radius[0] * bound)
        x_2 = clamp(s - u_2 / stiff, radius[1] * bound)
    t, s = x_1 - t, x_2 - s
    if t == 0.0 and s == 0.0:
        return 0.0
    impulse_inout[1], impulse_inout[2] = x_1, x_2
    push_rows(support, linear, first, end, 0.0, t, s, z_inout)
    return max(abs(t), abs(s)) * stiff


@kernel
def update_turning(
    support, angular, first, end, block, bias, softness, radius, impulse_inout, z_inout,
):
    """Solve a contact's spinning and rolling friction for its present normal impulse."""
    u_n, u_1, u_2 = velocities(support, angular, first, end, bias, softness, impulse_inout, 3,
                               z_inout)
    normal = impulse_inout[0]
    x_n, x_1, x_2 = 0.0, 0.0, 0.0
    if block[SPIN_SPIN] > 0.0:
        x_n = clamp(impulse_inout[3] - u_n / block[SPIN_SPIN], radius[3] * normal)
    stiff = max(block[ROLL_ROLL], block[ROLL2_ROLL2])
    if stiff > 0.0:
        x_1, x_2 = project_disk(impulse_inout[4] - u_1 / stiff, impulse_inout[5] - u_2 / stiff,
                                radius[2] * normal)
    n, t, s = x_n - impulse_inout[3], x_1 - impulse_inout[4], x_2 - impulse_inout[5]
    if n == 0.0 and t == 0.0 and s == 0.0:
        return 0.0
    impulse_inout[3], impulse_inout[4], impulse_inout[5] = x_n, x_1, x_2
    push_rows(support, angular, first, end, n, t, s, z_inout)
    return max(abs(n) * block[SPIN_SPIN], max(abs(t), abs(s)) * stiff)
