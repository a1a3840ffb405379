"""
Mimic joints as exact constraints.

A row demands v[following] = multiplier v[followed]. It exerts an effort on the following joint,
and -multiplier times this effort on the followed joint; together they do no work. The row efforts
follow from the tree's responses to a unit effort on each row, computed with the same factors as
all other forces. The following joints' positions are then set from the followed joints', and the
law holds to the last bit.

In two cases other problems hold the rows for mimic joints. Under contact without closed loops, the
contact rows are projected to keep the law (`contact.mimic_rows`). In worlds with closed loops,
mimic joints are loop rows of kind MIMIC (`constraints.rows`).
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import FOLLOWED, FOLLOWING, MULTIPLIER, OFFSET
from sim_bridge.engine.data.state import LOCKED
from sim_bridge.engine.dynamics.articulated import solve

_REDUNDANT = 1e-13  # relative pivot below which a row is redundant: its joints cannot move


@kernel
def mimic_row(model, row):
    """Return a row's velocity indices (following and followed joint) and its multiplier."""
    pair = model.mimic[row]
    return pair[FOLLOWING], pair[FOLLOWED], model.mimic_law[row, MULTIPLIER]


@kernel
def compute_responses(model, ws):
    """Compute each row's response; factorize the rows' inverse inertia J M⁻¹ Jᵀ = L D Lᵀ."""
    rows = model.mimic.shape[0]
    for row in range(rows):
        following, followed, ratio = mimic_row(model, row)
        ws.rhs[:] = 0.0
        ws.force[:, :] = 0.0
        if ws.mode[following] < LOCKED:
            ws.rhs[following] = 1.0
        if ws.mode[followed] < LOCKED:
            ws.rhs[followed] = -ratio
        solve(model, ws, ws.rhs, ws.force, ws.response[row, 0], ws.response[row, 1])
        # a locked joint's constraint also takes the row's own effort
        if ws.mode[following] >= LOCKED:
            ws.response[row, 1, following] -= 1.0
        if ws.mode[followed] >= LOCKED:
            ws.response[row, 1, followed] += ratio
        gained = ws.response[row, 0]
        for other in range(rows):
            its_following, its_followed, its_ratio = mimic_row(model, other)
            ws.delassus[other, row] = gained[its_following] - its_ratio * gained[its_followed]
    for j in range(rows):
        scale = ws.delassus[j, j]
        for k in range(j):
            ws.delassus[j, j] -= ws.delassus[j, k] * ws.delassus[j, k] * ws.delassus[k, k]
        if not ws.delassus[j, j] > _REDUNDANT * scale:
            ws.delassus[j, j] = 0.0
        for i in range(j + 1, rows):
            for k in range(j):
                ws.delassus[i, j] -= ws.delassus[i, k] * ws.delassus[j, k] * ws.delassus[k, k]
            pivot = ws.delassus[j, j]
            ws.delassus[i, j] = ws.delassus[i, j] / pivot if pivot > 0.0 else 0.0


@kernel
def apply_rows(model, ws, v, rate, ddq_inout):
    """
    Add the row efforts that cancel `rate` J v + J ddq.

    rate: 1 / h in a step, 0 for accelerations alone [1/s].
    """
    rows, effort = model.mimic.shape[0], ws.mimic_effort
    for row in range(rows):
        following, followed, ratio = mimic_row(model, row)
        b = -rate * (v[following] - ratio * v[followed]) - (
            ddq_inout[following] - ratio * ddq_inout[followed]
        )
        for k in range(row):
            b -= ws.delassus[row, k] * effort[k]
        effort[row] = b
    for row in range(rows):
        pivot = ws.delassus[row, row]
        effort[row] = effort[row] / pivot if pivot > 0.0 else 0.0
    for row in range(rows - 1, -1, -1):
        for k in range(row + 1, rows):
            effort[row] -= ws.delassus[k, row] * effort[k]
    for row in range(rows):
        for joint in range(ddq_inout.shape[0]):
            ddq_inout[joint] += effort[row] * ws.response[row, 0, joint]
            ws.constraint[joint] += effort[row] * ws.response[row, 1, joint]


@kernel
def follow(model, q_inout):
    """Set the following joints' positions from the followed joints'."""
    for row in range(model.mimic.shape[0]):
        following, followed, ratio = mimic_row(model, row)
        q_inout[model.q_of_v[following]] = (
            ratio * q_inout[model.q_of_v[followed]] + model.mimic_law[row, OFFSET]
        )
