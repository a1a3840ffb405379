"""Faces, edges and corners of a convex polytope, from a triangulated hull."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FLAT = 1e-8
"""Distance from corners to their face's plane that still counts as flat, relative to the size."""
_TINY = 1e-300


class Polytope(NamedTuple):
    """One hull's rows in the `Geometry` pools, counted from 0."""

    vertex: np.ndarray
    ring_start: np.ndarray
    ring: np.ndarray
    face_plane: np.ndarray
    face_start: np.ndarray
    face_vertex: np.ndarray
    face_across: np.ndarray


def polytope(vertices: np.ndarray, triangles: np.ndarray | None) -> Polytope:
    """
    Merge a hull's coplanar triangles into faces.

    vertices: (n, 3), corners and other points. triangles: (m, 3) hull surface, in any order and
    orientation; None for coplanar vertices (two faces back to back), and for collinear vertices
    (no face).
    """
    vertices = np.ascontiguousarray(vertices, float)
    size = float(np.ptp(vertices, axis=0).max())
    if triangles is None:
        loops, planes = _flat_faces(vertices, size)
    else:
        loops, planes = _merged_faces(vertices, np.asarray(triangles, np.int64), size)
    return _assemble(vertices, loops, planes)


def _merged_faces(
    vertices: np.ndarray, triangles: np.ndarray, size: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Merge connected coplanar triangles by flood fill, starting from the largest triangle."""
    inside = vertices[np.unique(triangles)].mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    is_inward = np.einsum('ij,ij->i', normals, a - inside) < 0.0
    triangles = np.where(is_inward[:, None], triangles[:, ::-1], triangles)
    normals[is_inward] *= -1.0
    areas = np.linalg.norm(normals, axis=1)
    across = _triangles_across(triangles)
    # a triangle without coplanar neighbour is a face by itself, as mostly on curved hulls
    planes = np.column_stack([normals / np.maximum(areas, _TINY)[:, None], np.zeros(len(areas))])
    planes[:, 3] = np.einsum('ij,ij->i', planes[:, :3], vertices[triangles[:, 0]])
    corners = vertices[triangles[across]]
    heights = np.einsum('iknj,ij->ikn', corners, planes[:, :3]) - planes[:, 3, None, None]
    is_continued = ((np.abs(heights) <= _FLAT * size).all(axis=2) & (across >= 0)).any(axis=1)

    turn = (np.argmin(triangles, axis=1)[:, None] + np.arange(3)) % 3
    outlines = np.take_along_axis(triangles, turn, axis=1)
    loops, kept = [], []
    is_sliver = areas <= 1e-14 * size * size
    is_taken = is_sliver.copy()
    # lists, because a patch has few triangles, and a hull has many patches
    neighbours, corners_of = across.tolist(), triangles.tolist()
    for seed in np.argsort(-areas, kind='stable'):
        if is_taken[seed]:
            continue
        kept.append(planes[seed])
        if is_continued[seed]:
            is_near = np.abs(vertices @ planes[seed, :3] - planes[seed, 3]) <= _FLAT * size
            # on a hull thinner than the tolerance all corners are near, even on its other side
            is_alike = is_sliver | ~is_taken & (normals @ planes[seed, :3] > 0.0)
            patch = _flood(int(seed), neighbours, corners_of, is_near, is_alike)
            outline = _outline([corners_of[triangle] for triangle in patch])
            if outline is not None:
                is_taken[patch] = True
                loops.append(outline)
                continue
        is_taken[seed] = True
        loops.append(outlines[seed])
    return loops, kept


def _triangles_across(triangles: np.ndarray) -> np.ndarray:
    """Return the neighbouring triangle across every edge k to k + 1, or -1, (m, 3)."""
    following = triangles[:, [1, 2, 0]]
    count = int(triangles.max()) + 1
    return (
        _find_last(
            (triangles * count + following).ravel(), (following * count + triangles).ravel()
        ).reshape(-1, 3)
        // 3
    )


def _flood(
    seed: int,
    neighbours: list[list[int]],
    corners_of: list[list[int]],
    is_near: np.ndarray,
    is_alike: np.ndarray,
) -> list[int]:
    """
    Return the triangles connected to the seed that are in its plane, ascending.

    neighbours: the three triangles across the edges of each triangle, -1 for none. corners_of: the
    three vertices of each triangle. is_near: (n,) whether a vertex is in the seed's plane.
    is_alike: (m,) whether a triangle may join.
    """
    patch, queue = {seed}, [seed]
    while queue:
        for other in neighbours[queue.pop()]:
            if other < 0 or other in patch or not is_alike[other]:
                continue
            a, b, c = corners_of[other]
            if is_near[a] and is_near[b] and is_near[c]:
                patch.add(other)
                queue.append(other)
    return sorted(patch)


def _find_last(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return each wanted key's last index, or -1."""
    order = np.argsort(keys, kind='stable')
    ordered = keys[order]
    place = np.searchsorted(ordered, wanted, side='right') - 1
    is_found = (place >= 0) & (ordered[place] == wanted)
    return np.where(is_found, order[place], -1)


def _outline(triangles: list[list[int]]) -> np.ndarray | None:
    """
    Chain a patch's boundary edges (edges in one triangle only), from the least corner.

    triangles: corners of each triangle. Returns None if they make no loop, as for hulls whose
    triangles cross each other.
    """
    edges = {edge for a, b, c in triangles for edge in ((a, b), (b, c), (c, a))}
    follower = {a: b for a, b in sorted(edges) if (b, a) not in edges and a != b}
    if not follower:
        return None
    first = min(follower)
    loop = [first]
    while (corner := follower.get(loop[-1], -1)) != first:
        if corner < 0 or len(loop) == len(follower):
            return None
        loop.append(corner)
    return np.array(loop, np.int64)


def _flat_faces(vertices: np.ndarray, size: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Make the two faces from points in one plane, by Andrew's monotone chain."""
    centre = vertices.mean(axis=0)
    _, spread, axes = np.linalg.svd(vertices - centre, full_matrices=False)
    if len(spread) < 2 or spread[1] <= _FLAT * size:
        return [], []
    flat = (vertices - centre) @ axes[:2].T
    order = np.lexsort((flat[:, 1], flat[:, 0]))

    def chain(rows):
        kept: list[int] = []
        for row in rows:
            while len(kept) > 1 and _turn(*flat[[kept[-2], kept[-1], row]]) <= _FLAT * size * size:
                kept.pop()
            kept.append(int(row))
        return kept[:-1]

    loop = np.array(chain(order) + chain(order[::-1]), np.int64)
    normal = np.cross(axes[0], axes[1])
    offset = normal @ centre
    return (
        [loop, loop[::-1].copy()],
        [np.array([*normal, offset]), np.array([*-normal, -offset])],
    )


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Return twice the signed area of a triangle in the plane."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _assemble(vertices: np.ndarray, loops: list[np.ndarray], planes: list[np.ndarray]) -> Polytope:
    """Renumber the corners, and find the face across each edge."""
    corners = np.unique(np.concatenate(loops)) if loops else _line_ends(vertices)
    number = np.full(len(vertices), -1)
    number[corners] = np.arange(len(corners))
    counts = [len(loop) for loop in loops]
    starts = np.cumsum([0, *counts])
    begin = number[np.concatenate([np.zeros(0, np.int64), *loops])]
    following = np.arange(1, len(begin) + 1)
    following[starts[1:] - 1] = starts[:-1]
    end = begin[following]
    face = np.repeat(np.arange(len(loops)), counts)
    forth, back = begin * len(corners) + end, end * len(corners) + begin
    edge = _find_last(forth, back)
    if loops:
        links = np.unique(np.concatenate([forth, back]))
    else:
        links = np.array([1, 2] if len(corners) == 2 else [], np.int64)
    return Polytope(
        vertex=vertices[corners],
        ring_start=np.searchsorted(links, np.arange(len(corners) + 1) * len(corners)),
        ring=links % len(corners),
        face_plane=np.array(planes).reshape(-1, 4),
        face_start=starts,
        face_vertex=begin,
        face_across=np.append(face, -1)[edge],
    )


def _line_ends(vertices: np.ndarray) -> np.ndarray:
    """Find the two ends of collinear points, or the single point if all coincide."""
    along = vertices - vertices[0]
    far = along[np.argmax(np.einsum('ij,ij->i', along, along))]
    return np.unique([np.argmin(along @ far), np.argmax(along @ far)])
