"""
Orthonormal basis for the constraint rows, and the impulses computed from it.

In whitened coordinates (`dynamics.whitening`) the rows' Delassus matrix is W Wᵀ. With W = R Q, Q
orthonormal, the impulses solve R Rᵀ λ = -u by two triangular systems. Any other generalized
velocity or force is made compatible with the rows by subtracting its projection on Q. A compliant
row has its own coordinate, nonzero only in this row: W Wᵀ + Σ then has the same form.

A planar four-bar closed by a five-row hinge has three redundant rows. Rows depending on earlier
rows, often only nearly because descriptions are rounded, are left out of Q. The impulses are then
not unique. The least-norm impulses are taken, in units that make rows comparable, so two hinges of
a door share its weight.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.axes import axis_wrench, is_idle, set_axis_row
from sim_bridge.engine.constraints.rows import frames_of, is_gone, row_wrench
from sim_bridge.engine.constraints.whitening import (
    above,
    greatest_norm,
    reach_of,
    whiten_joint,
    write_row,
)
from sim_bridge.engine.data.loops import (
    ALONG,
    DEPENDENT,
    DOT,
    FORCES,
    JOINT_ROWS,
    LOST,
    POWERLESS,
    RANK,
    RIGID_ROWS,
    TORQUES,
)
from sim_bridge.engine.data.state import LOCKED
from sim_bridge.engine.dynamics.whitening import find_whitening, whiten_mimic_row
from sim_bridge.engine.math.vec3 import ZERO

# a row counts as dependent on others if the norm of its remainder, relative to its typical norm,
# is below this value
_DEPENDENT = 1e-4
# kinds of remainder, the part of a row outside the span of the other rows
_NOTHING_AT_FIRST, _NOTHING, _SOMETHING = range(3)
_AGAIN = 0.1  # a remainder below this share of its row is orthogonalized once more


@subroutine
def build_basis(model, ws, state, loops, work, count, h):
    """Whiten the first `count` rows and orthonormalize them; skips axes that need no row."""
    nv, hard = work.whitening.shape[0], loops.size[RIGID_ROWS]
    find_whitening(model, ws, work.whitening)
    work.counts[:] = 0
    joint, end, low, high, forces, torques, force_0, torque_0 = -1, 0, 0, 0, 0.0, 0.0, 0.0, 0.0
    R_A = R_B = (ZERO, ZERO, ZERO)
    p_A = p_B = ZERO
    for row in range(work.active.shape[0]):
        number = row - loops.size[JOINT_ROWS]
        work.own[row], work.reach[row], work.scale[row] = -1, 0, 0.0
        if row >= count:
            continue
        if number >= 0:
            work.active[row], work.impulse[row], work.softness[row] = 0, 0.0, 0.0
            if work.mode[number] < LOCKED and is_idle(loops, state, work, number):
                continue
        own = loops.axis_joint[number] if number >= 0 else loops.joint[row]
        if own >= 0 and is_gone(loops, row, own, work):
            work.active[row], work.impulse[row] = 0, 0.0
            continue
        if own != joint and own >= 0:
            joint = own
            R_A, p_A, R_B, p_B = frames_of(ws.pose, loops, joint)
            end, force_0, torque_0 = whiten_joint(model, ws, loops, work, joint, R_A, p_B)
            low, high = reach_of(work.support, end, nv)
            forces = above(force_0, greatest_norm(work.whitened, end, FORCES))
            torques = above(torque_0, greatest_norm(work.whitened, end, TORQUES))
        first, last = low, high
        if number >= 0:
            torque, force = axis_wrench(loops, number, R_A, R_B)
            write_row(R_A, torque, force, end, work)
            is_along = loops.axis_kind[number, 0] == ALONG
            size = above(force_0 if is_along else torque_0, norm_between(work.vector, low, high))
            set_axis_row(loops, h, number, size * size, work)
        elif own < 0:
            whiten_mimic_row(
                model, ws, loops.axes[row, 0], work.whitening, work.column, work.vector
            )
            first, last = 0, nv
            size = norm_between(work.vector, 0, nv)
            work.active[row] = 1
        else:
            torque, force = row_wrench(loops, row, R_A, p_A, R_B, p_B)
            write_row(R_A, torque, force, end, work)
            size = torques if loops.kind[row] == DOT else forces
            work.active[row] = 1
        if work.active[row] != 0:
            if row >= hard and work.softness[row] > 0.0:
                own_size = math.sqrt(work.softness[row])
                work.vector[nv + row - hard] = own_size
                last = nv + row - hard + 1
                if size == 0.0:
                    # all bodies it pulls are locked, so only the row itself yields
                    size = own_size
            work.scale[row] = 1.0 / size if size > 0.0 else 0.0
            least = _DEPENDENT if number < 0 else POWERLESS
            left = make_orthonormal(row, least, first, last, work)
            work.counts[LOST] += left != _SOMETHING
            work.counts[DEPENDENT] += left == _NOTHING
        work.vector[:] = 0.0
    if work.counts[DEPENDENT] > 0:
        factor_gram(count, work)


@kernel
def product(a, b, first, end):
    """Multiply two slices as vectors, by independent partial sums."""
    # for slices the compiler knows that no index is negative
    a, b = a[first:end], b[first:end]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    fours = a.shape[0] // 4 * 4
    for k in range(0, fours, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    for k in range(fours, a.shape[0]):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@kernel
def add_part(amount, a, first, end, b_inout):
    """Add a multiple of a slice to another one."""
    a, b = a[first:end], b_inout[first:end]
    for k in range(a.shape[0]):
        b[k] += amount * a[k]


@kernel
def norm_between(vector, first, end):
    """Return a slice's Euclidean norm."""
    return math.sqrt(product(vector, vector, first, end))


@subroutine
def make_orthonormal(row, least, first, end, work):
    """
    Scale work.vector, subtract its projection on the basis, and add the remainder to the basis.

    Returns the remainder's kind. A norm below `least` counts as zero. A row can also be zero from
    the start because nothing in the trees can move along it, such as a row across a planar loop's
    plane. first, end: the vector is 0 outside these coordinates.
    """
    vector, basis, factor, rank = work.vector, work.basis, work.factor, work.counts[RANK]
    row_in = vector[first:end]
    for at in range(row_in.shape[0]):
        row_in[at] *= work.scale[row]
    left = norm_between(vector, first, end)
    if left <= least:
        return _NOTHING_AT_FIRST
    factor[row, :rank] = 0.0
    work.reach[row] = rank
    for _ in range(2):
        before = left
        for other in range(rank):
            low, high = max(work.span[other, 0], first), min(work.span[other, 1], end)
            work.part[other] = product(basis[other], vector, low, high) if low < high else 0.0
        for other in range(rank):
            part = work.part[other]
            if part == 0.0:
                continue
            low, high = work.span[other, 0], work.span[other, 1]
            add_part(-part, basis[other], low, high, vector)
            factor[row, other] += part
            first, end = min(first, low), max(end, high)
        left = norm_between(vector, first, end)
        if left > _AGAIN * before or left <= least:
            break
    if left <= least:
        return _NOTHING
    basis[rank, work.span[rank, 0] : work.span[rank, 1]] = 0.0
    add_part(1.0 / left, vector, first, end, basis[rank])
    work.span[rank, 0], work.span[rank, 1] = first, end
    factor[row, rank] = left
    work.own[row], work.reach[row], work.chosen[rank] = rank, rank + 1, row
    work.counts[RANK] = rank + 1
    return _SOMETHING


@subroutine
def factor_gram(count, work):
    """Factor Rᵀ R into L Lᵀ, where R has `count` rows."""
    factor, gram, rank = work.factor, work.gram, work.counts[RANK]
    for i in range(rank):
        gram[i, : i + 1] = 0.0
    for row in range(count):
        for i in range(work.reach[row]):
            for j in range(i + 1):
                gram[i, j] += factor[row, i] * factor[row, j]
    for i in range(rank):
        for j in range(i):
            total = gram[i, j] - product(gram[i], gram[j], 0, j)
            gram[i, j] = total / gram[j, j] if gram[j, j] > 0.0 else 0.0
        total = gram[i, i] - product(gram[i], gram[i], 0, i)
        gram[i, i] = math.sqrt(total) if total > 0.0 else 0.0


@subroutine
def find_impulses(count, is_fair, right, work, impulse_out):
    """
    Find impulses on the first `count` rows that change their velocities by `right`.

    is_fair: return the least-norm impulses if rows are dependent; else impulses on independent
    rows only.
    """
    factor, part, rank = work.factor, work.part, work.counts[RANK]
    for k in range(rank):
        row = work.chosen[k]
        total = work.scale[row] * right[row] - product(factor[row], part, 0, k)
        part[k] = total / factor[row, k]
    impulse_out[:count] = 0.0
    if is_fair and work.counts[DEPENDENT] > 0:
        solve_gram(rank, work.gram, part)
        for row in range(count):
            impulse_out[row] = work.scale[row] * product(factor[row], part, 0, work.reach[row])
        return
    for k in range(rank - 1, -1, -1):
        row = work.chosen[k]
        impulse = part[k] / factor[row, k]
        for i in range(k):
            part[i] -= factor[row, i] * impulse
        impulse_out[row] = work.scale[row] * impulse


@kernel
def solve_gram(count, gram, x_inout):
    """Solve L Lᵀ x = b; x is 0 where L is 0 to rounding."""
    for i in range(count):
        total = x_inout[i] - product(gram[i], x_inout, 0, i)
        x_inout[i] = total / gram[i, i] if gram[i, i] > 0.0 else 0.0
    for k in range(count - 1, -1, -1):
        x_inout[k] = x_inout[k] / gram[k, k] if gram[k, k] > 0.0 else 0.0
        for i in range(k):
            x_inout[i] -= gram[k, i] * x_inout[k]
