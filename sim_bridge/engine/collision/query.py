"""
Signed distances between any two geometries.

The distance to a mesh or height field is the distance to its nearest triangle. In contact, the
penetration depth is the greatest depth over all triangles; each triangle's depth is the minimum
translation that separates the triangle from the other shape. For a shape wholly inside a solid,
the depth is the translation out past the nearest triangle.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.mesh.mesh import is_inner, leaf_triangles, node_after
from sim_bridge.engine.collision.mesh.plane_mesh import lowest_of_node, plane_below
from sim_bridge.engine.collision.mesh.sunk import triangle_beyond, way_up
from sim_bridge.engine.collision.mesh.triangles import (
    box_in_frame,
    corners_in_world,
    farthest_point,
    is_outer,
    is_solid,
    near_triangle,
    next_triangle,
    triangle_box,
    unit_normal,
)
from sim_bridge.engine.collision.narrow.narrow import (
    column_distance,
    distance,
    triangle_distance,
    triangles_distance,
)
from sim_bridge.engine.data.geometry import HEIGHT_FIELD, MESH, PLANE, TERRAIN
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, sub, ZERO

OFF = 1e-9
"""Share of a height field's size that exceeds rounding errors near its surface."""


@kernel
def measure(
    geometry,  # model
    a,  # state (read)
    b,  # state (read)
    pose,  # state (read)
    scratch_inout,
):
    """
    Return the signed distance between two geometries, the nearest points on a and b, the normal.

    pose: (ng, 12) world poses of the geometries. The unit normal points from b towards a. The
    distance is nan between a height field and another height field or a plane.
    """
    pose_a, pose_b = load_pose(pose, a), load_pose(pose, b)
    if max(geometry.shape[a], geometry.shape[b]) < MESH:
        return distance(geometry, scratch_inout, a, b, pose_a, pose_b)
    if is_outer(geometry, a, b):
        gap, on_b, on_a, n = measure_surface(geometry, b, a, pose_b, pose_a, scratch_inout)
        return gap, on_a, on_b, scale(-1.0, n)
    return measure_surface(geometry, a, b, pose_a, pose_b, scratch_inout)


@kernel
def measure_surface(
    geometry,  # model
    other,  # state (read)
    surface,  # state (read)
    pose,  # state (read)
    pose_s,  # state (read)
    scratch_inout,
):
    """Measure a geometry against a surface (second argument); result as for `measure`."""
    shape = geometry.shape[other]
    if shape == MESH:
        return measure_meshes(geometry, other, surface, pose, pose_s, scratch_inout)
    if shape == PLANE and geometry.shape[surface] == MESH:
        return measure_plane_mesh(geometry, surface, pose_s, pose)
    if shape == PLANE or shape == HEIGHT_FIELD:
        nowhere = (math.nan, math.nan, math.nan)
        return math.nan, nowhere, nowhere, nowhere
    return measure_convex(geometry, other, surface, pose, pose_s, scratch_inout)


@subroutine
def measure_convex(
    geometry,  # model
    convex,  # state (read)
    surface,  # state (read)
    pose,  # state (read)
    pose_s,  # state (read)
    scratch_inout,
):
    """Measure a convex shape against a surface; result as for `measure`."""
    low, high = box_in_frame(geometry, convex, pose, pose_s, 0.0)
    best, facing = math.inf, 0.0
    on_convex = on_surface = n = ZERO
    # a near triangle first, so that the search has a bound
    t, cursor = near_triangle(geometry, surface, scale(0.5, add(low, high))), 0
    while t >= 0:
        x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
        gap, y, x, m = triangle_distance(geometry, scratch_inout, convex, pose, (x0, x1, x2))
        turned = dot(m, unit_normal(x0, x1, x2))
        # among triangles sharing the nearest point, the one facing most decides the side
        slack = 1e-9 * abs(gap)
        if gap < best - slack or (gap < best + slack and abs(turned) > abs(facing)):
            best, facing, on_convex, on_surface, n = gap, turned, y, x, m
        t, cursor = next_triangle_near(geometry, surface, low, high, best, cursor)
    is_sunk = facing < 0.0 and is_solid(geometry, surface)
    if best > 0.0 and is_sunk and geometry.flags[surface] & TERRAIN != 0:
        t, _ = triangle_beyond(
            geometry, surface, pose_s, on_convex, way_up(geometry, surface, pose_s)
        )
        is_sunk = t >= 0
    if best > 0.0 and geometry.shape[surface] == HEIGHT_FIELD:
        # test a little off the surface: rounding may put a touching point on either side
        size = load3(geometry.size, surface, 0)
        beyond = add(on_convex, scale(OFF * (size[0] + size[1]), n))
        is_sunk = is_below(geometry, surface, pose_s, beyond)
        if not is_over(geometry, surface, pose_s, on_convex):
            # the shape may reach through a wall into the solid, below the surface
            wall_gap, inner, wall, m = column_distance(
                geometry, scratch_inout, convex, pose, size, pose_s, low, high
            )
            if wall_gap <= 0.0 and is_below(geometry, surface, pose_s, inner):
                return wall_gap, inner, wall, m
            is_sunk = False
    if best > 0.0 and is_sunk:
        # the whole shape is inside: move it out past the nearest point
        n = scale(-1.0, n)
        far = farthest_point(geometry, convex, pose, scale(-1.0, n))
        return dot(n, sub(far, on_surface)), far, on_surface, n
    return best, on_convex, on_surface, n


@kernel
def is_over(geometry, field, pose, point):
    """Return whether a point is above or below a height field, not beside it."""
    x = mul_tv(pose[0], sub(point, pose[1]))
    return abs(x[0]) <= geometry.size[field, 0] and abs(x[1]) <= geometry.size[field, 1]


@kernel
def is_below(geometry, field, pose, point):
    """Return whether a point is below the continued surface of a height field."""
    t = near_triangle(geometry, field, mul_tv(pose[0], sub(point, pose[1])))
    x0, x1, x2 = corners_in_world(geometry, field, pose, t)
    return dot(unit_normal(x0, x1, x2), sub(point, x0)) < 0.0


@subroutine
def measure_meshes(
    geometry,  # model
    mesh,  # state (read)
    surface,  # state (read)
    pose,  # state (read)
    pose_s,  # state (read)
    scratch_inout,
):
    """Measure a mesh and a surface; see `measure`. A solid inside another counts as separate."""
    low, high = box_in_frame(geometry, surface, pose_s, pose, 0.0)
    best = math.inf
    on_mesh = on_surface = n = ZERO
    s, outer = near_triangle(geometry, mesh, scale(0.5, add(low, high))), 0
    while s >= 0:
        y0, y1, y2 = corners_in_world(geometry, mesh, pose, s)
        inner_low, inner_high = triangle_box(y0, y1, y2, pose_s, 0.0)
        t, cursor = near_triangle(geometry, surface, scale(0.5, add(inner_low, inner_high))), 0
        while t >= 0:
            x0, x1, x2 = corners_in_world(geometry, surface, pose_s, t)
            gap, y, x, m = triangles_distance(geometry, scratch_inout, (y0, y1, y2), (x0, x1, x2))
            if gap < best:
                best, on_mesh, on_surface, n = gap, y, x, m
            t, cursor = next_triangle_near(geometry, surface, inner_low, inner_high, best, cursor)
        s, outer = next_triangle_near(geometry, mesh, low, high, best, outer)
    return best, on_mesh, on_surface, n


@kernel
def next_triangle_near(geometry, surface, low, high, reach, cursor):
    """Find the next surface triangle within reach of a box; see `next_triangle`."""
    reach = max(reach, 0.0)
    return next_triangle(
        geometry,
        surface,
        sub(low, (reach, reach, reach)),
        add(high, (reach, reach, reach)),
        cursor,
    )


@subroutine
def measure_plane_mesh(geometry, mesh, pose, plane_pose):
    """Measure a plane against a mesh (second shape); result as for `measure`."""
    n, down, offset = plane_below(pose, plane_pose)
    best, lowest, node = math.inf, 0, 0
    while node >= 0:
        if lowest_of_node(geometry, mesh, node, down) + offset < best:
            if is_inner(geometry, mesh, node):
                node = 2 * node + 1
                continue
            first, end = leaf_triangles(geometry, mesh, node)
            for t in range(first, end):
                for k in range(3):
                    vertex = geometry.triangle[t, k]
                    height = dot(down, load3(geometry.vertex, vertex, 0)) + offset
                    if height < best:
                        best, lowest = height, vertex
        node = node_after(node)
    x = add(pose[1], mul_mv(pose[0], load3(geometry.vertex, lowest, 0)))
    # the normal points from the mesh to the plane, against the plane's normal
    return best, sub(x, scale(best, n)), x, scale(-1.0, n)
