"""
Triangle meshes: triangles in a box, and the contact normals they allow.

A corner between coplanar triangles is no corner of the surface, yet a single triangle at the rim
of a contact would push sideways. A normal is therefore valid only if it lies in the surface's
normal cone at the touching corner, edge or face: no neighbouring vertex reaches farther along it.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.tree import next_node
from sim_bridge.engine.data.geometry import SOLID
from sim_bridge.engine.math.vec3 import cross, dot, load3, norm, sub

SLACK = 1e-3
"""Angle by which a normal may leave the normal cone [rad]."""


@kernel
def mesh_corners(geometry, t):
    """Return a triangle's corners in the mesh's frame."""
    return (
        load3(geometry.vertex, geometry.triangle[t, 0], 0),
        load3(geometry.vertex, geometry.triangle[t, 1], 0),
        load3(geometry.vertex, geometry.triangle[t, 2], 0),
    )


@kernel
def next_mesh_triangle(geometry, g, low, high, cursor):
    """
    Find the next triangle whose leaf overlaps a box in the mesh's frame.

    cursor: 0 for the first call, then the cursor returned by the last call. Returns the triangle
    (-1 after the last) and the cursor.
    """
    root = geometry.tree[g, 0]
    node, is_second = cursor >> 1, cursor & 1
    while node >= 0:
        if is_second == 0 and not _overlaps(geometry.tree_box, root + node, low, high):
            node = node_after(node)
        elif is_inner(geometry, g, node):
            node = 2 * node + 1
        else:
            # a leaf holds one or two triangles
            t, end = leaf_triangles(geometry, g, node)
            if is_second == 1:
                return t + 1, 2 * node_after(node)
            return t, 2 * node + 1 if end - t > 1 else 2 * node_after(node)
    return -1, -2


@kernel
def is_inner(geometry, g, node):
    """Return whether a node in a mesh's tree has children."""
    return node < (1 << geometry.tree[g, 1]) - 1


@kernel
def leaf_triangles(geometry, g, node):
    """Return the first triangle in a mesh-tree leaf, and the triangle after its last."""
    depth = geometry.tree[g, 1]
    first, end = geometry.triangle_range[g, 0], geometry.triangle_range[g, 1]
    leaf = node - (1 << depth) + 1
    return (first + (leaf * (end - first) >> depth), first + ((leaf + 1) * (end - first) >> depth))


@kernel
def node_after(node):
    """Return the node after a subtree, -1 after the last."""
    following = next_node(node)
    return following if following > 0 else -1


@kernel
def _overlaps(box, row, low, high):
    return (
        (box[row, 0] <= high[0])
        & (low[0] <= box[row, 3])
        & (box[row, 1] <= high[1])
        & (low[1] <= box[row, 4])
        & (box[row, 2] <= high[2])
        & (low[2] <= box[row, 5])
    )


@kernel
def near_mesh_triangle(geometry, g, point):
    """Return a triangle near a point in the mesh's frame, by descending the tree."""
    root, node = geometry.tree[g, 0], 0
    while is_inner(geometry, g, node):
        left = 2 * node + 1
        here = _gap(geometry.tree_box, root + left, point)
        node = left if here <= _gap(geometry.tree_box, root + left + 1, point) else left + 1
    return leaf_triangles(geometry, g, node)[0]


@kernel
def _gap(box, row, point):
    """Return a point's squared distance to a box."""
    x = max(box[row, 0] - point[0], 0.0, point[0] - box[row, 3])
    y = max(box[row, 1] - point[1], 0.0, point[1] - box[row, 4])
    z = max(box[row, 2] - point[2], 0.0, point[2] - box[row, 5])
    return x * x + y * y + z * z


@kernel
def mesh_has_normal(geometry, g, t, n):
    """Return whether the surface allows the normal n (own frame) if t is farthest along n."""
    x0, x1, x2 = mesh_corners(geometry, t)
    if geometry.flags[g] & SOLID and dot(cross(sub(x1, x0), sub(x2, x0)), n) < 0.0:
        return False
    is_far0, is_far1, is_far2 = farthest_corners(x0, x1, x2, n)
    if is_far0 and is_far1 and is_far2:
        return True
    corners = geometry.triangle[t]
    for k, is_edge in (
        (0, is_far0 and is_far1),
        (1, is_far1 and is_far2),
        (2, is_far2 and is_far0),
    ):
        if is_edge:
            return not _rises(geometry, corners[k], geometry.triangle_opposite[t, k], n)
    corner = corners[0] if is_far0 else (corners[1] if is_far1 else corners[2])
    for k in range(geometry.ring_start[corner], geometry.ring_start[corner + 1]):
        if _rises(geometry, corner, geometry.ring[k], n):
            return False
    return True


@kernel
def _rises(geometry, corner, neighbour, n):
    """Return whether a neighbour is farther along n than a corner; False for neighbour -1."""
    if neighbour < 0:
        return False
    return rises(load3(geometry.vertex, corner, 0), load3(geometry.vertex, neighbour, 0), n)


@kernel
def rises(corner, neighbour, n):
    """Return whether a neighbouring corner is farther along n than a corner, beyond the slack."""
    edge = sub(neighbour, corner)
    return dot(edge, n) > SLACK * norm(edge)


@kernel
def farthest_corners(x0, x1, x2, n):
    """Return whether each triangle corner is farthest along n, within the slack."""
    e0, e1, e2 = sub(x1, x0), sub(x2, x1), sub(x0, x2)
    slack = SLACK * math.sqrt(max(dot(e0, e0), dot(e1, e1), dot(e2, e2)))
    h0, h1, h2 = dot(x0, n), dot(x1, n), dot(x2, n)
    top = max(h0, h1, h2) - slack
    return h0 >= top, h1 >= top, h2 >= top
