"""
Block Gauss-Seidel sweeps over an island's contacts.

Each contact's law is solved exactly while the other contacts' impulses are fixed (non-smooth
contact dynamics, Jean 1999; exact local solutions and disk projection as in Pinocchio's solver).
The method is matrix-free: impulses act on the whitened velocity z.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.cone import clamp, per_bound, project_disk, solve_cone
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import Block, Bound, Row
from sim_bridge.engine.math.vec3 import load_v, store_v, sub, ZERO


@subroutine
def sweep(laws, islands, rows, solution, island):
    """Sweep once over an island's contacts; return the greatest velocity change [m/s]."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        greatest = max(greatest, update_contact(laws, rows, solution, islands.order[place]))
    return greatest


@kernel
def update_contact(laws, rows, solution, contact):
    """Solve all contact rows; return the greatest velocity change [m/s]."""
    if rows.block[contact, Block.NN] == 0.0:
        return 0.0
    if laws.rows[contact] == 1:
        return update_normal(laws, rows, solution, contact)
    change = update_friction(laws, rows, solution, contact)
    if laws.rows[contact] > 3:
        change = max(change, update_turning(laws, rows, solution, contact))
    return change


@subroutine
def sweep_friction(laws, islands, rows, solution, island):
    """
    Sweep once over an island's friction rows at fixed normal impulses.

    Returns the greatest velocity change [m/s].
    """
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        greatest = max(greatest, update_sliding(laws, rows, solution, islands.order[place]))
    return greatest


@kernel
def update_sliding(laws, rows, solution, contact):
    """
    Solve a contact's friction rows at its current normal impulse.

    Returns the greatest velocity change [m/s].
    """
    if rows.block[contact, Block.NN] == 0.0 or laws.rows[contact] == 1:
        return 0.0
    change = update_tangent(laws, rows, solution, contact)
    if laws.rows[contact] > 3:
        change = max(change, update_turning(laws, rows, solution, contact))
    return change


@kernel
def linear_velocities(laws, rows, solution, contact):
    """Return a contact's NORMAL, TANGENT and TANGENT2 velocities."""
    return velocities(
        rows,
        rows.linear,
        contact,
        solution.bias[contact],
        laws.softness[contact],
        solution.impulse[contact],
        Row.NORMAL,
        solution.z,
    )


@kernel
def angular_velocities(laws, rows, solution, contact):
    """Return a contact's SPIN, ROLL and ROLL2 velocities."""
    return velocities(
        rows,
        rows.angular,
        contact,
        solution.bias[contact],
        laws.softness[contact],
        solution.impulse[contact],
        Row.SPIN,
        solution.z,
    )


@kernel
def velocities(rows, values, contact, bias, softness, impulse, at, z):
    """Return three contact row velocities, starting at row `at`."""
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
def push(laws, rows, contact, linear, angular, z_inout):
    """Add impulses on all contact rows to the whitened velocity."""
    push_linear(rows, contact, linear, z_inout)
    if laws.rows[contact] > 3:
        push_angular(rows, contact, angular, z_inout)


@kernel
def push_linear(rows, contact, impulse, z_inout):
    """Add impulses on a contact's NORMAL, TANGENT and TANGENT2 rows to the whitened velocity."""
    push_rows(rows, rows.linear, contact, impulse, z_inout)


@kernel
def push_angular(rows, contact, impulse, z_inout):
    """Add impulses on a contact's SPIN, ROLL and ROLL2 rows to the whitened velocity."""
    push_rows(rows, rows.angular, contact, impulse, z_inout)


@kernel
def push_rows(rows, values, contact, impulse, z_inout):
    """Add impulses on three contact rows to the whitened velocity."""
    n, t, s = impulse
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        z_inout[rows.support[entry]] += (
            n * values[0, entry] + t * values[1, entry] + s * values[2, entry]
        )


@kernel
def update_normal(laws, rows, solution, contact):
    """Solve a frictionless contact."""
    impulse, first, end = solution.impulse[contact], rows.first[contact], rows.first[contact + 1]
    a_nn, old = rows.block[contact, Block.NN], impulse[Row.NORMAL]
    u = solution.bias[contact, Row.NORMAL] + laws.softness[contact, Row.NORMAL] * old
    for entry in range(first, end):
        u += rows.linear[Row.NORMAL, entry] * solution.z[rows.support[entry]]
    new = max(old - u / a_nn, 0.0)
    change = new - old
    if change == 0.0:
        return 0.0
    impulse[Row.NORMAL] = new
    for entry in range(first, end):
        solution.z[rows.support[entry]] += change * rows.linear[Row.NORMAL, entry]
    return abs(change) * a_nn


@kernel
def update_friction(laws, rows, solution, contact):
    """Solve a contact's normal and friction impulses together."""
    block, inverse, impulse = rows.block[contact], rows.inverse[contact], solution.impulse[contact]
    radius = laws.radius[contact]
    u, old = linear_velocities(laws, rows, solution, contact), load_v(impulse, Row.NORMAL)
    q = sub(u, mul_block(block, old))
    if laws.model[contact] == material.CONE:
        # most contacts keep sticking
        new = sub(old, mul_block(inverse, u))
        bound = radius[Bound.TANGENT] * new[0]
        if not (
            q[0] < 0.0
            and inverse[Block.NN] > 0.0
            and new[0] >= 0.0
            and new[1] * new[1] + new[2] * new[2] <= bound * bound
        ):
            new = solve_cone(
                load_v(block, Block.NN) + load_v(block, Block.N2),
                q,
                radius[Bound.TANGENT],
                (old[1], old[2]),
            )
    else:
        n, t, s = old
        n = max(-(q[0] + block[Block.N1] * t + block[Block.N2] * s) / block[Block.NN], 0.0)
        model = laws.model[contact]
        if block[Block.D11] > 0.0:
            t = clamp(
                -(q[1] + block[Block.N1] * n + block[Block.D12] * s) / block[Block.D11],
                radius[Bound.TANGENT] * per_bound(model, 0, n),
            )
        if block[Block.D22] > 0.0:
            s = clamp(
                -(q[2] + block[Block.N2] * n + block[Block.D12] * t) / block[Block.D22],
                radius[Bound.TANGENT2] * per_bound(model, 1, n),
            )
        new = (n, t, s)
    change = sub(new, old)
    if change == ZERO:
        return 0.0
    store_v(impulse, Row.NORMAL, new)
    push_linear(rows, contact, change, solution.z)
    return max(
        abs(change[0]) * block[Block.NN],
        max(abs(change[1]) * block[Block.D11], abs(change[2]) * block[Block.D22]),
    )


@kernel
def mul_block(block, x):
    """Multiply a symmetric matrix, columns NN … D22 of Rows.block, by a vector."""
    return (
        block[Block.NN] * x[0] + block[Block.N1] * x[1] + block[Block.N2] * x[2],
        block[Block.N1] * x[0] + block[Block.D11] * x[1] + block[Block.D12] * x[2],
        block[Block.N2] * x[0] + block[Block.D12] * x[1] + block[Block.D22] * x[2],
    )


@kernel
def update_tangent(laws, rows, solution, contact):
    """Solve a contact's friction at its current normal impulse by a projected step."""
    block, impulse, radius = rows.block[contact], solution.impulse[contact], laws.radius[contact]
    _, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
    t, s = impulse[Row.TANGENT], impulse[Row.TANGENT2]
    stiff = max(block[Block.D11], block[Block.D22])
    if stiff == 0.0:
        return 0.0
    if laws.model[contact] == material.CONE:
        x_1, x_2 = project_disk(
            t - u_1 / stiff, s - u_2 / stiff, radius[Bound.TANGENT] * impulse[Row.NORMAL]
        )
    else:
        model, normal = laws.model[contact], impulse[Row.NORMAL]
        x_1 = clamp(t - u_1 / stiff, radius[Bound.TANGENT] * per_bound(model, 0, normal))
        x_2 = clamp(s - u_2 / stiff, radius[Bound.TANGENT2] * per_bound(model, 1, normal))
    t, s = x_1 - t, x_2 - s
    if t == 0.0 and s == 0.0:
        return 0.0
    impulse[Row.TANGENT], impulse[Row.TANGENT2] = x_1, x_2
    push_linear(rows, contact, (0.0, t, s), solution.z)
    return max(abs(t), abs(s)) * stiff


@kernel
def update_turning(laws, rows, solution, contact):
    """Solve a contact's spinning and rolling friction at its current normal impulse."""
    block, impulse, radius = rows.block[contact], solution.impulse[contact], laws.radius[contact]
    u, old = angular_velocities(laws, rows, solution, contact), load_v(impulse, Row.SPIN)
    normal = impulse[Row.NORMAL]
    n, t, s = ZERO
    if block[Block.SPIN] > 0.0:
        n = clamp(old[0] - u[0] / block[Block.SPIN], radius[Bound.SPIN] * normal)
    stiff = max(block[Block.ROLL], block[Block.ROLL2])
    if stiff > 0.0:
        t, s = project_disk(
            old[1] - u[1] / stiff, old[2] - u[2] / stiff, radius[Bound.ROLL] * normal
        )
    change = sub((n, t, s), old)
    if change == ZERO:
        return 0.0
    store_v(impulse, Row.SPIN, (n, t, s))
    push_angular(rows, contact, change, solution.z)
    return max(abs(change[0]) * block[Block.SPIN], max(abs(change[1]), abs(change[2])) * stiff)
