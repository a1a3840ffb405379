"""Cells of a pencil around the outline of a triangle or box."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.pencil import DEEPEST, HIGH_X, HIGH_Y, LOW_X, LOW_Y, PER_X, PER_Y
from sim_bridge.engine.image.outline import clip, half_width, is_aside, moved, NEAREST, size_of
from sim_bridge.engine.math.vec3 import add, load3, scale, store3, sub

_SLACK = 1e-6
"""Cells by which an outline is enlarged against rounding."""


@kernel
def _line_bounds(pencil):
    """Return the bounds on x and y, enlarged against rounding."""
    span = pencil.span
    room_x = 1e-9 * (1.0 + abs(span[LOW_X]) + abs(span[HIGH_X]))
    room_y = 1e-9 * (1.0 + abs(span[LOW_Y]) + abs(span[HIGH_Y]))
    return (
        span[LOW_X] - room_x,
        span[HIGH_X] + room_x,
        span[LOW_Y] - room_y,
        span[HIGH_Y] + room_y,
    )


@kernel
def is_out(a, b, c, pencil):
    """Return whether a triangle is beside or behind all lines."""
    if min(a[2], b[2], c[2]) > pencil.span[DEEPEST]:
        return True
    if pencil.is_parallel == 0:
        return is_aside(a, b, c, _line_bounds(pencil))
    x_low, x_high, y_low, y_high = _line_bounds(pencil)
    return (
        min(a[0], b[0], c[0]) > x_high
        or max(a[0], b[0], c[0]) < x_low
        or min(a[1], b[1], c[1]) > y_high
        or max(a[1], b[1], c[1]) < y_low
    )


@kernel
def is_box_out(box, row, place, pencil):
    """Return as `is_out` for a box (least and greatest corner) in a geometry's frame."""
    low, high = load3(box, row, 0), load3(box, row, 3)
    middle = moved(place, scale(0.5, add(low, high)))
    half, (U, V, W) = scale(0.5, sub(high, low)), place[0]
    x_low, x_high, y_low, y_high = _line_bounds(pencil)
    deep = half_width(W, half)
    if middle[2] - deep > pencil.span[DEEPEST]:
        return True
    if pencil.is_parallel != 0:
        wide, high_half = half_width(U, half), half_width(V, half)
        return (
            middle[0] - wide > x_high
            or middle[0] + wide < x_low
            or middle[1] - high_half > y_high
            or middle[1] + high_half < y_low
        )
    return (
        middle[2] + deep <= 0.0
        or middle[0] - x_high * middle[2] > half_width(sub(U, scale(x_high, W)), half)
        or x_low * middle[2] - middle[0] > half_width(sub(U, scale(x_low, W)), half)
        or middle[1] - y_high * middle[2] > half_width(sub(V, scale(y_high, W)), half)
        or y_low * middle[2] - middle[1] > half_width(sub(V, scale(y_low, W)), half)
    )


@kernel
def has_lines(pencil, cells):
    """Return whether there is a line in some cells."""
    first_column, end_column, first_row, end_row = cells
    for row in range(first_row, end_row):
        start = row * pencil.columns
        if pencil.cell_start[start + end_column] > pencil.cell_start[start + first_column]:
            return True
    return False


@kernel
def cells_of_box(box, row, place, pencil):
    """Return as `cells_of` for a box (least and greatest corner) in a geometry's frame."""
    low, high = load3(box, row, 0), load3(box, row, 3)
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for corner in range(8):
        x = low[0] if (corner & 1) == 0 else high[0]
        y = low[1] if (corner & 2) == 0 else high[1]
        z = low[2] if (corner & 4) == 0 else high[2]
        p = moved(place, (x, y, z))
        share = 1.0
        if pencil.is_parallel == 0:
            if not p[2] > NEAREST * size_of(p):
                return 0, pencil.columns, 0, pencil.rows
            share = 1.0 / p[2]
        x_low, x_high = min(x_low, share * p[0]), max(x_high, share * p[0])
        y_low, y_high = min(y_low, share * p[1]), max(y_high, share * p[1])
    return cells_within(pencil, x_low, x_high, y_low, y_high)


@kernel
def cells_of(a, b, c, pencil, polygon_out):
    """Return first and end column, first and end row around a triangle's outline."""
    ia, ib, ic = 1.0, 1.0, 1.0
    if pencil.is_parallel == 0:
        if not min(a[2], b[2], c[2]) > NEAREST * max(size_of(a), size_of(b), size_of(c)):
            return _cells_of_clipped(a, b, c, pencil, polygon_out)
        ia, ib, ic = 1.0 / a[2], 1.0 / b[2], 1.0 / c[2]
    return cells_within(
        pencil,
        min(ia * a[0], ib * b[0], ic * c[0]),
        max(ia * a[0], ib * b[0], ic * c[0]),
        min(ia * a[1], ib * b[1], ic * c[1]),
        max(ia * a[1], ib * b[1], ic * c[1]),
    )


@subroutine
def _cells_of_clipped(a, b, c, pencil, polygon_out):
    """Return as `cells_of` for a triangle that reaches behind the origin."""
    store3(polygon_out, 0, 0, a)
    store3(polygon_out, 1, 0, b)
    store3(polygon_out, 2, 0, c)
    first, count = clip(a, b, c, _line_bounds(pencil), polygon_out)
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for k in range(first, first + count):
        p = load3(polygon_out, k, 0)
        if not p[2] > NEAREST * size_of(p):
            # the origin itself is in the triangle's plane
            return 0, pencil.columns, 0, pencil.rows
        share = 1.0 / p[2]
        x_low, x_high = min(x_low, share * p[0]), max(x_high, share * p[0])
        y_low, y_high = min(y_low, share * p[1]), max(y_high, share * p[1])
    return cells_within(pencil, x_low, x_high, y_low, y_high)


@kernel
def cells_within(pencil, x_low, x_high, y_low, y_high):
    """Return the cells as `cells_of` between bounds; none for reversed ones."""
    span = pencil.span
    first_column = max(math.floor((x_low - span[LOW_X]) * span[PER_X] - _SLACK), 0)
    end_column = math.floor((x_high - span[LOW_X]) * span[PER_X] + _SLACK) + 1
    first_row = max(math.floor((y_low - span[LOW_Y]) * span[PER_Y] - _SLACK), 0)
    end_row = math.floor((y_high - span[LOW_Y]) * span[PER_Y] + _SLACK) + 1
    first_column = min(first_column, pencil.columns)
    end_column = max(min(end_column, pencil.columns), first_column)
    return first_column, end_column, first_row, min(end_row, pencil.rows)
