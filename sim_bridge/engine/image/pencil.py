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
from sim_bridge.engine.data.corners import ACROSS_X, ACROSS_Y, Corners
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
from sim_bridge.engine.image.cells import (
    cells_of,
    cells_of_box,
    cells_within,
    has_lines,
    is_box_out,
    is_out,
)
from sim_bridge.engine.image.outline import (
    before,
    begin_mesh,
    box_corner,
    CLUSTER_LEVELS,
    corners_at,
    edge_plane,
    height_on,
    is_turned_away,
    moved,
    NEAREST,
    size_of,
)
from sim_bridge.engine.image.paint import paint_at, weights_at
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, store3, sub, ZERO

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
    corners_inout: Corners,
):
    """
    Find the nearest surface on each line, before its end.

    placed: (ng, 12) geometry poses. role: (ng,) IGNORED, WHOLE or CUT. cones: of closed meshes.
    opacity: (ng,). frame: (1, 12) the pencil's. corners_inout: scratch. Closed
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
                _walk_mesh(surface, cones, pencil_inout, corners_inout)
            elif geometry.shape[g] == HEIGHT_FIELD:
                _walk_field(surface, pencil_inout, corners_inout.polygon)
            else:
                _walk_shape(surface, pencil_inout, corners_inout.polygon)


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
def _walk_mesh(surface, cones, pencil_inout, corners_inout):
    """Walk a mesh's triangles, cluster by cluster."""
    geometry, g, place, _, _, _ = surface
    depth, visit = geometry.tree[g, 1], begin_mesh(corners_inout)
    level = max(depth - CLUSTER_LEVELS, 0)
    is_culled = geometry.flags[g] & SOLID != 0
    for node in range((1 << level) - 1, (2 << level) - 1):
        cluster, is_parallel = node - ((1 << level) - 1), pencil_inout.is_parallel != 0
        if not (
            is_turned_away(cones, g, cluster, place, is_parallel)
            or is_box_out(geometry.tree_box, geometry.tree[g, 0] + node, place, pencil_inout)
            or not has_lines(
                pencil_inout,
                cells_of_box(geometry.tree_box, geometry.tree[g, 0] + node, place, pencil_inout),
            )
        ):
            leaf = ((node + 1) << (depth - level)) - 1
            first, _ = leaf_triangles(geometry, g, leaf)
            _, end = leaf_triangles(geometry, g, leaf + (1 << (depth - level)) - 1)
            for t in range(first, end):
                _walk_face(surface, t, visit, is_culled, pencil_inout, corners_inout)


@kernel
def _walk_face(surface, t, visit, is_culled, pencil_inout, corners_inout):
    """Walk a triangle of a mesh; most have no lines around them, and end after the cells."""
    geometry, g, place, _, _, _ = surface
    base = geometry.vertex_range[g, 0]
    ia, ib, ic = (
        geometry.triangle[t, 0] - base,
        geometry.triangle[t, 1] - base,
        geometry.triangle[t, 2] - base,
    )
    for i in (ia, ib, ic):
        if corners_inout.stamp[i] != visit:
            corners_inout.stamp[i] = visit
            p = moved(place, load3(geometry.vertex, base + i, 0))
            _see_vertex(p, i, pencil_inout, corners_inout)
    xa, xb, xc = (
        corners_inout.seen[ia, ACROSS_X],
        corners_inout.seen[ib, ACROSS_X],
        corners_inout.seen[ic, ACROSS_X],
    )
    if math.isnan(xa + xb + xc):
        triangle = corners_at(corners_inout, ia, ib, ic)
        _walk_triangle(surface, triangle, t, is_culled, pencil_inout, corners_inout.polygon)
    else:
        ya, yb, yc = (
            corners_inout.seen[ia, ACROSS_Y],
            corners_inout.seen[ib, ACROSS_Y],
            corners_inout.seen[ic, ACROSS_Y],
        )
        cells = cells_within(
            pencil_inout, min(xa, xb, xc), max(xa, xb, xc), min(ya, yb, yc), max(ya, yb, yc)
        )
        if has_lines(pencil_inout, cells):
            triangle = corners_at(corners_inout, ia, ib, ic)
            a, b, c = triangle
            normal = cross(sub(b, a), sub(c, a))
            facing = normal[2] if pencil_inout.is_parallel != 0 else dot(a, normal)
            if (facing < 0.0 or (facing > 0.0 and not is_culled)) and not (
                min(a[2], b[2], c[2]) > pencil_inout.span[DEEPEST]
            ):
                _hit_triangle(surface, triangle, normal, facing, t, cells, pencil_inout)


@kernel
def _see_vertex(p, i, pencil, corners_inout):
    """Write a vertex, and its place across the lines; p: in the pencil's frame."""
    store3(corners_inout.point, i, 0, p)
    if pencil.is_parallel != 0:
        corners_inout.seen[i, ACROSS_X], corners_inout.seen[i, ACROSS_Y] = p[0], p[1]
    elif p[2] > NEAREST * size_of(p):
        share = 1.0 / p[2]
        corners_inout.seen[i, ACROSS_X] = share * p[0]
        corners_inout.seen[i, ACROSS_Y] = share * p[1]
    else:
        corners_inout.seen[i, ACROSS_X] = math.nan


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
    if (facing < 0.0 or (facing > 0.0 and not is_culled)) and not is_out(a, b, c, pencil_inout):
        cells = cells_of(a, b, c, pencil_inout, polygon_out)
        if has_lines(pencil_inout, cells):
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
            if nearest < pencil_inout.line[k, DEPTH] and min(wa, wb, wc) >= 0.0:
                z = 0.0
                if is_parallel:
                    z = (offset - normal[0] * x - normal[1] * y) / normal[2]
                else:
                    z = offset / height_on(normal, x, y)
                # the bounds correct rounding on triangles seen from the side
                z = max(nearest, min(farthest, z))
                limit = pencil_inout.line[k, DEPTH]
                if not is_parallel and pencil_inout.item[k] != g:
                    limit = before(limit)
                if (
                    z < limit
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
                    limit = before(limit)
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
    """Return the cells around a geometry's bounding box, as `cells_of`."""
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
                if not is_out(a, b, c, pencil):
                    cells = cells_of(a, b, c, pencil, polygon_out)
                    first_column = min(first_column, cells[0])
                    end_column = max(end_column, cells[1])
                    first_row = min(first_row, cells[2])
                    end_row = max(end_row, cells[3])
    # an empty range must not read backwards
    return first_column, max(first_column, end_column), first_row, end_row
