"""Common access to triangles in meshes and height fields: enumeration, corners, normals."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import half_extents
from sim_bridge.engine.collision.mesh.height_field import (
    field_corners,
    field_has_normal,
    near_field_triangle,
    next_field_triangle,
)
from sim_bridge.engine.collision.mesh.mesh import (
    mesh_corners,
    mesh_has_normal,
    near_mesh_triangle,
    next_mesh_triangle,
)
from sim_bridge.engine.collision.support import margin_of, shape_of, support
from sim_bridge.engine.data.geometry import HEIGHT_FIELD, MESH, SOLID
from sim_bridge.engine.math.mat3 import mul_mm, mul_mv, mul_tv, transposed
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, scale, sub, ZERO


@subroutine
def next_triangle(geometry, g, low, high, cursor):
    """Find the next triangle of a surface in a box; see `mesh.next_mesh_triangle`."""
    if geometry.shape[g] == MESH:
        return next_mesh_triangle(geometry, g, low, high, cursor)
    return next_field_triangle(geometry, g, low, high, cursor)


@subroutine
def near_triangle(geometry, g, point):
    """Return a surface triangle near a point; both in the surface's frame."""
    if geometry.shape[g] == MESH:
        return near_mesh_triangle(geometry, g, point)
    return near_field_triangle(geometry, g, point)


@kernel
def has_normal(geometry, g, t, n):
    """Return whether a surface allows the normal n (own frame) if t is farthest along n."""
    if geometry.shape[g] == MESH:
        return mesh_has_normal(geometry, g, t, n)
    return field_has_normal(geometry, g, t, n)


@kernel
def is_solid(geometry, g):
    """Return whether a surface has an inside."""
    return geometry.shape[g] == HEIGHT_FIELD or geometry.flags[g] & SOLID != 0


@kernel
def triangle_number(geometry, g, t):
    """Return a triangle's number within its surface."""
    return t - geometry.triangle_range[g, 0] if geometry.shape[g] == MESH else t


@kernel
def triangle_of_feature(geometry, g, feature):
    """Return the surface triangle of a convex shape's contact point, see `surface`."""
    number = feature >> 20
    return number + geometry.triangle_range[g, 0] if geometry.shape[g] == MESH else number


@subroutine
def corners_in_world(geometry, g, pose, t):
    """Return the world positions of a triangle's corners."""
    if geometry.shape[g] == MESH:
        x0, x1, x2 = mesh_corners(geometry, t)
    else:
        x0, x1, x2 = field_corners(geometry, g, t)
    R, p = pose
    return add(p, mul_mv(R, x0)), add(p, mul_mv(R, x1)), add(p, mul_mv(R, x2))


@kernel
def unit_normal(x0, x1, x2):
    """Return a triangle's unit normal; zero for a degenerate triangle."""
    n = cross(sub(x1, x0), sub(x2, x0))
    square = dot(n, n)
    return scale(1.0 / math.sqrt(square) if square > 0.0 else 0.0, n)


@kernel
def is_beside(x, direction, x0, x1, x2):
    """Return whether a line through x intersects a triangle, or its rim within rounding."""
    n = cross(sub(x1, x0), sub(x2, x0))
    a = dot(cross(sub(x1, x0), sub(x, x0)), direction)
    b = dot(cross(sub(x2, x1), sub(x, x1)), direction)
    c = dot(cross(sub(x0, x2), sub(x, x2)), direction)
    side = dot(n, direction)
    slack = -1e-9 * abs(side)
    if side < 0.0:
        a, b, c = -a, -b, -c
    return side != 0.0 and a >= slack and b >= slack and c >= slack


@kernel
def box_in_frame(geometry, g, pose, frame, limit):
    """Return a geometry's bounding box (low, high) in another frame, enlarged by `limit`."""
    R, p = pose
    axes = transposed(frame[0])
    centre = mul_mv(axes, sub(add(p, mul_mv(R, load3(geometry.bounds, g, 0))), frame[1]))
    half = half_extents(
        geometry.shape[g],
        load3(geometry.size, g, 0),
        load3(geometry.bounds, g, 3),
        mul_mm(axes, R),
    )
    half = add(half, (limit, limit, limit))
    return sub(centre, half), add(centre, half)


@kernel
def triangle_box(x0, x1, x2, frame, limit):
    """Return a triangle's bounding box (low, high) in a frame, enlarged by `limit`."""
    R, p = frame
    a, b, c = mul_tv(R, sub(x0, p)), mul_tv(R, sub(x1, p)), mul_tv(R, sub(x2, p))
    return (
        (
            min(a[0], b[0], c[0]) - limit,
            min(a[1], b[1], c[1]) - limit,
            min(a[2], b[2], c[2]) - limit,
        ),
        (
            max(a[0], b[0], c[0]) + limit,
            max(a[1], b[1], c[1]) + limit,
            max(a[2], b[2], c[2]) + limit,
        ),
    )


@kernel
def is_outer(geometry, a, b):
    """
    Return whether geometry a is the surface in a pair, and b the other shape; else vice versa.

    A mesh or height field is the surface; of two, the one with more triangles.
    """
    if geometry.shape[a] != geometry.shape[b]:
        return geometry.shape[a] > geometry.shape[b]
    return (
        geometry.triangle_range[a, 1] - geometry.triangle_range[a, 0]
        > geometry.triangle_range[b, 1] - geometry.triangle_range[b, 0]
    )


@subroutine
def farthest_point(geometry, g, pose, d):
    """Return a convex shape's point farthest along the unit vector d."""
    shape = shape_of(geometry, g, pose, ZERO)
    core, _ = support(geometry, shape, geometry.vertex_range[g, 0], d)
    return add(core, scale(margin_of(shape), d))
