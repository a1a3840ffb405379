"""
Surfaces seen by a view's pixels: the surfaces are walked, not the rays.

All rays start at one point, the view frame's origin. A triangle with the corners a, b, c
in the view frame is hit by the ray d if d . (b x c), d . (c x a) and d . (a x b) have one sign,
equal to the sign for a . (b x c). Products within their rounding errors from zero count, so no ray
passes between neighbours, along their edges or through their corners. Only the pixels around a
triangle's image are tested. The nearest surface wins, then the lower geometry, then the lower
triangle: neither row order nor the distribution among threads changes a bit.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import frame_in_world
from sim_bridge.engine.collision.mesh.height_field import field_corners
from sim_bridge.engine.collision.mesh.mesh import leaf_triangles
from sim_bridge.engine.collision.ray.spans import TOP
from sim_bridge.engine.collision.ray.strike import strike
from sim_bridge.engine.data.cones import Cones
from sim_bridge.engine.data.corners import ACROSS_X, ACROSS_Y, Corners, U, V
from sim_bridge.engine.data.geometry import (
    ENABLED,
    Geometry,
    HEIGHT_FIELD,
    LINE,
    MESH,
    PLANE,
    SENSOR,
    SOLID,
)
from sim_bridge.engine.data.lens import BROWN, Lens, PINHOLE
from sim_bridge.engine.data.picture import NOTHING, Picture, View, X_HIGH, X_LOW, Y_HIGH, Y_LOW
from sim_bridge.engine.image.lens import nearest_pixel
from sim_bridge.engine.image.outline import (
    before,
    begin_mesh,
    box_corner,
    CLUSTER_LEVELS,
    corners_at,
    edge_plane,
    height_on,
    is_aside,
    is_box_aside,
    is_turned_away,
    moved,
    NEAREST,
    size_of,
)
from sim_bridge.engine.image.pixels import (
    is_within,
    pixels_of,
    pixels_within,
    room_around,
    SLACK,
    turn_of,
)
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import cross, dot, load3, scale, store3, sub, ZERO


@entry
def clear(first_row: int, end_row: int, far: float, picture_inout: Picture):
    """
    Forget the surfaces in some rows.

    far: greatest depth [m]; farther surfaces are not seen. Writes the whole picture.
    """
    for v in range(first_row, end_row):
        picture_inout.distance[v] = far
        picture_inout.item[v] = NOTHING
        picture_inout.face[v] = 0


@entry
def finish(first_row: int, end_row: int, lens: Lens, view: View, picture_inout: Picture):
    """
    Convert depths in some rows from the view frame to multiples of the rays, as in `Picture`.

    Call it once for each view, after `cover`. Writes `picture_inout.distance`, infinite where
    nothing is seen.
    """
    has_unit_rays = lens.model != PINHOLE and lens.model != BROWN
    for v in range(first_row, end_row):
        for u in range(picture_inout.distance.shape[1]):
            if picture_inout.item[v, u] == NOTHING:
                picture_inout.distance[v, u] = math.inf
        if has_unit_rays:
            _stretch(v, view, picture_inout)


@kernel
def _stretch(v, view, picture_inout):
    """Convert depths in a row to distances."""
    for u in range(picture_inout.distance.shape[1]):
        x, y = view.ray[v, u, 0], view.ray[v, u, 1]
        if picture_inout.item[v, u] != NOTHING and not math.isnan(x):
            length = math.sqrt(1.0 + x * x + y * y)
            picture_inout.distance[v, u] = picture_inout.distance[v, u] * length


@entry
def cover(
    geometry: Geometry,
    pose: FloatMatrix,
    camera: FloatMatrix,
    seen: IntVector,
    cones: Cones,
    lens: Lens,
    view: View,
    first_row: int,
    end_row: int,
    picture_inout: Picture,
    corners_inout: Corners,
):
    """
    Find the nearest surface on each ray in a band: some consecutive rows.

    pose: (nb, 12) body poses. camera: (1, 12) camera frame in the world. seen: (ng,) 0 for
    geometries to ignore, or (0,); sensors are ignored. cones: of closed meshes. corners_inout:
    scratch. The picture, prepared by `clear`, gets depths
    along the view frame's z. Closed meshes and convex shapes are seen from outside only, height
    fields and open meshes from both sides.
    """
    R, p = load_pose(camera, 0)
    to_view = mul_mm(turn_of(view), transposed(R))
    band = _band(view, first_row, end_row)
    frustum = (lens, view, band, (first_row, end_row))
    if band[0] > band[1]:
        return
    for g in range(geometry.body.shape[0]):
        if geometry.flags[g] & (ENABLED | LINE | SENSOR) == ENABLED and (
            seen.shape[0] == 0 or seen[g] != 0
        ):
            S, q = frame_in_world(geometry, g, pose)
            place = (mul_mm(to_view, S), mul_mv(to_view, sub(q, p)))
            if geometry.shape[g] == MESH:
                _cover_mesh(geometry, g, place, cones, frustum, picture_inout, corners_inout)
            elif geometry.shape[g] == HEIGHT_FIELD:
                _cover_field(geometry, g, place, frustum, picture_inout, corners_inout.polygon)
            elif geometry.shape[g] == PLANE:
                _cover_plane(g, place, frustum, picture_inout)
            else:
                _cover_shape(geometry, g, place, frustum, picture_inout, corners_inout.polygon)


@kernel
def _band(view, first_row, end_row):
    """Return the bounds on x and y in a band, as X_LOW to Y_HIGH; reversed for no ray."""
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for v in range(first_row, end_row):
        x_low, x_high = min(x_low, view.span[v, X_LOW]), max(x_high, view.span[v, X_HIGH])
        y_low, y_high = min(y_low, view.span[v, Y_LOW]), max(y_high, view.span[v, Y_HIGH])
    # rounding errors in rays and products
    room_x, room_y = 1e-9 * (x_high - x_low) + 1e-12, 1e-9 * (y_high - y_low) + 1e-12
    return x_low - room_x, x_high + room_x, y_low - room_y, y_high + room_y


# --- meshes and height fields --------------------------------------------------------------------


@subroutine
def _cover_mesh(geometry, g, place, cones, frustum, picture_inout, corners_inout):
    """Cover with a mesh's triangles, cluster by cluster; place: its pose in the view."""
    depth, band, visit = geometry.tree[g, 1], frustum[2], begin_mesh(corners_inout)
    level = max(depth - CLUSTER_LEVELS, 0)
    is_culled = geometry.flags[g] & SOLID != 0
    for node in range((1 << level) - 1, (2 << level) - 1):
        if not (
            is_turned_away(cones, g, node - ((1 << level) - 1), place, False)
            or is_box_aside(geometry.tree_box, geometry.tree[g, 0] + node, place, band)
        ):
            leaf = ((node + 1) << (depth - level)) - 1
            first, _ = leaf_triangles(geometry, g, leaf)
            _, end = leaf_triangles(geometry, g, leaf + (1 << (depth - level)) - 1)
            for t in range(first, end):
                surface = (geometry, g, t, place, visit)
                _cover_mesh_triangle(surface, is_culled, frustum, picture_inout, corners_inout)


@kernel
def _cover_mesh_triangle(surface, is_culled, frustum, picture_inout, corners_inout):
    """Cover with a triangle of a mesh; most contain no pixel's centre, and end after the box."""
    geometry, g, t, place, visit = surface
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
            _project_vertex(p, i, frustum, corners_inout)
    ua, ub, uc = corners_inout.seen[ia, U], corners_inout.seen[ib, U], corners_inout.seen[ic, U]
    if math.isnan(ua + ub + uc):
        triangle = corners_at(corners_inout, ia, ib, ic)
        _cover_triangle(triangle, g, t, is_culled, frustum, picture_inout, corners_inout.polygon)
    else:
        va, vb, vc = (
            corners_inout.seen[ia, V],
            corners_inout.seen[ib, V],
            corners_inout.seen[ic, V],
        )
        room = SLACK
        if frustum[1].bend > 0.0:
            xa, xb, xc = (
                corners_inout.seen[ia, ACROSS_X],
                corners_inout.seen[ib, ACROSS_X],
                corners_inout.seen[ic, ACROSS_X],
            )
            ya, yb, yc = (
                corners_inout.seen[ia, ACROSS_Y],
                corners_inout.seen[ib, ACROSS_Y],
                corners_inout.seen[ic, ACROSS_Y],
            )
            wide, high = max(xa, xb, xc) - min(xa, xb, xc), max(ya, yb, yc) - min(ya, yb, yc)
            room = room_around(frustum[1], wide, high)
        box = pixels_within(
            frustum,
            min(ua, ub, uc) - room,
            max(ua, ub, uc) + room,
            min(va, vb, vc) - room,
            max(va, vb, vc) + room,
        )
        if box[0] < box[1] and box[2] < box[3]:
            triangle = corners_at(corners_inout, ia, ib, ic)
            a, b, c = triangle
            normal = cross(sub(b, a), sub(c, a))
            offset = dot(a, normal)
            if offset < 0.0 or (offset > 0.0 and not is_culled):
                _fill_triangle(triangle, normal, offset, box, frustum[1], g, t, picture_inout)


@kernel
def _project_vertex(p, i, frustum, corners_inout):
    """Write a vertex, and its pixel; p: in the view frame."""
    lens, view, _, _ = frustum
    store3(corners_inout.point, i, 0, p)
    corners_inout.seen[i, U] = math.nan
    if lens.model == PINHOLE:
        if p[2] > NEAREST * size_of(p):
            share = 1.0 / p[2]
            x, y = share * p[0], share * p[1]
            corners_inout.seen[i, U] = lens.fx * x + float(lens.skew * y) + lens.cx
            corners_inout.seen[i, V] = lens.fy * y + lens.cy
    elif is_within(p, view.domain):
        u, v = nearest_pixel(lens, mul_tv(turn_of(view), p))
        corners_inout.seen[i, ACROSS_X], corners_inout.seen[i, ACROSS_Y] = p[0] / p[2], p[1] / p[2]
        corners_inout.seen[i, U], corners_inout.seen[i, V] = u, v


@subroutine
def _cover_field(geometry, g, place, frustum, picture_inout, polygon_out):
    """Cover with a height field's triangles."""
    for t in range(2 * (geometry.grid[g, 1] - 1) * (geometry.grid[g, 2] - 1)):
        a, b, c = field_corners(geometry, g, t)
        corners = (moved(place, a), moved(place, b), moved(place, c))
        _cover_triangle(corners, g, t, False, frustum, picture_inout, polygon_out)


@kernel
def _cover_triangle(corners, g, t, is_culled, frustum, picture_inout, polygon_out):
    """Cover with one triangle; corners: in the view frame."""
    (a, b, c), (_, view, band, _) = corners, frustum
    normal = cross(sub(b, a), sub(c, a))
    offset = dot(a, normal)
    # a back face has its normal away from the origin
    if (offset < 0.0 or (offset > 0.0 and not is_culled)) and not is_aside(a, b, c, band):
        box = pixels_of(a, b, c, frustum, polygon_out)
        _fill_triangle(corners, normal, offset, box, view, g, t, picture_inout)


@kernel
def _fill_triangle(corners, normal, offset, box, view, g, t, picture_inout):
    """Write a triangle to the pixels whose rays hit it before the surfaces written so far."""
    a, b, c = corners
    side = 1.0 if offset > 0.0 else -1.0
    size_a, size_b, size_c, room = size_of(a), size_of(b), size_of(c), _rounding(view)
    ea = edge_plane(b, c, side, room * size_b * size_c)
    eb = edge_plane(c, a, side, room * size_c * size_a)
    ec = edge_plane(a, b, side, room * size_a * size_b)
    nearest, farthest = min(a[2], b[2], c[2]), max(a[2], b[2], c[2])
    first_column, end_column, first_row, end_row = box
    for v in range(first_row, end_row):
        for u in range(first_column, end_column):
            x, y = view.ray[v, u, 0], view.ray[v, u, 1]
            wa, wb, wc = height_on(ea, x, y), height_on(eb, x, y), height_on(ec, x, y)
            if min(wa, wb, wc) >= 0.0:
                # the bounds correct rounding on triangles seen from the side
                z = max(nearest, min(farthest, offset / height_on(normal, x, y)))
                limit = picture_inout.distance[v, u]
                if picture_inout.item[v, u] != g:
                    limit = before(limit)
                if 0.0 < z < limit:
                    picture_inout.distance[v, u] = z
                    picture_inout.item[v, u] = g
                    picture_inout.face[v, u] = t


@kernel
def _rounding(view):
    """
    Return the rounding error in (b x c) . (x, y, 1) for all rays in a view, over |b| |c|.

    A coordinate b0 c1 - b1 c0 has an error up to two units in the last place, and each sum adds
    one. The bounds on x and y are taken from the whole view: bands do not matter.
    """
    domain = view.domain
    across = max(-domain[X_LOW], domain[X_HIGH]) + max(-domain[Y_LOW], domain[Y_HIGH])
    return 2e-15 * (1.0 + across)


# --- other shapes --------------------------------------------------------------------------------


@subroutine
def _cover_plane(g, place, frustum, picture_inout):
    """Cover with a plane, seen from above only."""
    _, view, _, (first_row, end_row) = frustum
    rotation, origin = place
    up = (rotation[0][2], rotation[1][2], rotation[2][2])
    offset = dot(up, origin)
    if offset < 0.0:
        for v in range(first_row, end_row):
            for u in range(view.ray.shape[1]):
                rate = height_on(up, view.ray[v, u, 0], view.ray[v, u, 1])
                if rate < 0.0:
                    z = offset / rate
                    if z < before(picture_inout.distance[v, u]):
                        picture_inout.distance[v, u] = z
                        picture_inout.item[v, u] = g
                        picture_inout.face[v, u] = TOP


@subroutine
def _cover_shape(geometry, g, place, frustum, picture_inout, polygon_out):
    """Cover with a shape by its intersections with the rays around its bounding box."""
    _, view, _, _ = frustum
    first_column, end_column, first_row, end_row = _pixels_around(
        geometry, g, place, frustum, polygon_out
    )
    for v in range(first_row, end_row):
        for u in range(first_column, end_column):
            x, y = view.ray[v, u, 0], view.ray[v, u, 1]
            if not math.isnan(x):
                limit = before(picture_inout.distance[v, u])
                z, face = strike(geometry, g, place, ZERO, (x, y, 1.0), limit, True)
                if 0.0 < z < limit:
                    picture_inout.distance[v, u] = z
                    picture_inout.item[v, u] = g
                    picture_inout.face[v, u] = face


@kernel
def _pixels_around(geometry, g, place, frustum, polygon_out):
    """Return the pixels around a geometry's bounding box, as `pixels_of`."""
    _, view, band, row_span = frustum
    middle, half = load3(geometry.bounds, g, 0), load3(geometry.bounds, g, 3)
    origin = sub(mul_tv(place[0], scale(-1.0, place[1])), middle)
    if abs(origin[0]) <= half[0] and abs(origin[1]) <= half[1] and abs(origin[2]) <= half[2]:
        return 0, view.ray.shape[1], row_span[0], row_span[1]
    first_column, end_column, first_row, end_row = view.ray.shape[1], 0, row_span[1], row_span[0]
    # two triangles on each side hold the outline in the image
    for axis in range(3):
        for sign in (-1.0, 1.0):
            for turn in (-1.0, 1.0):
                a = moved(place, box_corner(middle, half, axis, sign, -1.0, -1.0))
                b = moved(place, box_corner(middle, half, axis, sign, 1.0, 1.0))
                c = moved(place, box_corner(middle, half, axis, sign, turn, -turn))
                if not is_aside(a, b, c, band):
                    box = pixels_of(a, b, c, frustum, polygon_out)
                    first_column, end_column = min(first_column, box[0]), max(end_column, box[1])
                    first_row, end_row = min(first_row, box[2]), max(end_row, box[3])
    return first_column, end_column, first_row, end_row
