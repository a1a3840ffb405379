"""
Point-based VRML97 geometry as triangles: face sets, extrusions, height grids.

A surface has vertices (n, 3) [m] and triangles (m, 3), the vertex indices of each,
counter-clockwise seen from outside. Choreonoid body files have the same geometry in YAML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_LARGEST_GRID = 4_000_000
# limit for the sum of squared corner counts over concave faces; cutting then takes half a minute
_MOST_CUTS = 2_000_000
_SMALL = 1e-12
# [rad] a full turn, plus rounding
_MOST_TURNED = 6.3
_ROUNDING = 1e-9
DEFAULT_SECTION = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
DEFAULT_SPINE = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Surface(NamedTuple):
    """Triangle surface."""

    vertices: np.ndarray
    triangles: np.ndarray


def face_set(points: np.ndarray, indices: np.ndarray, ccw: bool = True) -> Surface:
    """
    Return the faces of an IndexedFaceSet. points: (n, 3). indices: corners, -1 after each face.

    Faces are flat and may be concave. Raises ValueError for missing corners.
    """
    indices = np.asarray(indices)
    numbers = indices.astype(np.int64)
    if len(numbers) and (
        (numbers != indices).any() or numbers.min() < -1 or numbers.max() >= len(points)
    ):
        raise ValueError(f'a face has corners that are not among the {len(points)} points')
    # -1 also terminates the last face
    ends = np.flatnonzero(np.append(numbers, -1) == -1)
    starts = np.append(0, ends[:-1] + 1)
    rows, cuts = [np.zeros((0, 3), np.int64)], 0
    for size in np.unique(ends - starts):
        if size < 3:
            continue
        faces = numbers[starts[ends - starts == size][:, None] + np.arange(size)]
        fan = _fan(size)
        is_fan = np.full(len(faces), True) if size == 3 else _are_convex(points[faces])
        rows.append(faces[is_fan][:, fan].reshape(-1, 3))
        cuts += int(size) ** 2 * int((~is_fan).sum())
        if cuts > _MOST_CUTS:
            raise ValueError(f'its concave faces have too many corners, {size} some of them')
        rows += [triangles_of(points, face) for face in faces[~is_fan]]
    triangles = np.concatenate(rows)
    return Surface(points, triangles if ccw else triangles[:, ::-1])


def _fan(size: int) -> np.ndarray:
    k = np.arange(1, size - 1)
    return np.stack([np.zeros_like(k), k, k + 1], axis=1)


def _normals(polygons: np.ndarray) -> np.ndarray:
    """Return Newell's normals (n, 3), unnormalised, for polygons (n, corners, 3)."""
    at = polygons - polygons[:, :1]
    normals: np.ndarray = np.cross(at, np.roll(at, -1, axis=1)).sum(axis=1)
    return normals


def _are_convex(polygons: np.ndarray) -> np.ndarray:
    """Return which polygons (n, corners, 3) are convex: they turn one way, by one full turn."""
    sides = np.roll(polygons, -1, axis=1) - polygons
    normals = _normals(polygons)
    lengths = np.linalg.norm(normals, axis=1)
    units = normals / np.maximum(lengths, np.finfo(float).tiny)[:, None]
    before = np.roll(sides, 1, axis=1)
    turned = np.arctan2(
        np.einsum('nki,ni->nk', np.cross(before, sides), units),
        np.einsum('nki,nki->nk', before, sides),
    )
    are_convex: np.ndarray = (turned >= -_ROUNDING).all(axis=1) & (
        turned.sum(axis=1) < _MOST_TURNED
    )
    return are_convex


def triangles_of(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return the triangles (m, 3) of a flat, possibly concave polygon, by cutting ears."""
    polygon = points[corners]
    if _are_convex(polygon[None])[0]:
        fan: np.ndarray = corners[_fan(len(corners))]
        return fan
    normal = _normals(polygon[None])[0]
    drop = int(np.abs(normal).argmax())
    # project to a plane in which the polygon turns left
    axes = [(drop + 1) % 3, (drop + 2) % 3]
    flat = polygon[:, axes if normal[drop] >= 0.0 else axes[::-1]]
    left, found = list(range(len(corners))), []
    while len(left) > 3:
        count = len(left)
        # a self-intersecting polygon may have no ear
        ear = next(
            (
                k
                for k in range(count)
                if _is_ear(flat, left[k - 1], left[k], left[(k + 1) % count], left)
            ),
            0,
        )
        found.append((left[ear - 1], left[ear], left[(ear + 1) % count]))
        del left[ear]
    cut: np.ndarray = corners[np.array([*found, tuple(left)])]
    return cut


def _is_ear(flat: np.ndarray, a: int, b: int, c: int, others: Sequence[int]) -> bool:
    """Return whether the triangle of three successive corners is inside the polygon."""
    if _turn(flat[a], flat[b], flat[c]) <= 0.0:
        return False
    rest = flat[[k for k in others if k not in (a, b, c)]]
    sides = [_turn(flat[i], flat[j], rest) for i, j in ((a, b), (b, c), (c, a))]
    corners = flat[[a, b, c]]
    is_corner = (rest[:, None] == corners).all(axis=2).any(axis=1)
    return not ((np.min(sides, axis=0) >= 0.0) & ~is_corner).any()


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return twice the area of plane triangles a, b, c; positive if they turn left."""
    area: np.ndarray = (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
    return area


def elevation_grid(heights: np.ndarray, spacing: tuple[float, float], ccw: bool = True) -> Surface:
    """Return a height grid along y. heights: (rows along z, columns along x) [m]."""
    rows, columns = heights.shape
    if rows * columns > _LARGEST_GRID:
        raise ValueError(f'{rows} × {columns} heights, and at most {_LARGEST_GRID} are read')
    z, x = np.mgrid[:rows, :columns]
    points = np.stack([x * spacing[0], heights, z * spacing[1]], axis=2).reshape(-1, 3)
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b = corner[:-1, :-1].ravel(), corner[:-1, 1:].ravel()
    c, d = corner[1:, 1:].ravel(), corner[1:, :-1].ravel()
    triangles = np.concatenate([np.stack([a, d, c], 1), np.stack([a, c, b], 1)])
    return Surface(points, triangles if ccw else triangles[:, ::-1])


def extrusion(
    section: np.ndarray,
    spine: np.ndarray,
    scales: np.ndarray,
    turns: np.ndarray,
    caps: tuple[bool, bool] = (True, True),
    ccw: bool = True,
) -> Surface:
    """
    Return a cross section moved along a spine.

    section: (n, 2), x and z. spine: (m, 3). scales: (1 or m, 2), section scales in x and z. turns:
    (1 or m, 3, 3), section rotations. caps: at the first and the last point. Raises ValueError for
    a wrong number of any of these.
    """
    if len(spine) < 2 or len(section) < 2:
        raise ValueError('an extrusion has a spine and a cross section of at least 2 points')
    for name, rows in (('scales', scales), ('orientations', turns)):
        if len(rows) not in (1, len(spine)):
            raise ValueError(
                f'an extrusion of {len(spine)} spine points has 1 or {len(spine)} {name}, '
                f'not {len(rows)}'
            )
    if len(section) * len(spine) > _LARGEST_GRID:
        raise ValueError(f'an extrusion has at most {_LARGEST_GRID} points')
    is_ring = len(spine) > 2 and np.array_equal(spine[0], spine[-1])
    is_closed = np.array_equal(section[0], section[-1])
    frames = _spine_frames(spine, is_ring)
    scaled = (
        section * scales[:, None, :]
        if len(scales) > 1
        else np.tile(section * scales[0], (len(spine), 1, 1))
    )
    flat = np.stack([scaled[..., 0], np.zeros(scaled.shape[:2]), scaled[..., 1]], axis=2)
    rotations = frames @ turns
    points = np.einsum('mij,mnj->mni', rotations, flat) + spine[:, None]
    rows, columns = points.shape[:2]
    corner = np.arange(rows * columns).reshape(rows, columns)
    if is_closed:
        corner[:, -1] = corner[:, 0]
    if is_ring:
        corner[-1] = corner[0]
    a, b = corner[:-1, :-1].ravel(), corner[:-1, 1:].ravel()
    c, d = corner[1:, 1:].ravel(), corner[1:, :-1].ravel()
    found = [np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
    points = points.reshape(-1, 3)
    outline = corner[:, :-1] if is_closed else corner
    if caps[0] and not is_ring:
        found.append(triangles_of(points, outline[0])[:, ::-1])
    if caps[1] and not is_ring:
        found.append(triangles_of(points, outline[-1]))
    triangles = np.concatenate(found)
    if is_closed and (is_ring or all(caps)):
        # orient the faces of a solid outwards, for both directions of its section
        corners = points[triangles]
        ccw = float(np.linalg.det(corners).sum()) >= 0.0
    return Surface(points, triangles if ccw else triangles[:, ::-1])


def _spine_frames(spine: np.ndarray, is_ring: bool) -> np.ndarray:
    """Return the section axes (m, 3, 3): y along the spine, z from its curvature."""
    before, after = np.roll(spine, 1, axis=0), np.roll(spine, -1, axis=0)
    if is_ring:
        before[0], after[-1] = spine[-2], spine[1]
    y, z = after - before, np.cross(after - spine, before - spine)
    if not is_ring:
        y[0], y[-1] = spine[1] - spine[0], spine[-1] - spine[-2]
        z[0], z[-1] = (z[1], z[-2]) if len(spine) > 2 else (0.0, 0.0)
    y = y / np.maximum(np.linalg.norm(y, axis=1), _SMALL)[:, None]
    lengths = np.linalg.norm(z, axis=1)
    bends = np.flatnonzero(lengths > _SMALL)
    if not len(bends):
        # straight spine: turn y into the spine by the smallest rotation
        return np.array([_shortest_turn(each) for each in y])
    for k in range(len(z)):
        if lengths[k] <= _SMALL:
            earlier = bends[bends < k]
            z[k] = z[earlier[-1] if len(earlier) else bends[0]]
        if k and z[k] @ z[k - 1] < 0.0:
            z[k] = -z[k]
    z = z / np.linalg.norm(z, axis=1)[:, None]
    return np.stack([np.cross(y, z), y, z], axis=2)


def _shortest_turn(y: np.ndarray) -> np.ndarray:
    """Return the smallest rotation from the y axis to a unit vector."""
    cross = np.array([y[2], 0.0, -y[0]])
    if 1.0 + y[1] < _SMALL:
        return np.diag([1.0, -1.0, -1.0])
    skew = np.array(
        [[0.0, -cross[2], cross[1]], [cross[2], 0.0, -cross[0]], [-cross[1], cross[0], 0.0]]
    )
    turned: np.ndarray = np.eye(3) + skew + skew @ skew / (1.0 + y[1])
    return turned
