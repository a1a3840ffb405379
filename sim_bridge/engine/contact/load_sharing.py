"""
Load sharing among redundant contacts.

The four corners of a box can share its weight in many ways, and can push against each other with
any friction: many impulses cause the same motion. The impulses with the least norm are reported.
They are the projection on the rows' range, λ = W y with Wᵀ W y = Wᵀ λ, found by conjugate
gradients (with as many iterations as the bodies have degrees of freedom). Only contacts well
within their cones take part. They move towards the projection as far as their cones allow.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import push_linear
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import Block, Bound, NO_LAW, Row
from sim_bridge.engine.math.vec3 import add, load3, load_v, scale, store_v, sub, ZERO

_ITERATIONS = 60
_ENOUGH = 1e-28  # squared relative residual that ends the conjugate gradients
_GOOD = 1e-24  # greatest squared relative residual of an accepted result
_STICKS = 1.0 - 1e-9  # cone share; within it a contact does not slide


@subroutine
def share_load(laws, islands, rows, solution, direct, island):
    """Replace an island's impulses by equivalent ones with the least norm, if there are any."""
    size, redundancy = list_coordinates(laws, islands, rows, solution, direct.coordinate, island)
    if redundancy <= 0:
        return
    y, r, p, product = direct.search[0], direct.search[1], direct.search[2], direct.search[3]
    for k in range(size):
        at = direct.coordinate[k]
        y[at], r[at] = 0.0, 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(laws, rows, solution, contact):
            push_linear(rows, contact, load3(solution.impulse, contact, Row.NORMAL), r)
    square = 0.0
    for k in range(size):
        at = direct.coordinate[k]
        p[at] = r[at]
        square += r[at] * r[at]
    start = square
    for _ in range(_ITERATIONS):
        if square <= _ENOUGH * start:
            break
        for k in range(size):
            product[direct.coordinate[k]] = 0.0
        multiply(laws, islands, rows, solution, island, p, product)
        curvature = 0.0
        for k in range(size):
            at = direct.coordinate[k]
            curvature += p[at] * product[at]
        if not curvature > 0.0:
            break
        length, before = square / curvature, square
        square = 0.0
        for k in range(size):
            at = direct.coordinate[k]
            y[at] += length * p[at]
            r[at] -= length * product[at]
            square += r[at] * r[at]
        for k in range(size):
            at = direct.coordinate[k]
            p[at] = r[at] + square / before * p[at]
    if square <= _GOOD * start:
        move_towards(laws, islands, rows, solution, island, y)


@kernel
def list_coordinates(laws, islands, rows, solution, coordinate_out, island):
    """List the participating rows' coordinates; return their number, and the row excess."""
    size, count = 0, 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(laws, rows, solution, contact):
            count += laws.rows[contact]
            for entry in range(rows.first[contact], rows.first[contact + 1]):
                at = rows.support[entry]
                if rows.place[at] < 0:
                    rows.place[at] = size
                    coordinate_out[size] = at
                    size += 1
    for k in range(size):
        rows.place[coordinate_out[k]] = -1
    return size, count - size


@kernel
def takes_part(laws, rows, solution, contact):
    """Return whether a contact presses without sliding, on rigid rows."""
    impulse, softness = solution.impulse[contact], laws.softness[contact]
    n, t, s = load_v(impulse, Row.NORMAL)
    if laws.law[contact] == NO_LAW or laws.rows[contact] == 0:
        return False
    if rows.block[contact, Block.NN] == 0.0 or n <= 0.0:
        return False
    if laws.rows[contact] == 1:
        return softness[Row.NORMAL] == 0.0
    if laws.rows[contact] > 3 or laws.model[contact] != material.CONE:
        return False
    bound = _STICKS * laws.radius[contact, Bound.TANGENT] * n
    return load_v(softness, Row.NORMAL) == ZERO and t * t + s * s < bound * bound


@kernel
def row_products(laws, rows, contact, x):
    """Multiply a contact's linear rows by x."""
    n, t, s = 0.0, 0.0, 0.0
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        value = x[rows.support[entry]]
        n += rows.linear[0, entry] * value
        t += rows.linear[1, entry] * value
        s += rows.linear[2, entry] * value
    return (n, t, s) if laws.rows[contact] > 1 else (n, 0.0, 0.0)


@kernel
def multiply(laws, islands, rows, solution, island, x, product_inout):
    """Add Wᵀ W x, summed over the participating contacts."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(laws, rows, solution, contact):
            push_linear(rows, contact, row_products(laws, rows, contact, x), product_inout)


@kernel
def move_towards(laws, islands, rows, solution, island, y):
    """Move the impulses towards W y, as far as all contacts stay in their cones."""
    share = 1.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(laws, rows, solution, contact):
            share = min(
                share,
                reach(
                    load3(solution.impulse, contact, Row.NORMAL),
                    row_products(laws, rows, contact, y),
                    _STICKS * laws.radius[contact, Bound.TANGENT],
                ),
            )
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if takes_part(laws, rows, solution, contact):
            impulse = solution.impulse[contact]
            store_v(
                impulse,
                Row.NORMAL,
                part_way(load_v(impulse, Row.NORMAL), row_products(laws, rows, contact, y), share),
            )


@kernel
def reach(impulse, other, mu):
    """Return the admissible share, 0 to 1, of the way to another impulse, by halving."""
    share = 1.0
    for _ in range(6):
        n, t, s = part_way(impulse, other, share)
        if n > 0.0 and math.sqrt(t * t + s * s) <= mu * n:
            return share
        share *= 0.5
    return 0.0


@kernel
def part_way(impulse, other, share):
    """Return the impulse at a share of the way to another one."""
    return add(impulse, scale(share, sub(other, impulse)))
