"""
First crossing between a line and a mesh or height field surface, in its frame.

A line through a common edge or corner never slips between triangles: each corner has one
projection along the line, and neighbours compute an edge with exactly opposite signs (Woop,
Benthin and Wald, Watertight ray/triangle intersection, 2013).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.mesh.height_field import field_corners
from sim_bridge.engine.collision.mesh.mesh import leaf_triangles, mesh_corners
from sim_bridge.engine.collision.mesh.triangles import unit_normal
from sim_bridge.engine.collision.ray.tree import next_leaf, slabs_of
from sim_bridge.engine.data.geometry import MESH
from sim_bridge.engine.math.vec3 import cross, dot, perpendicular, scale, sub

_SLACK = 1e-9
"""Share of a height field's cell, and of its height, that also counts to the neighbours."""


@subroutine
def surface_crossing(geometry, g, o, d, dd, low, high, is_culled):
    """
    Return the least t from low to high at which a line crosses a surface, and the triangle.

    o, d, dd: as in `ray.spans`. is_culled: whether lines pass through the back of triangles. t is
    infinite without a crossing.
    """
    if geometry.shape[g] == MESH:
        return _mesh_crossing(geometry, g, o, d, dd, low, high, is_culled)
    return _field_crossing(geometry, g, o, d, dd, low, high, is_culled)


@subroutine
def surface_normal(geometry, g, t):
    """Return a triangle's unit normal, own frame: outward, upward, or by its corner order."""
    if geometry.shape[g] == MESH:
        x0, x1, x2 = mesh_corners(geometry, t)
    else:
        x0, x1, x2 = field_corners(geometry, g, t)
    return unit_normal(x0, x1, x2)


@kernel
def _axes_across(d, dd):
    """Return two vectors orthogonal to d and to each other, right-handed with d."""
    ahead = scale(1.0 / math.sqrt(dd), d)
    side = perpendicular(ahead)
    return side, cross(ahead, side)


@kernel
def _triangle_crossing(x0, x1, x2, o, d, dd, across, is_culled):
    """Return a line's crossing parameter t with a triangle; infinite without a crossing."""
    a, b, c = sub(x0, o), sub(x1, o), sub(x2, o)
    e, f = across
    ax, ay = dot(e, a), dot(f, a)
    bx, by = dot(e, b), dot(f, b)
    cx, cy = dot(e, c), dot(f, c)
    # two roundings each, so that the neighbour gets the exact opposite value for the edge
    u = float(cx * by) - float(cy * bx)
    v = float(ax * cy) - float(ay * cx)
    w = float(bx * ay) - float(by * ax)
    area = u + v + w
    is_missed = (min(u, v, w) < 0.0 and max(u, v, w) > 0.0) or area == 0.0
    if is_missed or (is_culled and area < 0.0):
        return math.inf
    return (u * dot(a, d) + v * dot(b, d) + w * dot(c, d)) / (area * dd)


@kernel
def _mesh_crossing(geometry, g, o, d, dd, low, high, is_culled):
    root, depth = geometry.tree[g, 0], geometry.tree[g, 1]
    size = (
        geometry.radius[g]
        + abs(geometry.bounds[g, 0])
        + (abs(geometry.bounds[g, 1]) + abs(geometry.bounds[g, 2]))
    )
    slabs, across = slabs_of(o, d, size), _axes_across(d, dd)
    best, nearest = math.inf, 0
    node, trail = next_leaf(geometry.tree_box, root, depth, slabs, low, high, -1, 0)
    while node >= 0:
        first, end = leaf_triangles(geometry, g, node)
        for k in range(first, end):
            x0, x1, x2 = mesh_corners(geometry, k)
            t = _triangle_crossing(x0, x1, x2, o, d, dd, across, is_culled)
            if low <= t <= high and t < best:
                best, nearest, high = t, k, t
        node, trail = next_leaf(geometry.tree_box, root, depth, slabs, low, high, node, trail)
    return best, nearest


@kernel
def _field_crossing(geometry, g, o, d, dd, low, high, is_culled):
    """Walk along the strips of cells across the axis with the fastest change."""
    across = _axes_across(d, dd)
    cells = (geometry.grid[g, 2] - 1, geometry.grid[g, 1] - 1)
    per_x, per_y = 0.5 * cells[0] / geometry.size[g, 0], 0.5 * cells[1] / geometry.size[g, 1]
    at = (per_x * (o[0] + geometry.size[g, 0]), per_y * (o[1] + geometry.size[g, 1]))
    rate = (per_x * d[0], per_y * d[1])
    along = 0 if abs(rate[0]) >= abs(rate[1]) else 1
    aside = 1 - along
    for axis in (0, 1):
        begin, end = _within(at[axis], rate[axis], 0.0, float(cells[axis]), low, high)
        low, high = max(low, begin), min(high, end)
    top = geometry.bounds[g, 2] + geometry.bounds[g, 5]
    begin, end = _within(o[2], d[2], -math.inf, top + _SLACK * abs(top), low, high)
    low, high = max(low, begin), min(high, end)
    best, nearest = math.inf, 0
    if low > high:
        return best, nearest
    first, last = _cells_between(at[along], rate[along], low, high, cells[along])
    for k in range(last - first + 1):
        strip = first + k if rate[along] > 0.0 else last - k
        begin, end = _within(at[along], rate[along], float(strip), strip + 1.0, low, high)
        begin, end = max(low, begin), min(high, end)
        near, far = _cells_between(at[aside], rate[aside], begin, end, cells[aside])
        under, over = o[2] + begin * d[2], o[2] + end * d[2]
        under, over = min(under, over), max(under, over)
        for number in range(near, far + 1):
            row, column = (number, strip) if along == 0 else (strip, number)
            if _is_reached(geometry, g, row, column, under, over):
                for half in range(2):
                    triangle = 2 * (row * cells[0] + column) + half
                    x0, x1, x2 = field_corners(geometry, g, triangle)
                    t = _triangle_crossing(x0, x1, x2, o, d, dd, across, is_culled)
                    if low <= t <= high and t < best:
                        best, nearest = t, triangle
        if best <= end:
            break
    return best, nearest


@kernel
def _within(z, rate, least, greatest, low, high):
    """Return the t interval with z + t rate between two numbers, plus slack; else (inf, -inf)."""
    slack = _SLACK * (1.0 + abs(z))
    least, greatest = least - slack, greatest + slack
    if rate == 0.0:
        return (low, high) if least <= z <= greatest else (math.inf, -math.inf)
    s, t = (least - z) / rate, (greatest - z) / rate
    return min(s, t), max(s, t)


@kernel
def _cells_between(z, rate, low, high, count):
    """Return the first and last cell that a line passes between low and high."""
    slack = _SLACK * (1.0 + abs(z))
    s, t = z + low * rate, z + high * rate
    first = math.floor(min(max(min(s, t) - slack, 0.0), count - 1.0))
    last = math.floor(min(max(max(s, t) + slack, 0.0), count - 1.0))
    return first, last


@kernel
def _is_reached(geometry, g, row, column, under, over):
    """Return whether a cell's heights overlap the heights from `under` to `over`."""
    columns = geometry.grid[g, 2]
    at = geometry.grid[g, 0] + row * columns + column
    a, b = geometry.height[at], geometry.height[at + 1]
    c, d = geometry.height[at + columns], geometry.height[at + columns + 1]
    low, high = min(a, b, c, d), max(a, b, c, d)
    slack = _SLACK * (abs(low) + abs(high) + abs(under) + abs(over))
    return high + slack >= under and low - slack <= over
