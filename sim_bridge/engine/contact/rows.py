"""Whitened contact rows, computed from the trees' factors."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.mimic_rows import respect_bonds
from sim_bridge.engine.contact.prepare import directions
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Block, Row
from sim_bridge.engine.data.inertia import INVERSE
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.dynamics.whitening import is_free, pass_joint, pass_root
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, store3, sub, ZERO

_SINGULAR = 1e-9  # no inversion below this determinant, relative to the uncoupled one
_LEAST_MOBILITY = 1e-9  # [1/kg] smaller mobilities are checked for rounding
_ROUNDING = 1e-24  # a squared row is rounding up to this share of its squared terms


@kernel
def build_rows(model, ws, geometry, contacts, laws, bonds, rows):
    """
    Build the rows for all pushing contacts, and each contact's own Delassus matrix.

    bonds: orthonormal whitened rows from other constraints on joints and bodies.
    """
    end = 0
    for contact in range(contacts.size[COUNT]):
        rows.first[contact] = end
        if laws.rows[contact] == 0:
            continue
        turns = laws.rows[contact] > 3
        # no coordinate occurs twice
        is_plain = (
            not turns
            and bonds.shape[0] == 0
            and not is_within_tree(model, geometry, contacts, contact)
        )
        reach = 1.0
        for side in range(2):
            body = geometry.body[contacts.geometry[contact, side]]
            if body >= 0:
                sign = 1.0 - 2.0 * side
                p = sub(
                    load3(contacts.point, contact, 0), load3(ws.pose, model.root[body], ORIGIN)
                )
                reach = max(reach, 1.0 + dot(p, p))
                n, t, s = directions(laws, contact)
                f0, f1, f2 = scale(sign, n), scale(sign, t), scale(sign, s)
                if turns:
                    add_side(
                        model,
                        ws,
                        body,
                        (f0, f1, f2),
                        (ZERO, ZERO, ZERO),
                        end,
                        is_plain,
                        rows,
                        rows.angular,
                        rows.linear,
                    )
                end = add_side(
                    model,
                    ws,
                    body,
                    (cross(p, f0), cross(p, f1), cross(p, f2)),
                    (f0, f1, f2),
                    end,
                    is_plain,
                    rows,
                    rows.linear,
                    rows.angular,
                )
        if bonds.shape[0] > 0:
            end = respect_bonds(bonds, rows, rows.first[contact], end)
        if not is_plain:
            for entry in range(rows.first[contact], end):
                rows.place[rows.support[entry]] = -1
        fill_block(
            rows.first[contact],
            end,
            rows.linear,
            rows.angular,
            turns,
            laws.softness[contact],
            rows.block[contact],
        )
        if 0.0 < rows.block[contact, Block.NN] < _LEAST_MOBILITY:
            drop_rounding(rows, contact, end, reach)
        invert_block(rows.block[contact], rows.inverse[contact])
    rows.first[contacts.size[COUNT]] = end


@kernel
def is_within_tree(model, geometry, contacts, contact):
    """Return whether a contact's bodies belong to one tree."""
    a = geometry.body[contacts.geometry[contact, 0]]
    b = geometry.body[contacts.geometry[contact, 1]]
    return a >= 0 and b >= 0 and model.root[a] == model.root[b]


@subroutine
def drop_rounding(rows, contact, end, reach):
    """
    Clear an immobile contact's normal row if its mobility is only rounding.

    Below this contact are locked joints, and free joints whose axis the normal meets, as on a
    roller: the row is then a remainder after cancellation. reach: 1 + the squared distance from
    the tree's origin [m²]; unit-force terms grow with it.
    """
    terms = 0.0
    for entry in range(rows.first[contact], end):
        at = rows.support[entry]
        # compliant joint rows have no joint whose whitening could leave rounding
        if at < rows.whitening.shape[0]:
            terms += rows.whitening[at] * rows.whitening[at]
    if rows.block[contact, Block.NN] <= _ROUNDING * reach * terms:
        for entry in range(rows.first[contact], end):
            rows.linear[Row.NORMAL, entry] = 0.0
        rows.block[contact, Block.NN] = 0.0
        rows.block[contact, Block.N1] = 0.0
        rows.block[contact, Block.N2] = 0.0


@subroutine
def add_side(model, ws, body, torques, forces, end, is_plain, rows, values_inout, others_inout):
    """
    Add the effect of three wrenches on a body to three rows; return the next free entry.

    The wrenches propagate from the body to its tree's root, see `whitening`. others_inout: the
    contact's other three rows, set to zero at every new entry. is_plain: the contact has only
    three rows, and no coordinate occurs twice.
    """
    n0, n1, n2 = torques
    f0, f1, f2 = forces
    whitening, column = rows.whitening, rows.column
    while body >= 0:
        joint = ws.kind[body]
        at = model.v_index[body]
        if has_axis(joint):
            if ws.joint_factor[body, INVERSE] != 0.0:
                w0, n0, f0 = pass_joint(ws, body, n0, f0)
                w1, n1, f1 = pass_joint(ws, body, n1, f1)
                w2, n2, f2 = pass_joint(ws, body, n2, f2)
                end = add_entry(
                    rows,
                    values_inout,
                    others_inout,
                    is_plain,
                    at,
                    end,
                    scale(whitening[at], (w0, w1, w2)),
                )
        elif is_free(joint):
            for k in range(3):
                store3(column, k, 0, (n0[k], n1[k], n2[k]))
                store3(column, 3 + k, 0, (f0[k], f1[k], f2[k]))
            pass_root(ws.articulated[body], 3, column)
            for i in range(6):
                end = add_entry(
                    rows,
                    values_inout,
                    others_inout,
                    is_plain,
                    at + i,
                    end,
                    scale(whitening[at + i], load3(column, i, 0)),
                )
        body = carrier(model.parent, ws.kind, body)
    return end


@kernel
def add_entry(rows, values_inout, others_inout, is_plain, at, end, values):
    """Add three values at a coordinate, in a new entry if needed; return the next free entry."""
    if is_plain:
        rows.support[end] = at
        for k in range(3):
            values_inout[k, end] = values[k]
        return end + 1
    entry = rows.place[at]
    if entry < 0:
        entry = end
        rows.place[at] = entry
        rows.support[entry] = at
        for k in range(3):
            values_inout[k, entry] = values[k]
            others_inout[k, entry] = 0.0
        return end + 1
    for k in range(3):
        values_inout[k, entry] += values[k]
    return max(end, entry + 1)


@kernel
def fill_block(first, end, linear, angular, turns, softness, block_out):
    """Compute the contact's own Delassus matrix."""
    for k in range(9):
        block_out[k] = 0.0
    for entry in range(first, end):
        n, t, s = linear[0, entry], linear[1, entry], linear[2, entry]
        block_out[Block.NN] += n * n
        block_out[Block.N1] += n * t
        block_out[Block.D11] += t * t
        block_out[Block.N2] += n * s
        block_out[Block.D12] += t * s
        block_out[Block.D22] += s * s
    block_out[Block.NN] += softness[Row.NORMAL]
    block_out[Block.D11] += softness[Row.TANGENT]
    block_out[Block.D22] += softness[Row.TANGENT2]
    if turns:
        for entry in range(first, end):
            n, t, s = angular[0, entry], angular[1, entry], angular[2, entry]
            block_out[Block.SPIN] += n * n
            block_out[Block.ROLL] += t * t
            block_out[Block.ROLL2] += s * s


@kernel
def invert_block(block, inverse_out):
    """Invert the linear rows' matrix by cofactors; write zeros if it is nearly singular."""
    a, b, c = block[Block.NN], block[Block.N1], block[Block.N2]
    d, e, f = block[Block.D11], block[Block.D12], block[Block.D22]
    c0, c1, c2 = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * c0 + b * c1 + c * c2
    scaling = 1.0 / determinant if determinant > _SINGULAR * a * d * f else 0.0
    inverse_out[Block.NN] = scaling * c0
    inverse_out[Block.N1], inverse_out[Block.D11] = scaling * c1, scaling * (a * f - c * c)
    inverse_out[Block.N2], inverse_out[Block.D12] = scaling * c2, scaling * (b * c - a * e)
    inverse_out[Block.D22] = scaling * (a * d - b * b)


@kernel
def value_of(rows, entry, row):
    """Return one whitened row entry."""
    return rows.linear[row, entry] if row < Row.SPIN else rows.angular[row - Row.SPIN, entry]


@kernel
def diagonal_of(row):
    """Return the Rows.block column with a row's own inverse inertia."""
    return row * (row + 3) // 2 if row < Row.SPIN else row + 3
