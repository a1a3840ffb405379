"""
Mimic joints as exact constraints.

A row demands v[following] = multiplier v[followed]: by an effort on the following joint, and
-multiplier times that on the followed one, which together do no work. The rows' forces follow from
the responses of the tree to one unit of each, computed with the same factors as everything else;
positions are then set from the followed joint's, so that the law holds to the last bit.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.state import LOCKED
from sim_bridge.engine.dynamics.articulated import solve

_REDUNDANT = 1e-13  # relative pivot below which a row acts on joints that cannot move


@kernel
def compute_responses(
    parent, kind, v_index, mimic, mimic_law,  # model
    articulated, hinge, axis, mode,  # state (read)
    rhs, force, acceleration,  # scratch
    response_out, delassus_out,
):
    """Compute each row's response, and factor the rows' inverse inertia J M⁻¹ Jᵀ = L D Lᵀ."""
    rows = mimic.shape[0]
    for row in range(rows):
        following, followed, ratio = mimic[row, 0], mimic[row, 1], mimic_law[row, 0]
        rhs[:] = 0.0
        force[:, :] = 0.0
        if mode[following] < LOCKED:
            rhs[following] = 1.0
        if mode[followed] < LOCKED:
            rhs[followed] = -ratio
        solve(parent, kind, v_index, articulated, hinge, axis, rhs, force, acceleration,
              response_out[row, 0], response_out[row, 1])
        # a locked joint's constraint also takes the row's own effort
        if mode[following] >= LOCKED:
            response_out[row, 1, following] -= 1.0
        if mode[followed] >= LOCKED:
            response_out[row, 1, followed] += ratio
        gained = response_out[row, 0]
        for other in range(rows):
            delassus_out[other, row] = (
                gained[mimic[other, 0]] - mimic_law[other, 0] * gained[mimic[other, 1]])
    for j in range(rows):
        scale = delassus_out[j, j]
        for k in range(j):
            delassus_out[j, j] -= delassus_out[j, k] * delassus_out[j, k] * delassus_out[k, k]
        if not delassus_out[j, j] > _REDUNDANT * scale:
            delassus_out[j, j] = 0.0
        for i in range(j + 1, rows):
            for k in range(j):
                delassus_out[i, j] -= delassus_out[i, k] * delassus_out[j, k] * delassus_out[k, k]
            pivot = delassus_out[j, j]
            delassus_out[i, j] = delassus_out[i, j] / pivot if pivot > 0.0 else 0.0


@kernel
def apply_rows(
    mimic, mimic_law,  # model
    v, response, rate,  # state (read)
    delassus_inout, ddq_inout, constraint_inout,
):
    """
    Add the rows' forces that cancel `rate` J v + J ddq.

    rate: 1 / h in a step, 0 for accelerations alone.
    """
    rows = mimic.shape[0]
    for row in range(rows):
        following, followed, ratio = mimic[row, 0], mimic[row, 1], mimic_law[row, 0]
        b = (-rate * (v[following] - ratio * v[followed])
             - (ddq_inout[following] - ratio * ddq_inout[followed]))
        for k in range(row):
            b -= delassus_inout[row, k] * delassus_inout[k, rows]
        delassus_inout[row, rows] = b
    for row in range(rows):
        pivot = delassus_inout[row, row]
        delassus_inout[row, rows] = delassus_inout[row, rows] / pivot if pivot > 0.0 else 0.0
    for row in range(rows - 1, -1, -1):
        for k in range(row + 1, rows):
            delassus_inout[row, rows] -= delassus_inout[k, row] * delassus_inout[k, rows]
    for row in range(rows):
        effort = delassus_inout[row, rows]
        for joint in range(ddq_inout.shape[0]):
            ddq_inout[joint] += effort * response[row, 0, joint]
            constraint_inout[joint] += effort * response[row, 1, joint]


@kernel
def follow(mimic, mimic_law, q_of_v, q_inout):
    """Set the following joints' positions."""
    for row in range(mimic.shape[0]):
        q_inout[q_of_v[mimic[row, 0]]] = (
            mimic_law[row, 0] * q_inout[q_of_v[mimic[row, 1]]] + mimic_law[row, 1])
