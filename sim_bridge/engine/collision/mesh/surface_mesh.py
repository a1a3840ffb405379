"""Triangle meshes prepared for the kernels: welded, with neighbours and a bounding-volume tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_HALF = 32
_LOW = (1 << _HALF) - 1


class SurfaceMesh(NamedTuple):
    """
    One mesh's rows in the `Geometry` pools, counted from 0.

    source: each triangle's given row. is_inverted: whether all triangles have their given corners
    in reversed order.
    """

    vertex: np.ndarray
    ring_start: np.ndarray
    ring: np.ndarray
    triangle: np.ndarray
    opposite: np.ndarray
    tree_box: np.ndarray
    depth: int
    is_solid: bool
    source: np.ndarray
    is_inverted: bool


def surface_mesh(
    vertices: np.ndarray, triangles: np.ndarray, is_terrain: bool = False
) -> SurfaceMesh:
    """
    Weld equal vertices, find neighbours and build the tree.

    vertices: (n, 3) [m]. triangles: (m, 3). A closed mesh that is inside out is inverted.
    is_terrain: turn all triangles to face upwards along z; the space below them is solid.
    """
    vertex, inverse = _welded(np.asarray(vertices, float) + 0.0)
    triangle = inverse[np.asarray(triangles, np.int64)]
    source = np.flatnonzero(_is_kept(triangle))
    triangle, is_inverted = triangle[source], False
    is_solid = is_terrain or _is_closed(triangle)
    if is_terrain:
        a, b, c = (vertex[triangle[:, k], :2] for k in range(3))
        (ux, uy), (vx, vy) = (b - a).T, (c - a).T
        is_downward = ux * vy < uy * vx
        triangle = np.where(is_downward[:, None], triangle[:, ::-1], triangle)
    elif is_solid:
        corners = vertex[triangle] - vertex.mean(axis=0)
        volume = np.einsum('ij,ij->', corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
        is_solid = bool(volume != 0.0)
        if volume < 0.0:
            triangle, is_inverted = triangle[:, ::-1], True

    order, depth = _tree_order(vertex[triangle])
    triangle = np.ascontiguousarray(triangle[order])
    used, flat = np.unique(triangle, return_inverse=True)
    vertex, triangle = vertex[used], np.reshape(flat, triangle.shape).astype(np.int64)
    ring_start, ring = _rings(triangle, len(vertex))
    return SurfaceMesh(
        vertex,
        ring_start,
        ring,
        triangle,
        _opposites(triangle),
        _tree_boxes(vertex[triangle], depth),
        depth,
        is_solid,
        source[order],
        is_inverted,
    )


def _welded(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct points in ascending order, and each point's row among them."""
    # ten times faster than np.unique along an axis
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    is_new = np.ones(len(points), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    row = np.empty(len(points), np.int64)
    row[order] = np.cumsum(is_new) - 1
    return ordered[is_new], row


def _is_kept(triangle: np.ndarray) -> np.ndarray:
    """
    Return False for triangles with two equal corners that add nothing to the surface.

    A degenerate triangle is kept, as a segment or point in space, if it is not an edge of a proper
    triangle.
    """
    ends = np.sort(triangle, axis=1)
    is_folded = (ends[:, 0] == ends[:, 1]) | (ends[:, 1] == ends[:, 2])
    if not is_folded.any():
        return ~is_folded
    proper = ends[~is_folded]
    present = {(int(t[i]), int(t[j])) for t in proper for i, j in ((0, 1), (1, 2), (0, 2))}
    present |= {(int(corner), int(corner)) for corner in np.unique(proper)}
    adds = np.array([(int(t[0]), int(t[2])) not in present for t in ends])
    return ~is_folded | adds


def _edges(triangle: np.ndarray) -> np.ndarray:
    """Return the (3 m, 2) directed edges, grouped by triangle."""
    return np.stack([triangle, np.roll(triangle, -1, axis=1)], axis=2).reshape(-1, 2)


def _keys(edges: np.ndarray) -> np.ndarray:
    """Return one integer for each edge (n, 2), in the edges' order."""
    keys: np.ndarray = edges[:, 0] << _HALF | edges[:, 1]
    return keys


def _is_closed(triangle: np.ndarray) -> bool:
    """Return whether every directed edge occurs once, and its reverse once."""
    edges = _edges(triangle)
    forward, counts = np.unique(_keys(edges), return_counts=True)
    backward = np.unique(_keys(edges[:, ::-1]))
    return bool(np.all(counts == 1) and np.array_equal(forward, backward))


def _opposites(triangle: np.ndarray) -> np.ndarray:
    """Return the opposite vertex across each edge between exactly two triangles, else -1."""
    edges = np.sort(_edges(triangle), axis=1)
    far = np.roll(triangle, 1, axis=1).ravel()
    _, edge, counts = np.unique(_keys(edges), return_inverse=True, return_counts=True)
    total = np.zeros(len(counts), np.int64)
    np.add.at(total, edge, far)
    opposite = np.where(counts[edge] == 2, total[edge] - far, -1)
    return opposite.reshape(-1, 3).astype(np.int64)


def _rings(triangle: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """List each vertex's neighbours along edges."""
    edges = _edges(triangle)
    keys = np.unique(_keys(np.concatenate([edges, edges[:, ::-1]])))
    edges = np.column_stack([keys >> _HALF, keys & _LOW])
    edges = edges[edges[:, 0] != edges[:, 1]]
    starts = np.searchsorted(edges[:, 0], np.arange(count + 1))
    return starts.astype(np.int64), np.ascontiguousarray(edges[:, 1]).astype(np.int64)


def _tree_order(corners: np.ndarray) -> tuple[np.ndarray, int]:
    """
    Order triangles as the leaves of a complete binary median-split tree; also return its depth.

    At depth d the k-th node holds the triangles from k m / 2**d to (k + 1) m / 2**d, rounded down,
    sorted along the longest side of the box around their centres.
    """
    centres = corners.mean(axis=1)
    count = len(centres)
    depth = int(np.log2(count))
    order = np.arange(count)
    for level in range(depth):
        starts = _node_starts(count, level)
        ordered = centres[order]
        extent = np.maximum.reduceat(ordered, starts[:-1]) - np.minimum.reduceat(
            ordered, starts[:-1]
        )
        node = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        along = ordered[np.arange(count), np.argmax(extent, axis=1)[node]]
        order = order[np.lexsort((along, node))]
    return order, depth


def _node_starts(count: int, level: int) -> np.ndarray:
    return np.arange(2**level + 1) * count >> level


def _tree_boxes(corners: np.ndarray, depth: int) -> np.ndarray:
    """Compute the leaves' boxes, then the parents'; node k has children 2 k + 1 and 2 k + 2."""
    starts = _node_starts(len(corners), depth)[:-1]
    box = np.zeros((2 ** (depth + 1) - 1, 6))
    box[2**depth - 1 :, :3] = np.minimum.reduceat(corners.min(axis=1), starts)
    box[2**depth - 1 :, 3:] = np.maximum.reduceat(corners.max(axis=1), starts)
    for level in range(depth - 1, -1, -1):
        children = box[2 ** (level + 1) - 1 : 2 ** (level + 2) - 1].reshape(-1, 2, 6)
        box[2**level - 1 : 2 ** (level + 1) - 1, :3] = children[:, :, :3].min(axis=1)
        box[2**level - 1 : 2 ** (level + 1) - 1, 3:] = children[:, :, 3:].max(axis=1)
    return box
