"""
The rows as an orthonormal basis of what they lock, and the impulses that follow from it.

In whitened coordinates (`contact.problem`) the rows' Delassus matrix is W Wᵀ. With W = R Q, Q
orthonormal, their impulses solve R Rᵀ λ = -u by two triangular systems, and whatever else acts on
the trees is freed of what the rows would not let through by taking from it its part along Q. A row
that yields has a coordinate of its own, in which it alone is not zero: W Wᵀ + Σ is then again of
that form.

A planar four-bar whose five-row hinge closes it has three rows too many. Rows that depend on those
before them, nearly so because descriptions are rounded, have no part in Q. Many impulses then do
the same; the least are taken, in units that make the rows comparable, so that two hinges of a door
share its weight.
"""

from __future__ import annotations

import math

from sim_bridge.engine.articulated import has_axis
from sim_bridge.engine.contact.mimic_rows import add_effort
from sim_bridge.engine.contact.rows import add_side, whiten
from sim_bridge.engine.jit import kernel, subroutine
from sim_bridge.engine.loops.axes import axis_wrench, is_idle, set_axis_row
from sim_bridge.engine.loops.loops import ALONG, DOT, HARD, ROWS
from sim_bridge.engine.loops.rows import axis_of, frames_of, row_wrench
from sim_bridge.engine.state import LOCKED
from sim_bridge.engine.vec3 import cross, dot, load3, mul_tv, scale, sub

# size of what is left of a row, relative to its typical size, below which it depends on others
_DEPENDENT = 1e-4
# likewise of a motor's, or it would throw about what it cannot move, near a dead centre
_POWERLESS = 1e-2
# what is left of a force or torque, relative to what came together, that is but rounding
_ROUNDING = 1e-12
# what is left of a row once its parts along others are taken from it
_NOTHING_AT_FIRST, _NOTHING, _SOMETHING = range(3)
_AGAIN = 0.1  # share of a row below which what is left of it is made orthogonal once more


@subroutine
def build_basis(model, kind, pose, axis, hinge, articulated, loops, count, h, state, work):
    """Whiten the first so many rows, of the axes those that are needed; make them orthonormal."""
    nv, hard = work.whitening.shape[0], loops.size[HARD]
    whiten(kind, model.v_index, hinge, articulated, work.whitening)
    work.basis[:, :] = 0.0
    work.factor[:, :] = 0.0
    joint, end, forces, torques, least_force, least_torque = -1, 0, 0.0, 0.0, 0.0, 0.0
    zero = (0.0, 0.0, 0.0)
    R_A = R_B = (zero, zero, zero)
    p_A = p_B = zero
    for row in range(count):
        work.active[row] = 1
        number = row - loops.size[ROWS]
        if number >= 0:
            work.active[row], work.impulse[row], work.softness[row] = 0, 0.0, 0.0
            if work.mode[number] < LOCKED and is_idle(loops, state, work, number):
                continue
        own = loops.axis_joint[number] if number >= 0 else loops.joint[row]
        if own != joint and own >= 0:
            joint = own
            R_A, p_A, R_B, p_B = frames_of(pose, loops, joint)
            end, least_force, least_torque = whiten_joint(
                model, kind, pose, axis, hinge, articulated, loops, work, joint, R_A, p_B)
            forces = above(least_force, greatest_norm(work.linear, end))
            torques = above(least_torque, greatest_norm(work.angular, end))
        size = forces
        if number >= 0:
            torque, force = axis_wrench(loops, number, R_A, R_B)
            write_row(mul_tv(R_A, torque), mul_tv(R_A, force), row, work, end)
            least = least_force if loops.axis_kind[number, 0] == ALONG else least_torque
            size = above(least, norm(work.basis[row], 0, nv))
            set_axis_row(loops, h, number, size * size, work)
        elif own < 0:
            whiten_mimic(model, kind, axis, hinge, articulated, loops.axes[row, 0],
                         work.whitening, work.column, work.basis[row])
            size = norm(work.basis[row], 0, nv)
        else:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
            write_row(mul_tv(R_A, torque), mul_tv(R_A, force), row, work, end)
            size = torques if loops.kind[row] == DOT else forces
        work.scale[row] = 1.0 / size if size > 0.0 else 0.0
        if row >= hard:
            work.basis[row, nv + row - hard] = math.sqrt(work.softness[row])
    work.dependent[:] = 0
    for row in range(count):
        if work.active[row] == 0:
            leave_out(row, work)
        else:
            least = _DEPENDENT if row < loops.size[ROWS] else _POWERLESS
            left = make_orthonormal(
                row, work.scale[row], least, work.span, work.basis, work.factor)
            work.dependent[0] += left != _SOMETHING
            work.dependent[1] += left == _NOTHING
    if work.dependent[1] > 0:
        factor_gram(count, work.factor, work.gram)


@kernel
def leave_out(row, work):
    """Let a row have no part in the basis."""
    for at in range(work.basis.shape[1]):
        work.basis[row, at] = 0.0
    work.scale[row], work.factor[row, row] = 0.0, 0.0
    work.span[row, 0], work.span[row, 1] = 0, 0


@kernel
def whiten_mimic(model, kind, axis, hinge, articulated, row, whitening, column_inout, row_out):
    """Whiten a mimic joint's row: effort on it, and less the multiplier on the followed joint."""
    for body in range(kind.shape[0]):
        if not has_axis(kind[body]) or hinge[body, 7] == 0.0:
            continue
        effort = 0.0
        if model.v_index[body] == model.mimic[row, 0]:
            effort = 1.0
        elif model.v_index[body] == model.mimic[row, 1]:
            effort = -model.mimic_law[row, 0]
        if effort != 0.0:
            add_effort(model.parent, kind, model.v_index, axis, hinge, articulated, whitening,
                       body, effort, row_out, column_inout)


@subroutine
def whiten_joint(model, kind, pose, axis, hinge, articulated, loops, work, joint, R_A, p_B):
    """
    Whiten three forces at B's origin along A's axes and three torques, these if any row has some.

    Gives the end of their entries, and the sizes up to which a force and a torque are rounding.
    """
    zero = (0.0, 0.0, 0.0)
    end, force, torque = 0, 0.0, 0.0
    for side in range(2):
        body = loops.body[joint, side]
        if body < 0:
            continue
        sign = 2.0 * side - 1.0
        p = sub(p_B, load3(pose, model.root[body], 9))
        x, y, z = scale(sign, axis_of(R_A, 0)), scale(sign, axis_of(R_A, 1)), scale(
            sign, axis_of(R_A, 2))
        if loops.turns[joint] != 0:
            add_side(model.parent, kind, model.v_index, axis, hinge, articulated, work.whitening,
                     body, x, zero, y, zero, z, zero, end,
                     work.place, work.support, work.angular, work.linear, work.column)
        end = add_side(model.parent, kind, model.v_index, axis, hinge, articulated, work.whitening,
                       body, cross(p, x), x, cross(p, y), y, cross(p, z), z, end,
                       work.place, work.support, work.linear, work.angular, work.column)
        # of one side alone, too, which the other may have cancelled
        torque = max(torque, greatest_norm(work.angular, end))
        force = max(force, max(greatest_norm(work.linear, end), math.sqrt(dot(p, p)) * torque))
    for entry in range(end):
        work.place[work.support[entry]] = -1
    return end, _ROUNDING * force, _ROUNDING * torque


@kernel
def above(least, size):
    """Give a size, 0 where it is no more than the least."""
    return size if size > least else 0.0


@kernel
def write_row(torque, force, row, work, end):
    """Write a row of the present joint, of a torque and a force in A's axes."""
    for entry in range(end):
        work.basis[row, work.support[entry]] = (
            force[0] * work.linear[0, entry] + force[1] * work.linear[1, entry]
            + force[2] * work.linear[2, entry] + torque[0] * work.angular[0, entry]
            + torque[1] * work.angular[1, entry] + torque[2] * work.angular[2, entry])


@kernel
def product(a, b, first, end):
    """Give the scalar product of two stretches, by sums that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = first + (end - first) // 4 * 4
    for k in range(first, fours, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    for k in range(fours, end):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@kernel
def norm(vector, first, end):
    """Give the Euclidean norm of a stretch."""
    return math.sqrt(product(vector, vector, first, end))


@kernel
def greatest_norm(values, end):
    """Give the greatest norm of three rows."""
    return max(norm(values[0], 0, end), max(norm(values[1], 0, end), norm(values[2], 0, end)))


@subroutine
def make_orthonormal(row, scaling, least, span_inout, basis_inout, factor_out):
    """
    Take from a row its parts along those before it; tell what is left.

    Less than `least` is nothing; so is a row at first that nothing of the trees yields to, such as
    one across the plane of a planar loop.
    """
    vector = basis_inout[row]
    first, end = vector.shape[0], 0
    for at in range(vector.shape[0]):
        if vector[at] != 0.0:
            vector[at] *= scaling
            first, end = min(first, at), at + 1
    left = norm(vector, first, end)
    if left <= least:
        vector[first:end] = 0.0
        span_inout[row, 0], span_inout[row, 1] = 0, 0
        return _NOTHING_AT_FIRST
    for _ in range(2):
        before = left
        for other in range(row):
            if factor_out[other, other] == 0.0:
                continue
            low, high = span_inout[other, 0], span_inout[other, 1]
            if low >= end or high <= first:
                continue
            part = product(basis_inout[other], vector, max(low, first), min(high, end))
            if part == 0.0:
                continue
            factor_out[row, other] += part
            for at in range(low, high):
                vector[at] -= part * basis_inout[other, at]
            first, end = min(first, low), max(end, high)
        left = norm(vector, first, end)
        if left > _AGAIN * before or left <= least:
            break
    is_new = left > least
    scaling = 1.0 / left if is_new else 0.0
    for at in range(first, end):
        vector[at] *= scaling
    span_inout[row, 0], span_inout[row, 1] = (first, end) if is_new else (0, 0)
    factor_out[row, row] = left if is_new else 0.0
    return _SOMETHING if is_new else _NOTHING


@subroutine
def factor_gram(count, factor, gram_out):
    """Factor Rᵀ R, of the columns of independent rows, into L Lᵀ."""
    for i in range(count):
        for j in range(i + 1):
            total = 0.0
            if factor[i, i] != 0.0 and factor[j, j] != 0.0:
                for row in range(i, count):
                    total += factor[row, i] * factor[row, j]
                for k in range(j):
                    total -= gram_out[i, k] * gram_out[j, k]
            if i == j:
                gram_out[i, i] = math.sqrt(total) if total > 0.0 else 0.0
            else:
                gram_out[i, j] = total / gram_out[j, j] if gram_out[j, j] > 0.0 else 0.0


@subroutine
def find_impulses(count, is_fair, right, work, impulse_out):
    """
    Find impulses of the first so many rows that change their velocities by `right`.

    is_fair: the least of them, where rows depend on others; else those of independent rows alone.
    """
    factor = work.factor
    for i in range(count):
        impulse_out[i] = 0.0
        if factor[i, i] != 0.0:
            total = work.scale[i] * right[i]
            for k in range(i):
                total -= factor[i, k] * impulse_out[k]
            impulse_out[i] = total / factor[i, i]
    if is_fair and work.dependent[1] > 0:
        solve_gram(count, work.gram, impulse_out)
        for i in range(count - 1, -1, -1):
            total = 0.0
            for k in range(i + 1):
                total += factor[i, k] * impulse_out[k]
            impulse_out[i] = total
    else:
        for k in range(count - 1, -1, -1):
            if factor[k, k] != 0.0:
                impulse_out[k] /= factor[k, k]
                for i in range(k):
                    impulse_out[i] -= factor[k, i] * impulse_out[k]
    for i in range(count):
        impulse_out[i] *= work.scale[i]


@kernel
def solve_gram(count, gram, x_inout):
    """Solve L Lᵀ x = b; 0 for rows that depend on others."""
    for i in range(count):
        for k in range(i):
            x_inout[i] -= gram[i, k] * x_inout[k]
        x_inout[i] = x_inout[i] / gram[i, i] if gram[i, i] > 0.0 else 0.0
    for k in range(count - 1, -1, -1):
        x_inout[k] = x_inout[k] / gram[k, k] if gram[k, k] > 0.0 else 0.0
        for i in range(k):
            x_inout[i] -= gram[k, i] * x_inout[k]
