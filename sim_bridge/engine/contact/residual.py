"""
Residuals of the contact laws.

The natural map of each law is λ - P(λ - u / a) with the projection P on the admissible impulses,
times the row's inverse inertia a. It is 0 for a solution, else a velocity error.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.budget import accepted_residual
from sim_bridge.engine.contact.cone import clamp, per_bound, project_disk
from sim_bridge.engine.contact.gauss_seidel import angular_velocities, linear_velocities
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import Block, Bound, EXCESS, NATURAL, Row


@subroutine
def island_residual(laws, islands, rows, solution, island):
    """Return the greatest natural-map residual [m/s] and complementarity |λ_n u_n| [J]."""
    natural, complementarity = 0.0, 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        block, impulse = rows.block[contact], solution.impulse[contact]
        if block[Block.NN] == 0.0:
            continue
        u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
        normal = abs(impulse[Row.NORMAL] - max(impulse[Row.NORMAL] - u_n / block[Block.NN], 0.0))
        natural = max(natural, block[Block.NN] * normal)
        complementarity = max(complementarity, abs(impulse[Row.NORMAL] * u_n))
        if laws.rows[contact] > 1:
            natural = max(
                natural,
                friction_residual(
                    block, laws.model[contact], laws.radius[contact], impulse, u_1, u_2
                ),
            )
        if laws.rows[contact] > 3:
            u_n, u_1, u_2 = angular_velocities(laws, rows, solution, contact)
            natural = max(
                natural, turning_residual(block, laws.radius[contact], impulse, u_n, u_1, u_2)
            )
    return natural, complementarity


@kernel
def note_residual(options, state, islands, rows, solution, has_elements, island, natural, change):
    """
    Update the world's greatest residual, and the greatest one relative to the accepted one.

    change: as for `accepted_residual`.
    """
    residual = solution.residual
    accepted = accepted_residual(options, state, islands, rows, has_elements, island, change)
    residual[NATURAL] = max(residual[NATURAL], natural)
    residual[EXCESS] = max(residual[EXCESS], natural / accepted)


@kernel
def friction_residual(block, model, radius, impulse, u_1, u_2):
    """Return a contact's friction residual [m/s]."""
    t, s = impulse[Row.TANGENT], impulse[Row.TANGENT2]
    a_1, a_2 = block[Block.D11], block[Block.D22]
    if model == material.CONE:
        stiff = max(a_1, a_2)
        return disk_residual(t, s, u_1, u_2, stiff, radius[Bound.TANGENT] * impulse[Row.NORMAL])
    first, second, normal = 0.0, 0.0, impulse[Row.NORMAL]
    if a_1 > 0.0:
        bound = radius[Bound.TANGENT] * per_bound(model, 0, normal)
        first = a_1 * abs(t - clamp(t - u_1 / a_1, bound))
    if a_2 > 0.0:
        bound = radius[Bound.TANGENT2] * per_bound(model, 1, normal)
        second = a_2 * abs(s - clamp(s - u_2 / a_2, bound))
    return max(first, second)


@kernel
def turning_residual(block, radius, impulse, u_n, u_1, u_2):
    """Return a contact's spinning and rolling friction residual [rad/s]."""
    spin = 0.0
    if block[Block.SPIN] > 0.0:
        x = clamp(
            impulse[Row.SPIN] - u_n / block[Block.SPIN], radius[Bound.SPIN] * impulse[Row.NORMAL]
        )
        spin = block[Block.SPIN] * abs(impulse[Row.SPIN] - x)
    stiff = max(block[Block.ROLL], block[Block.ROLL2])
    return max(
        spin,
        disk_residual(
            impulse[Row.ROLL],
            impulse[Row.ROLL2],
            u_1,
            u_2,
            stiff,
            radius[Bound.ROLL] * impulse[Row.NORMAL],
        ),
    )


@kernel
def disk_residual(t, s, u_1, u_2, stiff, bound):
    """Return the residual for two rows with a disk bound."""
    if stiff == 0.0:
        return 0.0
    x, y = project_disk(t - u_1 / stiff, s - u_2 / stiff, bound)
    return stiff * math.sqrt((t - x) * (t - x) + (s - y) * (s - y))
