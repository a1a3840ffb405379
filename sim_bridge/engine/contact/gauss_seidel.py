"""
Block Gauss-Seidel sweeps over the contacts of an island.

Each contact's law is solved exactly while the impulses of the others are fixed (non-smooth contact
dynamics, Jean 1999; exact local solutions and disk projection as in Pinocchio's solver).
Matrix-free: the impulses act on the whitened velocity z.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.cone import clamp, per_bound, project_disk, solve_cone
from sim_bridge.engine.data.contact_problem import (
    D11,
    D12,
    D22,
    N1,
    N2,
    NN,
    NORMAL,
    ROLL,
    ROLL2,
    ROLL2_ROLL2,
    ROLL_BOUND,
    ROLL_ROLL,
    SPIN,
    SPIN_BOUND,
    SPIN_SPIN,
    TANGENT,
    TANGENT2,
    TANGENT2_BOUND,
    TANGENT_BOUND,
)
from sim_bridge.engine.data.surfaces import CONE


@subroutine
def sweep(laws, islands, rows, solution, island):
    """Sweep once over an island's contacts; return the greatest velocity change [m/s]."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if rows.block[contact, NN] == 0.0:
            continue
        if laws.rows[contact] == 1:
            change = update_normal(laws, rows, solution, contact)
        else:
            change = update_friction(laws, rows, solution, contact)
            if laws.rows[contact] > 3:
                change = max(change, update_turning(laws, rows, solution, contact))
        greatest = max(greatest, change)
    return greatest


@subroutine
def sweep_friction(laws, islands, rows, solution, island):
    """Sweep once over an island's friction with fixed normal impulses; as `sweep`."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if rows.block[contact, NN] == 0.0 or laws.rows[contact] == 1:
            continue
        greatest = max(greatest, update_tangent(laws, rows, solution, contact))
        if laws.rows[contact] > 3:
            greatest = max(greatest, update_turning(laws, rows, solution, contact))
    return greatest


@kernel
def linear_velocities(laws, rows, solution, contact):
    """Return the velocities of a contact's rows NORMAL, TANGENT and TANGENT2."""
    return velocities(rows, rows.linear, contact, solution.bias[contact], laws.softness[contact],
                      solution.impulse[contact], NORMAL, solution.z)


@kernel
def angular_velocities(laws, rows, solution, contact):
    """Return the velocities of a contact's rows SPIN, ROLL and ROLL2."""
    return velocities(rows, rows.angular, contact, solution.bias[contact], laws.softness[contact],
                      solution.impulse[contact], SPIN, solution.z)


@kernel
def velocities(rows, values, contact, bias, softness, impulse, at, z):
    """Return the velocities of three rows of a contact, starting at number `at`."""
    u0 = bias[at] + softness[at] * impulse[at]
    u1 = bias[at + 1] + softness[at + 1] * impulse[at + 1]
    u2 = bias[at + 2] + softness[at + 2] * impulse[at + 2]
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        x = z[rows.support[entry]]
        u0 += values[0, entry] * x
        u1 += values[1, entry] * x
        u2 += values[2, entry] * x
    return u0, u1, u2


@kernel
def push_linear(rows, contact, n, t, s, z_inout):
    """Add impulses of a contact's rows NORMAL, TANGENT and TANGENT2 to the whitened velocity."""
    push_rows(rows, rows.linear, contact, n, t, s, z_inout)


@kernel
def push_angular(rows, contact, n, t, s, z_inout):
    """Add impulses of a contact's rows SPIN, ROLL and ROLL2 to the whitened velocity."""
    push_rows(rows, rows.angular, contact, n, t, s, z_inout)


@kernel
def push_rows(rows, values, contact, n, t, s, z_inout):
    """Add impulses of three rows of a contact to the whitened velocity."""
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        z_inout[rows.support[entry]] += (
            n * values[0, entry] + t * values[1, entry] + s * values[2, entry])


@kernel
def update_normal(laws, rows, solution, contact):
    """Solve a frictionless contact."""
    impulse, first, end = solution.impulse[contact], rows.first[contact], rows.first[contact + 1]
    a_nn, old = rows.block[contact, NN], impulse[NORMAL]
    u = solution.bias[contact, NORMAL] + laws.softness[contact, NORMAL] * old
    for entry in range(first, end):
        u += rows.linear[NORMAL, entry] * solution.z[rows.support[entry]]
    new = max(old - u / a_nn, 0.0)
    change = new - old
    if change == 0.0:
        return 0.0
    impulse[NORMAL] = new
    for entry in range(first, end):
        solution.z[rows.support[entry]] += change * rows.linear[NORMAL, entry]
    return abs(change) * a_nn


@kernel
def update_friction(laws, rows, solution, contact):
    """Solve a contact's normal and friction impulses together."""
    block, inverse, impulse = rows.block[contact], rows.inverse[contact], solution.impulse[contact]
    radius = laws.radius[contact]
    u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
    a_nn, a_n1, a_11 = block[NN], block[N1], block[D11]
    a_n2, a_12, a_22 = block[N2], block[D12], block[D22]
    n, t, s = impulse[NORMAL], impulse[TANGENT], impulse[TANGENT2]
    q_n = u_n - (a_nn * n + a_n1 * t + a_n2 * s)
    q_1 = u_1 - (a_n1 * n + a_11 * t + a_12 * s)
    q_2 = u_2 - (a_n2 * n + a_12 * t + a_22 * s)
    if laws.model[contact] == CONE:
        # most contacts stick as they did
        x_n = n - (inverse[NN] * u_n + inverse[N1] * u_1 + inverse[N2] * u_2)
        x_1 = t - (inverse[N1] * u_n + inverse[D11] * u_1 + inverse[D12] * u_2)
        x_2 = s - (inverse[N2] * u_n + inverse[D12] * u_1 + inverse[D22] * u_2)
        bound = radius[TANGENT_BOUND] * x_n
        if not (q_n < 0.0 and inverse[NN] > 0.0 and x_n >= 0.0
                and x_1 * x_1 + x_2 * x_2 <= bound * bound):
            x_n, x_1, x_2 = solve_cone((a_nn, a_n1, a_11, a_n2, a_12, a_22), (q_n, q_1, q_2),
                                       radius[TANGENT_BOUND], (t, s))
    else:
        x_n = max(-(q_n + a_n1 * t + a_n2 * s) / a_nn, 0.0)
        bound = per_bound(laws.model[contact], x_n)
        x_1, x_2 = t, s
        if a_11 > 0.0:
            x_1 = clamp(-(q_1 + a_n1 * x_n + a_12 * s) / a_11, radius[TANGENT_BOUND] * bound)
        if a_22 > 0.0:
            x_2 = clamp(-(q_2 + a_n2 * x_n + a_12 * x_1) / a_22, radius[TANGENT2_BOUND] * bound)
    n, t, s = x_n - n, x_1 - t, x_2 - s
    if n == 0.0 and t == 0.0 and s == 0.0:
        return 0.0
    impulse[NORMAL], impulse[TANGENT], impulse[TANGENT2] = x_n, x_1, x_2
    push_linear(rows, contact, n, t, s, solution.z)
    return max(abs(n) * a_nn, max(abs(t) * a_11, abs(s) * a_22))


@kernel
def update_tangent(laws, rows, solution, contact):
    """Solve a contact's friction for its present normal impulse by a projected step."""
    block, impulse, radius = rows.block[contact], solution.impulse[contact], laws.radius[contact]
    _, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
    t, s = impulse[TANGENT], impulse[TANGENT2]
    stiff = max(block[D11], block[D22])
    if stiff == 0.0:
        return 0.0
    if laws.model[contact] == CONE:
        x_1, x_2 = project_disk(t - u_1 / stiff, s - u_2 / stiff,
                                radius[TANGENT_BOUND] * impulse[NORMAL])
    else:
        bound = per_bound(laws.model[contact], impulse[NORMAL])
        x_1 = clamp(t - u_1 / stiff, radius[TANGENT_BOUND] * bound)
        x_2 = clamp(s - u_2 / stiff, radius[TANGENT2_BOUND] * bound)
    t, s = x_1 - t, x_2 - s
    if t == 0.0 and s == 0.0:
        return 0.0
    impulse[TANGENT], impulse[TANGENT2] = x_1, x_2
    push_linear(rows, contact, 0.0, t, s, solution.z)
    return max(abs(t), abs(s)) * stiff


@kernel
def update_turning(laws, rows, solution, contact):
    """Solve a contact's spinning and rolling friction for its present normal impulse."""
    block, impulse, radius = rows.block[contact], solution.impulse[contact], laws.radius[contact]
    u_n, u_1, u_2 = angular_velocities(laws, rows, solution, contact)
    normal = impulse[NORMAL]
    x_n, x_1, x_2 = 0.0, 0.0, 0.0
    if block[SPIN_SPIN] > 0.0:
        x_n = clamp(impulse[SPIN] - u_n / block[SPIN_SPIN], radius[SPIN_BOUND] * normal)
    stiff = max(block[ROLL_ROLL], block[ROLL2_ROLL2])
    if stiff > 0.0:
        x_1, x_2 = project_disk(impulse[ROLL] - u_1 / stiff, impulse[ROLL2] - u_2 / stiff,
                                radius[ROLL_BOUND] * normal)
    n, t, s = x_n - impulse[SPIN], x_1 - impulse[ROLL], x_2 - impulse[ROLL2]
    if n == 0.0 and t == 0.0 and s == 0.0:
        return 0.0
    impulse[SPIN], impulse[ROLL], impulse[ROLL2] = x_n, x_1, x_2
    push_angular(rows, contact, n, t, s, solution.z)
    return max(abs(n) * block[SPIN_SPIN], max(abs(t), abs(s)) * stiff)
