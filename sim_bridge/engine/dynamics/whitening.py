"""
Whitening: contact and constraint rows in coordinates with the identity as inertia.

The elimination has factored the mass matrix, M = L D Lᵀ. A constraint row J is stored as
w = D^-½ L⁻¹ Jᵀ, with w wᵀ = J M⁻¹ Jᵀ. This takes one pass from the row's body to the root of its
tree: at each joint the wrench leaves its effort, and the rest propagates on.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.inertia import INVERSE
from sim_bridge.engine.data.model import FREE, FREE_SINGLE
from sim_bridge.engine.dynamics.articulated import carrier, has_axis
from sim_bridge.engine.dynamics.mimic import mimic_row
from sim_bridge.engine.math.spatial import load_spatial
from sim_bridge.engine.math.vec3 import dot, scale, sub


@kernel
def find_whitening(model, ws, whitening_out):
    """Compute D^-½ for every coordinate."""
    for body in range(ws.kind.shape[0]):
        at = model.v_index[body]
        if has_axis(ws.kind[body]):
            whitening_out[at] = math.sqrt(ws.joint_factor[body, INVERSE])
        elif is_free(ws.kind[body]):
            for k in range(6):
                whitening_out[at + k] = 1.0 / math.sqrt(ws.articulated[body, k * (k + 3) // 2])


@kernel
def is_free(joint):
    """Return whether a joint kind lets forces move its body in all directions."""
    return joint == FREE or joint == FREE_SINGLE


@kernel
def pass_joint(ws, body, torque, force):
    """
    Propagate a wrench on a body towards the root, across its unlocked one-axis joint.

    Returns the joint effort that the wrench needs, and the torque and force passed on.
    """
    s, t = load_spatial(ws.axis, body)
    u, x = load_spatial(ws.joint_factor, body)
    effort = dot(s, torque) + dot(t, force)
    share = ws.joint_factor[body, INVERSE] * effort
    return effort, sub(torque, scale(share, u)), sub(force, scale(share, x))


@kernel
def pass_root(articulated, width, columns_inout):
    """
    Multiply wrenches on a free root by L⁻¹.

    articulated: a row of Workspace.articulated. columns_inout: (6, width or more) one wrench per
    column, torque then force.
    """
    for i in range(6):
        for k in range(width):
            y = columns_inout[i, k]
            for j in range(i):
                y -= articulated[i * (i + 1) // 2 + j] * columns_inout[j, k]
            columns_inout[i, k] = y


@kernel
def whiten_mimic_row(model, ws, row, whitening, column_inout, row_inout):
    """
    Add a mimic joint's whitened row: an effort on it, -multiplier times that on the followed one.

    column_inout: (6, 1 or more) scratch.
    """
    following, followed, ratio = mimic_row(model, row)
    for body in range(ws.kind.shape[0]):
        if not has_axis(ws.kind[body]) or ws.joint_factor[body, INVERSE] == 0.0:
            continue
        if model.v_index[body] == following:
            add_effort(model, ws, whitening, body, 1.0, row_inout, column_inout)
        elif model.v_index[body] == followed and ratio != 0.0:
            add_effort(model, ws, whitening, body, -ratio, row_inout, column_inout)


@kernel
def add_effort(model, ws, whitening, body, effort, row_inout, column_inout):
    """Add the effect of a joint effort to a row, at the joint's body and towards the root."""
    at = model.v_index[body]
    row_inout[at] += effort * whitening[at]
    share = -effort * ws.joint_factor[body, INVERSE]
    u, x = load_spatial(ws.joint_factor, body)
    n, f = scale(share, u), scale(share, x)
    body = carrier(model.parent, ws.kind, body)
    while body >= 0:
        at = model.v_index[body]
        if has_axis(ws.kind[body]):
            if ws.joint_factor[body, INVERSE] != 0.0:
                w, n, f = pass_joint(ws, body, n, f)
                row_inout[at] += whitening[at] * w
        elif is_free(ws.kind[body]):
            for k in range(3):
                column_inout[k, 0], column_inout[3 + k, 0] = n[k], f[k]
            pass_root(ws.articulated[body], 1, column_inout)
            for i in range(6):
                row_inout[at + i] += whitening[at + i] * column_inout[i, 0]
        body = carrier(model.parent, ws.kind, body)
