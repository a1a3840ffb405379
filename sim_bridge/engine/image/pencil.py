"""
Nearest surfaces on the lines of a pencil: as `cover`, the surfaces are walked, not the lines.

A triangle tests the lines in the cells around its outline. Lines from one point use the products
in `cover`; parallel lines use the same products of the corners (x, y, 1). The nearest surface
wins, then the lower geometry, then the lower triangle: neither the cells nor the other lines
change a bit.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, Int32Vector, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.mesh.height_field import field_corners
from sim_bridge.engine.collision.mesh.mesh import leaf_triangles, mesh_corners
from sim_bridge.engine.collision.ray.strike import strike
from sim_bridge.engine.data.cones import Cones
from sim_bridge.engine.data.geometry import Geometry, HEIGHT_FIELD, MESH, PLANE, SOLID
from sim_bridge.engine.data.paint import Paint
from sim_bridge.engine.data.pencil import (
    CUT,
    DEEPEST,
    DEPTH,
    HIGH_X,
    HIGH_Y,
    IGNORED,
    LOW_X,
    LOW_Y,
    PAST_DEPTH,
    PAST_FACE,
    PAST_ITEM,
    Pencil,
    PER_X,
    PER_Y,
    X,
    Y,
)
from sim_bridge.engine.data.picture import NOTHING
from sim_bridge.engine.image.outline import (
    box_corner,
    clip,
    CLUSTER_LEVELS,
    edge_plane,
    half_width,
    height_on,
    is_aside,
    is_turned_away,
    moved,
    NEAREST,
    size_of,
)
from sim_bridge.engine.image.paint import paint_at, weights_at
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, store3, sub, ZERO

_SLACK = 1e-6
"""Cells by which an outline is enlarged against rounding."""
_AWAY = 1e3
"""Distance from which parallel lines begin, for shapes in closed form [m]."""


@entry
def sort_lines(
    count: int,
    given: FloatMatrix,
    given_source: Int32Vector,
    key_out: Int32Vector,
    pencil_out: Pencil,
):
    """
    Sort lines into cells.

    given, given_source: `count` rows as in `Pencil`. key_out: (count,) scratch. Writes all arrays
    of the pencil but `span`.
    """
    columns, cells = pencil_out.columns, pencil_out.columns * pencil_out.rows
    for cell in range(cells + 2):
        pencil_out.cell_start[cell] = 0
    for k in range(count):
        column = math.floor((given[k, X] - pencil_out.span[LOW_X]) * pencil_out.span[PER_X])
        row = math.floor((given[k, Y] - pencil_out.span[LOW_Y]) * pencil_out.span[PER_Y])
        column = min(max(column, 0), columns - 1)
        cell = min(max(row, 0), pencil_out.rows - 1) * columns + column
        key_out[k] = cell
        pencil_out.cell_start[cell + 2] += 1
    for cell in range(cells):
        pencil_out.cell_start[cell + 2] += pencil_out.cell_start[cell + 1]
    for k in range(count):
        place = pencil_out.cell_start[key_out[k] + 1]
        pencil_out.cell_start[key_out[k] + 1] = place + 1
        for column in range(given.shape[1]):
            pencil_out.line[place, column] = given[k, column]
        pencil_out.source[place] = given_source[k]
        pencil_out.item[place] = NOTHING
        pencil_out.face[place] = 0


@entry
def walk(
    geometry: Geometry,
    placed: FloatMatrix,
    role: IntVector,
    cones: Cones,
    opacity: FloatVector,
    paint: Paint,
    frame: FloatMatrix,
    pencil_inout: Pencil,
    polygon_out: FloatMatrix,
):
    """
    Find the nearest surface on each line, before its end.

    placed: (ng, 12) geometry poses. role: (ng,) IGNORED, WHOLE or CUT. cones: of closed meshes.
    opacity: (ng,). frame: (1, 12) the pencil's. polygon_out: (POLYGON_SIZE, 3) scratch. Closed
    meshes and convex shapes are seen from outside only, height fields and open meshes from both
    sides. Writes DEPTH in `pencil_inout.line`, `item` and `face`.
    """
    R, p = load_pose(frame, 0)
    to_lines = transposed(R)
    for g in range(role.shape[0]):
        if role[g] != IGNORED:
            S, q = load_pose(placed, g)
            place = (mul_mm(to_lines, S), mul_mv(to_lines, sub(q, p)))
            surface = (geometry, g, place, role[g] == CUT, opacity[g], paint)
            if geometry.shape[g] == MESH:
                _walk_mesh(surface, cones, pencil_inout, polygon_out)
            elif geometry.shape[g] == HEIGHT_FIELD:
                _walk_field(surface, pencil_inout, polygon_out)
            else:
                _walk_shape(surface, pencil_inout, polygon_out)


@kernel
def begin_span(span_out):
    """Begin bounds of lines, without any."""
    span_out[LOW_X], span_out[LOW_Y] = 1e300, 1e300
    span_out[HIGH_X], span_out[HIGH_Y] = -1e300, -1e300
    span_out[DEEPEST] = -1e300


@kernel
def give_line(x, y, z, given_out, span_inout, k):
    """Write a line, and widen the bounds."""
    given_out[k, X], given_out[k, Y], given_out[k, DEPTH] = x, y, z
    span_inout[LOW_X], span_inout[HIGH_X] = min(span_inout[LOW_X], x), max(span_inout[HIGH_X], x)
    span_inout[LOW_Y], span_inout[HIGH_Y] = min(span_inout[LOW_Y], y), max(span_inout[HIGH_Y], y)
    span_inout[DEEPEST] = max(span_inout[DEEPEST], z)


@kernel
def is_own(frame, number, point, z):
    """Return whether a point belongs to a frame: its depth there, z, is positive and greatest."""
    if not z > 0.0:
        return False
    for other in range(frame.shape[0]):
        if other != number:
            S, q = load_pose(frame, other)
            depth = mul_tv(S, sub(point, q))[2]
            if depth > z or (depth == z and other < number):
                return False
    return True


# --- meshes and height fields --------------------------------------------------------------------


@subroutine
def _walk_mesh(surface, cones, pencil_inout, polygon_out):
    """Walk a mesh's triangles, cluster by cluster."""
    geometry, g, place, _, _, _ = surface
    depth = geometry.tree[g, 1]
    level = max(depth - CLUSTER_LEVELS, 0)
    is_culled = geometry.flags[g] & SOLID != 0
    for node in range((1 << level) - 1, (2 << level) - 1):
        cluster, is_parallel = node - ((1 << level) - 1), pencil_inout.is_parallel != 0
        if not (
            is_turned_away(cones, g, cluster, place, is_parallel)
            or _is_box_out(geometry.tree_box, geometry.tree[g, 0] + node, place, pencil_inout)
            or not _has_lines(
                pencil_inout,
                _cells_of_box(geometry.tree_box, geometry.tree[g, 0] + node, place, pencil_inout),
            )
        ):
            leaf = ((node + 1) << (depth - level)) - 1
            first, _ = leaf_triangles(geometry, g, leaf)
            _, end = leaf_triangles(geometry, g, leaf + (1 << (depth - level)) - 1)
            for t in range(first, end):
                a, b, c = mesh_corners(geometry, t)
                corners = (moved(place, a), moved(place, b), moved(place, c))
                _walk_triangle(surface, corners, t, is_culled, pencil_inout, polygon_out)


@subroutine
def _walk_field(surface, pencil_inout, polygon_out):
    """Walk a height field's triangles."""
    geometry, g, place, _, _, _ = surface
    for t in range(2 * (geometry.grid[g, 1] - 1) * (geometry.grid[g, 2] - 1)):
        a, b, c = field_corners(geometry, g, t)
        corners = (moved(place, a), moved(place, b), moved(place, c))
        _walk_triangle(surface, corners, t, False, pencil_inout, polygon_out)


@kernel
def _walk_triangle(surface, corners, t, is_culled, pencil_inout, polygon_out):
    """Walk one triangle; corners: in the pencil's frame."""
    a, b, c = corners
    normal = cross(sub(b, a), sub(c, a))
    # a back face has its normal along the lines
    facing = normal[2] if pencil_inout.is_parallel != 0 else dot(a, normal)
    if (facing < 0.0 or (facing > 0.0 and not is_culled)) and not _is_out(a, b, c, pencil_inout):
        cells = _cells_of(a, b, c, pencil_inout, polygon_out)
        if _has_lines(pencil_inout, cells):
            _hit_triangle(surface, corners, normal, facing, t, cells, pencil_inout)


@kernel
def _hit_triangle(surface, corners, normal, facing, t, cells, pencil_inout):
    """Write a triangle to the lines that hit it before the surfaces written so far."""
    a, b, c = corners
    _, g, _, is_cut, _, _ = surface
    is_parallel = pencil_inout.is_parallel != 0
    offset = dot(a, normal)
    nearest, farthest = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
    if is_parallel:
        a, b, c = (a[0], a[1], 1.0), (b[0], b[1], 1.0), (c[0], c[1], 1.0)
    side = 1.0 if facing > 0.0 else -1.0
    size_a, size_b, size_c = size_of(a), size_of(b), size_of(c)
    room = 2e-15 * (1.0 + pencil_inout.across)
    ea = edge_plane(b, c, side, room * size_b * size_c)
    eb = edge_plane(c, a, side, room * size_c * size_a)
    ec = edge_plane(a, b, side, room * size_a * size_b)
    first_column, end_column, first_row, end_row = cells
    for row in range(first_row, end_row):
        start = row * pencil_inout.columns
        first = pencil_inout.cell_start[start + first_column]
        for k in range(first, pencil_inout.cell_start[start + end_column]):
            x, y = pencil_inout.line[k, X], pencil_inout.line[k, Y]
            wa, wb, wc = height_on(ea, x, y), height_on(eb, x, y), height_on(ec, x, y)
            if min(wa, wb, wc) >= 0.0:
                z = 0.0
                if is_parallel:
                    z = (offset - normal[0] * x - normal[1] * y) / normal[2]
                else:
                    z = offset / height_on(normal, x, y)
                # the bounds correct rounding on triangles seen from the side
                z = max(nearest, min(farthest, z))
                if (
                    z < pencil_inout.line[k, DEPTH]
                    and (is_parallel or z > 0.0)
                    and _is_beyond(pencil_inout, k, z, g, t)
                    and (not is_cut or _is_dense(surface, t, _point(pencil_inout, x, y, z)))
                ):
                    pencil_inout.line[k, DEPTH] = z
                    pencil_inout.item[k] = g
                    pencil_inout.face[k] = t


@kernel
def _is_beyond(pencil, k, z, g, t):
    """Return whether a surface is behind the one that the line has passed."""
    if pencil.line.shape[1] <= PAST_DEPTH:
        return True
    past, item = pencil.line[k, PAST_DEPTH], pencil.line[k, PAST_ITEM]
    face = pencil.line[k, PAST_FACE]
    if float(g) == item and float(t) == face:
        return False
    if z != past:
        return z > past
    return float(g) > item or (float(g) == item and float(t) > face)


@subroutine
def _is_dense(surface, t, point):
    """Return whether the opacity at a point on a triangle is at least a half."""
    geometry, g, place, _, opacity, paint = surface
    x = mul_tv(place[0], sub(point, place[1]))
    weights = weights_at(mesh_corners(geometry, t), x)
    return opacity * paint_at(paint, g, t, weights, weights, weights)[3] >= 0.5


@kernel
def _point(pencil, x, y, z):
    """Return a line's point at a depth."""
    return (x, y, z) if pencil.is_parallel != 0 else (x * z, y * z, z)


# --- other shapes --------------------------------------------------------------------------------


@subroutine
def _walk_shape(surface, pencil_inout, polygon_out):
    """Intersect a shape with the lines in the cells around its bounding box."""
    geometry, g, place, _, _, _ = surface
    is_parallel, is_plane = pencil_inout.is_parallel != 0, geometry.shape[g] == PLANE
    first_column, end_column, first_row, end_row = 0, pencil_inout.columns, 0, pencil_inout.rows
    if not is_plane:
        first_column, end_column, first_row, end_row = _cells_around(
            geometry, g, place, pencil_inout, polygon_out
        )
    rotation, origin = place
    up = (rotation[0][2], rotation[1][2], rotation[2][2])
    for row in range(first_row, end_row):
        start = row * pencil_inout.columns
        first = pencil_inout.cell_start[start + first_column]
        for k in range(first, pencil_inout.cell_start[start + end_column]):
            x, y, limit = (
                pencil_inout.line[k, X],
                pencil_inout.line[k, Y],
                pencil_inout.line[k, DEPTH],
            )
            # lines that end above a plane do not meet it
            if not (is_plane and dot(up, sub(_point(pencil_inout, x, y, limit), origin)) > 0.0):
                z, face = math.inf, 0
                if is_parallel:
                    share, face = strike(
                        geometry, g, place, (x, y, -_AWAY), (0.0, 0.0, 1.0), limit + _AWAY, True
                    )
                    z = share - _AWAY
                else:
                    z, face = strike(geometry, g, place, ZERO, (x, y, 1.0), limit, True)
                if (
                    z < limit
                    and (is_parallel or z > 0.0)
                    and _is_beyond(pencil_inout, k, z, g, face)
                ):
                    pencil_inout.line[k, DEPTH] = z
                    pencil_inout.item[k] = g
                    pencil_inout.face[k] = face


@kernel
def _cells_around(geometry, g, place, pencil, polygon_out):
    """Return the cells around a geometry's bounding box, as `_cells_of`."""
    middle, half = load3(geometry.bounds, g, 0), load3(geometry.bounds, g, 3)
    origin = sub(mul_tv(place[0], scale(-1.0, place[1])), middle)
    if pencil.is_parallel == 0 and (
        abs(origin[0]) <= half[0] and abs(origin[1]) <= half[1] and abs(origin[2]) <= half[2]
    ):
        return 0, pencil.columns, 0, pencil.rows
    first_column, end_column, first_row, end_row = pencil.columns, 0, pencil.rows, 0
    # two triangles on each side hold the outline
    for axis in range(3):
        for sign in (-1.0, 1.0):
            for turn in (-1.0, 1.0):
                a = moved(place, box_corner(middle, half, axis, sign, -1.0, -1.0))
                b = moved(place, box_corner(middle, half, axis, sign, 1.0, 1.0))
                c = moved(place, box_corner(middle, half, axis, sign, turn, -turn))
                if not _is_out(a, b, c, pencil):
                    cells = _cells_of(a, b, c, pencil, polygon_out)
                    first_column = min(first_column, cells[0])
                    end_column = max(end_column, cells[1])
                    first_row = min(first_row, cells[2])
                    end_row = max(end_row, cells[3])
    # an empty range must not read backwards
    return first_column, max(first_column, end_column), first_row, end_row


# --- cells around an outline ---------------------------------------------------------------------


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
def _is_out(a, b, c, pencil):
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
def _is_box_out(box, row, place, pencil):
    """Return as `_is_out` for a box (least and greatest corner) in a geometry's frame."""
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
def _has_lines(pencil, cells):
    """Return whether there is a line in some cells."""
    first_column, end_column, first_row, end_row = cells
    for row in range(first_row, end_row):
        start = row * pencil.columns
        if pencil.cell_start[start + end_column] > pencil.cell_start[start + first_column]:
            return True
    return False


@kernel
def _cells_of_box(box, row, place, pencil):
    """Return as `_cells_of` for a box (least and greatest corner) in a geometry's frame."""
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
    return _cells_within(pencil, x_low, x_high, y_low, y_high)


@kernel
def _cells_of(a, b, c, pencil, polygon_out):
    """Return first and end column, first and end row around a triangle's outline."""
    ia, ib, ic = 1.0, 1.0, 1.0
    if pencil.is_parallel == 0:
        if not min(a[2], b[2], c[2]) > NEAREST * max(size_of(a), size_of(b), size_of(c)):
            return _cells_of_clipped(a, b, c, pencil, polygon_out)
        ia, ib, ic = 1.0 / a[2], 1.0 / b[2], 1.0 / c[2]
    return _cells_within(
        pencil,
        min(ia * a[0], ib * b[0], ic * c[0]),
        max(ia * a[0], ib * b[0], ic * c[0]),
        min(ia * a[1], ib * b[1], ic * c[1]),
        max(ia * a[1], ib * b[1], ic * c[1]),
    )


@subroutine
def _cells_of_clipped(a, b, c, pencil, polygon_out):
    """Return as `_cells_of` for a triangle that reaches behind the origin."""
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
    return _cells_within(pencil, x_low, x_high, y_low, y_high)


@kernel
def _cells_within(pencil, x_low, x_high, y_low, y_high):
    """Return the cells as `_cells_of` between bounds; none for reversed ones."""
    span = pencil.span
    first_column = max(math.floor((x_low - span[LOW_X]) * span[PER_X] - _SLACK), 0)
    end_column = math.floor((x_high - span[LOW_X]) * span[PER_X] + _SLACK) + 1
    first_row = max(math.floor((y_low - span[LOW_Y]) * span[PER_Y] - _SLACK), 0)
    end_row = math.floor((y_high - span[LOW_Y]) * span[PER_Y] + _SLACK) + 1
    first_column = min(first_column, pencil.columns)
    end_column = max(min(end_column, pencil.columns), first_column)
    return first_column, end_column, first_row, min(end_row, pencil.rows)
