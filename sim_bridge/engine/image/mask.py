"""Masks: coarse pictures of the boxes around surfaces, by which most lines are left out."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, Int32Vector, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.pencil import HIGH_X, HIGH_Y, IGNORED, LOW_X, LOW_Y, Mask, PER_X, PER_Y
from sim_bridge.engine.image.outline import moved
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, transposed
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import dot, load3, sub

_ROOM = 1e-6
"""Enlargement of the boxes against rounding [m; 1]."""
_NEAR = 1e-3
"""Depth over size of a box below which it covers the whole mask."""
BOX_SIZE = 5
"""Columns for a box in the mask: least and greatest x and y, least depth."""


@entry
def mark_mask(
    box: FloatMatrix,
    owner: Int32Vector,
    placed: FloatMatrix,
    role: IntVector,
    frame: FloatMatrix,
    is_parallel: int,
    reach: float,
    seen_out: FloatMatrix,
    mask_out: Mask,
):
    """
    Draw boxes into a mask.

    box, owner: (n, 6) least and greatest corner, in the frame of their geometry. placed: (ng, 12)
    geometry poses. role: (ng,) boxes of geometries with IGNORED are left out. frame, is_parallel:
    the pencil's. reach: greatest |x| and |y| of lines from a point. seen_out: (n, BOX_SIZE)
    scratch.
    """
    R, p = load_pose(frame, 0)
    to_lines = transposed(R)
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for k in range(box.shape[0]):
        g = owner[k]
        seen_out[k, 4] = math.inf
        if role[g] != IGNORED:
            S, q = load_pose(placed, g)
            place = (mul_mm(to_lines, S), mul_mv(to_lines, sub(q, p)))
            bounds = _bounds_of(box, k, place, is_parallel != 0, reach)
            for column in range(5):
                seen_out[k, column] = bounds[column]
            if bounds[4] < math.inf:
                x_low, x_high = min(x_low, bounds[0]), max(x_high, bounds[1])
                y_low, y_high = min(y_low, bounds[2]), max(y_high, bounds[3])
    rows, columns = mask_out.depth.shape[0], mask_out.depth.shape[1]
    mask_out.span[LOW_X], mask_out.span[HIGH_X] = x_low, x_high
    mask_out.span[LOW_Y], mask_out.span[HIGH_Y] = y_low, y_high
    mask_out.span[PER_X] = _per(columns, x_high - x_low)
    mask_out.span[PER_Y] = _per(rows, y_high - y_low)
    for row in range(rows):
        mask_out.depth[row] = math.inf
    for k in range(box.shape[0]):
        if seen_out[k, 4] < math.inf:
            _mark(seen_out, k, mask_out)


@kernel
def _per(cells, extent):
    """Return the cells per unit; 0 for an extent that is not positive."""
    return float(cells) / extent if extent > 0.0 else 0.0


@kernel
def _bounds_of(box, k, place, is_parallel, reach):
    """Return the columns of a box, with infinite depth for one out of sight."""
    low, high = load3(box, k, 0), load3(box, k, 3)
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    z_low, z_high = math.inf, -math.inf
    extent = sub(high, low)
    size = extent[0] + extent[1] + extent[2]
    for corner in range(8):
        x = low[0] if corner & 1 == 0 else high[0]
        y = low[1] if corner & 2 == 0 else high[1]
        z = low[2] if corner & 4 == 0 else high[2]
        seen = moved(place, (x, y, z))
        z_low, z_high = min(z_low, seen[2]), max(z_high, seen[2])
        share = 1.0
        if not is_parallel:
            share = 1.0 / max(seen[2], 1e-300)
        x_low, x_high = min(x_low, share * seen[0]), max(x_high, share * seen[0])
        y_low, y_high = min(y_low, share * seen[1]), max(y_high, share * seen[1])
    if not is_parallel:
        if z_high <= 0.0:
            return reach, -reach, reach, -reach, math.inf
        if z_low <= _NEAR * size:
            return -reach, reach, -reach, reach, 0.0
        x_low, x_high = max(x_low, -reach), min(x_high, reach)
        y_low, y_high = max(y_low, -reach), min(y_high, reach)
    if x_low > x_high or y_low > y_high:
        return reach, -reach, reach, -reach, math.inf
    return x_low - _ROOM, x_high + _ROOM, y_low - _ROOM, y_high + _ROOM, z_low - _ROOM


@kernel
def _mark(seen, k, mask_inout):
    """Lower the depth in a box's cells."""
    span, depth = mask_inout.span, seen[k, 4]
    columns, rows = mask_inout.depth.shape[1], mask_inout.depth.shape[0]
    first_row = max(math.floor((seen[k, 2] - span[LOW_Y]) * span[PER_Y]), 0)
    end_row = min(math.floor((seen[k, 3] - span[LOW_Y]) * span[PER_Y]) + 1, rows)
    first = max(math.floor((seen[k, 0] - span[LOW_X]) * span[PER_X]), 0)
    end = min(math.floor((seen[k, 1] - span[LOW_X]) * span[PER_X]) + 1, columns)
    for row in range(first_row, end_row):
        for column in range(first, end):
            mask_inout.depth[row, column] = min(mask_inout.depth[row, column], depth)


@kernel
def may_meet(mask, x, y, z):
    """Return whether a line up to a depth may meet a surface with a box."""
    span = mask.span
    if not (span[LOW_X] <= x <= span[HIGH_X] and span[LOW_Y] <= y <= span[HIGH_Y]):
        return False
    column = min(math.floor((x - span[LOW_X]) * span[PER_X]), mask.depth.shape[1] - 1)
    row = min(math.floor((y - span[LOW_Y]) * span[PER_Y]), mask.depth.shape[0] - 1)
    return mask.depth[row, column] < z


@kernel
def is_under_plane(placed, plane, point):
    """Return whether a point is below one of the planes; plane: their numbers."""
    for k in range(plane.shape[0]):
        S, q = load_pose(placed, plane[k])
        if dot((S[0][2], S[1][2], S[2][2]), sub(point, q)) <= 0.0:
            return True
    return False
