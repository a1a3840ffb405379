"""
Height fields: triangles of their cells, and the contact normals they allow.

Each cell is cut along the diagonal from its greatest x to its greatest y, as in AGX. Triangle 2 k
is the half of cell k with the least coordinates, triangle 2 k + 1 the other half. Cells are
counted along x, row by row.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.mesh.mesh import farthest_corners, rises
from sim_bridge.engine.math.vec3 import cross, dot, sub


@kernel
def field_vertex(geometry, g, row, column):
    """Return a grid point in the geometry's frame [m]."""
    grid = geometry.grid[g]
    first, rows, columns = grid[0], grid[1], grid[2]
    x = geometry.size[g, 0] * (2.0 * column / (columns - 1) - 1.0)
    y = geometry.size[g, 1] * (2.0 * row / (rows - 1) - 1.0)
    return x, y, geometry.height[first + row * columns + column]


@kernel
def field_corners(geometry, g, t):
    """Return a triangle's corners in the geometry's frame, counter-clockwise seen from above."""
    cells = geometry.grid[g, 2] - 1
    row, column = t // 2 // cells, t // 2 % cells
    right = field_vertex(geometry, g, row, column + 1)
    above = field_vertex(geometry, g, row + 1, column)
    if t & 1 == 0:
        return field_vertex(geometry, g, row, column), right, above
    return right, field_vertex(geometry, g, row + 1, column + 1), above


@kernel
def next_field_triangle(geometry, g, low, high, cursor):
    """Find the next triangle above or below a box; see `mesh.next_mesh_triangle`."""
    rows, columns = geometry.grid[g, 1] - 1, geometry.grid[g, 2] - 1
    first_row, last_row = _cells(low[1], high[1], geometry.size[g, 1], rows)
    first_column, last_column = _cells(low[0], high[0], geometry.size[g, 0], columns)
    if cursor < 0 or first_row > last_row or first_column > last_column:
        return -1, -2
    row, column = cursor // 2 // columns, cursor // 2 % columns
    if row < first_row:
        row, column, cursor = first_row, first_column, 0
    elif column < first_column:
        column, cursor = first_column, 0
    while row <= last_row:
        while column <= last_column:
            # boxes below the surface are inside the solid
            if _top(geometry, g, row, column) >= low[2]:
                t = 2 * (row * columns + column) + (cursor & 1)
                return t, t + 1
            column += 1
            cursor = 0
        row, column, cursor = row + 1, first_column, 0
    return -1, -2


@kernel
def _cells(low, high, half, count):
    """Return the first and last cell overlapping an interval on a side; first > last for none."""
    scale = 0.5 * count / half if half > 0.0 else 0.0
    first = math.floor(min(max((low + half) * scale, -1.0), count + 1.0))
    last = math.floor(min(max((high + half) * scale, -1.0), count + 1.0))
    if first > count or last < 0:
        return 0, -1
    return min(max(int(first), 0), count - 1), min(max(int(last), 0), count - 1)


@kernel
def _top(geometry, g, row, column):
    """Return a cell's greatest height."""
    columns = geometry.grid[g, 2]
    at = geometry.grid[g, 0] + row * columns + column
    return max(
        geometry.height[at],
        geometry.height[at + 1],
        geometry.height[at + columns],
        geometry.height[at + columns + 1],
    )


@kernel
def near_field_triangle(geometry, g, point):
    """Return the triangle above or below a point, or the nearest one beside it; own frame."""
    rows, columns = geometry.grid[g, 1] - 1, geometry.grid[g, 2] - 1
    x = 0.5 * columns * (point[0] / geometry.size[g, 0] + 1.0)
    y = 0.5 * rows * (point[1] / geometry.size[g, 1] + 1.0)
    column = min(max(math.floor(x), 0.0), columns - 1.0)
    row = min(max(math.floor(y), 0.0), rows - 1.0)
    half = 0 if x - column + (y - row) <= 1.0 else 1
    return 2 * (int(row) * columns + int(column)) + half


@kernel
def field_has_normal(geometry, g, t, n):
    """Return whether the surface allows the normal n (own frame); see `mesh.mesh_has_normal`."""
    x0, x1, x2 = field_corners(geometry, g, t)
    if dot(cross(sub(x1, x0), sub(x2, x0)), n) < 0.0:
        return False
    is_far0, is_far1, is_far2 = farthest_corners(x0, x1, x2, n)
    if is_far0 and is_far1 and is_far2:
        return True
    cells = geometry.grid[g, 2] - 1
    row, column = t // 2 // cells, t // 2 % cells
    is_low = t & 1 == 0
    # corner across each edge, for the half with the least coordinates and for the other
    if is_far0 and is_far1:
        up, right = (-1, 1) if is_low else (0, 2)
        return not _field_rises(geometry, g, x0, row + up, column + right, n)
    if is_far1 and is_far2:
        up, right = (1, 1) if is_low else (2, 0)
        return not _field_rises(geometry, g, x1, row + up, column + right, n)
    if is_far2 and is_far0:
        up, right = (1, -1) if is_low else (0, 0)
        return not _field_rises(geometry, g, x0, row + up, column + right, n)
    corner = x0
    if is_far1:
        row, column, corner = row + (t & 1), column + 1, x1
    elif is_far2:
        row, corner = row + 1, x2
    else:
        column += t & 1
    for up, right in ((-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1)):
        if _field_rises(geometry, g, corner, row + up, column + right, n):
            return False
    return True


@kernel
def _field_rises(geometry, g, corner, row, column, n):
    """Return whether a grid point exists and is farther along n than a corner."""
    rows, columns = geometry.grid[g, 1], geometry.grid[g, 2]
    if row < 0 or column < 0 or row >= rows or column >= columns:
        return False
    return rises(corner, field_vertex(geometry, g, row, column), n)
