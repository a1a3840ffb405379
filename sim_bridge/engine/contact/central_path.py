"""
Primal-dual interior point method for an island's contacts with Coulomb friction.

Newton's method on the natural maps guesses which contacts press and slide; in jams and impacts
these guesses may not settle. Here every contact presses and moves a little. With the normal
velocity u_n and its slack s, the sliding speed ψ, the friction coefficient mu and a small κ,

    u_n = s,   λ_n s = κ,   mu λ_n ψ + λ_t · u_t = κ,   mu λ_n u_t + ψ λ_t = 0

The last two equations are the complementarity of (mu λ_n, λ_t) and (ψ, u_t) in Lorentz cones. At
κ = 0 they are Coulomb's law, without a convex approximation (Howell, Le Cleac'h, Kolter, Schwager
and Manchester 2022). The solutions for decreasing κ form the central path. A step linearizes all
laws as P du + Q dλ = r, as in `velocity_newton`, and factors the matrix once for two right-hand
sides: the first predicts the change to κ = 0, the second is towards a κ chosen by the length of
this change, and corrected by the predicted changes' products (Mehrotra 1992).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.budget import sweep_work
from sim_bridge.engine.contact.gauss_seidel import linear_velocities, push
from sim_bridge.engine.contact.newton import is_bounded_element
from sim_bridge.engine.contact.proximal import go_back, keep_impulses
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.velocity_newton import (
    add_linear_rows,
    eliminate_impulses,
    factor_general,
    store_linearization,
    substitute,
)
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import (
    Block,
    Bound,
    COMPLIANCE_ROW,
    IN_ORDER,
    OnPath,
    ORDER_WORK,
    Row,
    TREE_WORK,
)
from sim_bridge.engine.math.vec3 import load_v, scale, store_v, ZERO

_MOST_STEPS = 30
_START = 1e-2  # first impulses and velocities, relative to the island's velocity without contacts
_INSIDE = 0.9  # share of the friction bound at the start
_TO_BOUNDARY = 0.98  # share of the way to the boundary taken in a step
_SHORT, _CENTERING = 0.1, 0.8  # shorter steps are replaced by one towards this share of κ
_MOST_SHORT = 2  # short steps in a row that end the path
_SWEEPS = 3  # work of a step's passes over the contacts, in sweeps


@subroutine
def follow_path(laws, islands, rows, solution, direct, island, tolerance, allowed):
    """
    Follow the central path to a natural-map residual of `tolerance`; return the step count.

    allowed: work on the island in this time step, beyond which no step begins. The coordinates
    must be in order. The impulses with the least residual remain.
    """
    best, _ = island_residual(laws, islands, rows, solution, island)
    keep_impulses(islands, solution, island, direct.before)
    is_whole, steps, shorts = True, 0, 0
    start_path(laws, islands, rows, solution, direct, island, best)
    work = path_work(islands, rows, direct, island)
    while steps < _MOST_STEPS and best > tolerance and islands.spent[island] + work <= allowed:
        islands.spent[island] += work
        steps += 1
        kappa = mean_product(laws, islands, rows, solution, direct, island, 0.0)
        length = take_path_step(laws, islands, rows, solution, direct, island, kappa)
        shorts = shorts + 1 if length < _SHORT else 0
        if not length > 0.0 or shorts == _MOST_SHORT:
            break
        left, _ = island_residual(laws, islands, rows, solution, island)
        is_whole = left < best
        if is_whole:
            best = left
            keep_impulses(islands, solution, island, direct.before)
    if not is_whole or steps == 0 or shorts > 0:
        go_back(laws, islands, rows, solution, direct.before, island)
    return steps


@kernel
def path_work(islands, rows, direct, island):
    """Return the multiplications in one step on the path."""
    return direct.size[ORDER_WORK] + _SWEEPS * sweep_work(islands, rows, island)


@kernel
def has_path(laws, islands, rows, direct, island):
    """Return whether all rows are normals or obey Coulomb's law, and the matrix has room."""
    if direct.size[ORDER_WORK] < 0 or direct.size[TREE_WORK] >= 0:
        return False
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if laws.rows[contact] > 3 or is_bounded_element(laws, contact):
            return False
        if laws.rows[contact] == 3 and laws.model[contact] != material.CONE:
            return False
    return True


@kernel
def can_press(rows, contact):
    """Return whether a contact has inverse inertia along its normal."""
    return rows.block[contact, Block.NN] > 0.0


@kernel
def has_friction(laws, rows, contact):
    """Return whether a contact has friction."""
    block = rows.block[contact]
    return (
        laws.rows[contact] == 3
        and laws.radius[contact, Bound.TANGENT] > 0.0
        and max(block[Block.D11], block[Block.D22]) > 0.0
    )


@subroutine
def start_path(laws, islands, rows, solution, direct, island, natural):
    """
    Move impulses, slacks and sliding speeds inside their cones.

    natural: present residual [m/s]; impulses far from the solution begin far inside.
    """
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for row in range(laws.rows[contact]):
            greatest = max(greatest, abs(solution.bias[contact, row]))
    least = max(_START * greatest, natural)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not can_press(rows, contact):
            continue
        impulse = solution.impulse[contact]
        n = least / rows.block[contact, Block.NN]
        t, s = -impulse[Row.TANGENT], -impulse[Row.TANGENT2]
        if has_friction(laws, rows, contact):
            size = math.sqrt(t * t + s * s)
            bound = laws.radius[contact, Bound.TANGENT] * (impulse[Row.NORMAL] + n)
            share = max(1.0 - _INSIDE * bound / size, 0.0) if size > 0.0 else 0.0
            t, s = share * t, share * s
        push(laws, rows, contact, (n, t, s), ZERO, solution.z)
        impulse[Row.NORMAL] += n
        impulse[Row.TANGENT] += t
        impulse[Row.TANGENT2] += s
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
        direct.path[contact, OnPath.SLACK] = max(u_n, least)
        direct.path[contact, OnPath.SPEED] = math.sqrt(u_1 * u_1 + u_2 * u_2 + least * least)


@subroutine
def mean_product(laws, islands, rows, solution, direct, island, length):
    """
    Return the mean product impulse times velocity over all cones, κ [m²/s²].

    Products are weighted by the contacts' inverse inertia. length: share of the stored changes
    that is added first.
    """
    total, cones = 0.0, 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not can_press(rows, contact):
            continue
        at, impulse = direct.path[contact], solution.impulse[contact]
        own = rows.block[contact, Block.NN]
        n = impulse[Row.NORMAL] + length * at[OnPath.NORMAL]
        total += own * n * (at[OnPath.SLACK] + length * at[OnPath.SLACK_CHANGE])
        cones += 1
        if has_friction(laws, rows, contact):
            _, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
            t = impulse[Row.TANGENT] + length * at[OnPath.TANGENT]
            s = impulse[Row.TANGENT2] + length * at[OnPath.TANGENT2]
            u_1 += length * at[OnPath.VELOCITY]
            u_2 += length * at[OnPath.VELOCITY2]
            speed = at[OnPath.SPEED] + length * at[OnPath.SPEED_CHANGE]
            total += own * (laws.radius[contact, Bound.TANGENT] * n * speed + t * u_1 + s * u_2)
            cones += 1
    return total / max(cones, 1)


@subroutine
def take_path_step(laws, islands, rows, solution, direct, island, kappa):
    """Take a predicted and corrected step; return its length, 0 for a singular matrix."""
    count = direct.size[IN_ORDER]
    for line in range(count):
        direct.diagonal[line], direct.search[line] = 1.0, 0.0
        for entry in range(direct.start[line] + direct.first[line], direct.start[line] + line):
            direct.lower[entry] = direct.upper[entry] = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if can_press(rows, contact):
            if not linearize_path(laws, rows, solution, direct, contact, 0.0, 0.0):
                return 0.0
            add_linear_rows(rows, direct, contact, False)
    if not factor_general(count, direct):
        return 0.0
    predicted = find_path_changes(laws, islands, rows, solution, direct, island, 0.0, 0.0)
    ahead = mean_product(laws, islands, rows, solution, direct, island, min(predicted, 1.0))
    share = min(max(ahead / kappa, 0.0), 1.0)
    aim = share * share * share * kappa
    add_right_sides(laws, islands, rows, solution, direct, island, aim, 1.0)
    length = find_path_changes(laws, islands, rows, solution, direct, island, aim, 1.0)
    if _TO_BOUNDARY * length < _SHORT:
        aim = _CENTERING * kappa
        add_right_sides(laws, islands, rows, solution, direct, island, aim, 0.0)
        length = find_path_changes(laws, islands, rows, solution, direct, island, aim, 0.0)
    length = min(_TO_BOUNDARY * length, 1.0)
    if not math.isfinite(length):
        return 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if can_press(rows, contact):
            at, impulse = direct.path[contact], solution.impulse[contact]
            change = scale(length, load_v(at, OnPath.NORMAL))
            push(laws, rows, contact, change, ZERO, solution.z)
            impulse[Row.NORMAL] += change[0]
            impulse[Row.TANGENT] += change[1]
            impulse[Row.TANGENT2] += change[2]
            at[OnPath.SLACK] += length * at[OnPath.SLACK_CHANGE]
            at[OnPath.SPEED] += length * at[OnPath.SPEED_CHANGE]
    return length


@subroutine
def linearize_path(laws, rows, solution, direct, contact, aim, corrected):
    """
    Store a contact's linearized laws; return False if they are singular.

    aim: κ [m²/s²]. corrected: 1 to subtract the products of the stored changes, else 0.
    """
    local, at, impulse = direct.local, direct.path[contact], solution.impulse[contact]
    softness = laws.softness[contact]
    u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
    for i in range(3):
        for j in range(7):
            local[i, j] = 0.0
    energy, n, slack = aim / rows.block[contact, Block.NN], impulse[Row.NORMAL], at[OnPath.SLACK]
    local[0, 0] = n * softness[Row.NORMAL] + slack
    local[0, 3] = n
    missing = energy - n * u_n
    local[0, 6] = missing - corrected * at[OnPath.NORMAL] * at[OnPath.SLACK_CHANGE]
    local[1, 1] = local[2, 2] = 1.0
    if has_friction(laws, rows, contact):
        mu, t, s = (
            laws.radius[contact, Bound.TANGENT],
            impulse[Row.TANGENT],
            impulse[Row.TANGENT2],
        )
        speed, bound = at[OnPath.SPEED], mu * n
        product = speed_product(laws, solution, direct, contact, u_1, u_2, energy, corrected)
        dn, dt, ds = load_v(at, OnPath.NORMAL)
        speed_change = corrected * at[OnPath.SPEED_CHANGE]
        d1, d2 = corrected * at[OnPath.VELOCITY], corrected * at[OnPath.VELOCITY2]
        p11, p12, p22 = bound - t * t / bound, -t * s / bound, bound - s * s / bound
        local[1, 0] = mu * u_1 - speed / n * t
        local[2, 0] = mu * u_2 - speed / n * s
        local[1, 1] = speed - t * u_1 / bound + p11 * softness[Row.TANGENT]
        local[1, 2] = p12 * softness[Row.TANGENT2] - t * u_2 / bound
        local[2, 1] = p12 * softness[Row.TANGENT] - s * u_1 / bound
        local[2, 2] = speed - s * u_2 / bound + p22 * softness[Row.TANGENT2]
        local[1, 4], local[1, 5], local[2, 4], local[2, 5] = p11, p12, p12, p22
        local[1, 6] = -bound * u_1 - speed * t - mu * dn * d1 - speed_change * dt
        local[2, 6] = -bound * u_2 - speed * s - mu * dn * d2 - speed_change * ds
        local[1, 6] -= t * product / bound
        local[2, 6] -= s * product / bound
    if not eliminate_impulses(3, local):
        return False
    store_linearization(direct, contact, 3)
    return True


@kernel
def speed_product(laws, solution, direct, contact, u_1, u_2, energy, corrected):
    """Return the error in mu λ_n ψ + λ_t · u_t = κ, with the correction."""
    at, impulse, mu = (
        direct.path[contact],
        solution.impulse[contact],
        laws.radius[contact, Bound.TANGENT],
    )
    now = mu * impulse[Row.NORMAL] * at[OnPath.SPEED]
    now += impulse[Row.TANGENT] * u_1 + impulse[Row.TANGENT2] * u_2
    then = mu * at[OnPath.NORMAL] * at[OnPath.SPEED_CHANGE]
    then += at[OnPath.TANGENT] * at[OnPath.VELOCITY] + at[OnPath.TANGENT2] * at[OnPath.VELOCITY2]
    return energy - now - corrected * then


@subroutine
def add_right_sides(laws, islands, rows, solution, direct, island, aim, corrected):
    """Compute the right-hand side in direct.search; aim, corrected: as in `linearize_path`."""
    for line in range(direct.size[IN_ORDER]):
        direct.search[line] = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if can_press(rows, contact):
            linearize_path(laws, rows, solution, direct, contact, aim, corrected)
            own = direct.linearized[contact]
            n, t, s = own[3], own[COMPLIANCE_ROW + 3], own[2 * COMPLIANCE_ROW + 3]
            for entry in range(rows.first[contact], rows.first[contact + 1]):
                direct.search[direct.place[rows.support[entry]]] += (
                    n * rows.linear[0, entry]
                    + t * rows.linear[1, entry]
                    + s * rows.linear[2, entry]
                )


@subroutine
def find_path_changes(laws, islands, rows, solution, direct, island, aim, corrected):
    """
    Solve for the changes in impulses, slacks and speeds; return the way to the boundary.

    aim, corrected: as in `linearize_path`.
    """
    substitute(direct.size[IN_ORDER], False, direct, direct.search)
    longest = math.inf
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if not can_press(rows, contact):
            continue
        own, at, impulse = (
            direct.linearized[contact],
            direct.path[contact],
            solution.impulse[contact],
        )
        softness = laws.softness[contact]
        g0, g1, g2 = 0.0, 0.0, 0.0
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            x = direct.search[direct.place[rows.support[entry]]]
            g0 += rows.linear[0, entry] * x
            g1 += rows.linear[1, entry] * x
            g2 += rows.linear[2, entry] * x
        dn = own[3] - own[0] * g0 - own[1] * g1 - own[2] * g2
        dt = own[10] - own[7] * g0 - own[8] * g1 - own[9] * g2
        ds = own[17] - own[14] * g0 - own[15] * g1 - own[16] * g2
        d0, d1, d2 = (
            g0 + softness[Row.NORMAL] * dn,
            g1 + softness[Row.TANGENT] * dt,
            g2 + softness[Row.TANGENT2] * ds,
        )
        u_n, u_1, u_2 = linear_velocities(laws, rows, solution, contact)
        n, slack, speed_change = impulse[Row.NORMAL], at[OnPath.SLACK], 0.0
        slack_change = d0 + u_n - slack
        longest = min(longest, min(way_to_zero(n, dn), way_to_zero(slack, slack_change)))
        if has_friction(laws, rows, contact):
            mu, t, s = (
                laws.radius[contact, Bound.TANGENT],
                impulse[Row.TANGENT],
                impulse[Row.TANGENT2],
            )
            energy, speed = aim / rows.block[contact, Block.NN], at[OnPath.SPEED]
            product = speed_product(laws, solution, direct, contact, u_1, u_2, energy, corrected)
            speed_change = product - mu * speed * dn - t * d1 - s * d2 - u_1 * dt - u_2 * ds
            speed_change /= mu * n
            longest = min(
                longest,
                min(
                    way_to_cone((mu * n, t, s), (mu * dn, dt, ds)),
                    way_to_cone((speed, u_1, u_2), (speed_change, d1, d2)),
                ),
            )
        store_v(at, OnPath.NORMAL, (dn, dt, ds))
        at[OnPath.VELOCITY], at[OnPath.VELOCITY2] = d1, d2
        at[OnPath.SLACK_CHANGE], at[OnPath.SPEED_CHANGE] = slack_change, speed_change
    return longest


@kernel
def way_to_zero(value, change):
    """Return the multiple of a change that makes a positive value 0; infinity if none does."""
    return -value / change if change < 0.0 else math.inf


@kernel
def way_to_cone(x, d):
    """Return the multiple of d that takes x from inside a Lorentz cone to its surface."""
    a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2]
    b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    c = max(x[0] * x[0] - x[1] * x[1] - x[2] * x[2], 0.0)
    # least positive root of a w² + 2 b w + c
    inside = b * b - a * c
    if inside < 0.0 or b >= 0.0 and a >= 0.0:
        return math.inf
    root = math.sqrt(inside)
    return c / (root - b) if b < 0.0 else (b + root) / -a
