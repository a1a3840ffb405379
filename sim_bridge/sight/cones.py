"""Cones around the normals of mesh clusters."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.cones import Cones
from sim_bridge.engine.data.geometry import Geometry, MESH, SOLID
from sim_bridge.engine.image.outline import CLUSTER_LEVELS

_ROOM = 1e-6
"""Enlargement against rounding."""


def cones_of(geometry: Geometry) -> Cones:
    """Return the cones of all closed meshes, cluster by cluster."""
    first, found = np.full(len(geometry.shape), -1), [np.zeros((0, 8))]
    for g in np.flatnonzero((geometry.shape == MESH) & (geometry.flags & SOLID != 0)).tolist():
        first[g] = sum(map(len, found))
        found.append(_cones_of(geometry, g))
    return Cones(first, np.concatenate(found))


def _cones_of(geometry: Geometry, g: int) -> np.ndarray:
    """Return one mesh's cones, as in `Cones`."""
    begin, end = geometry.triangle_range[g].tolist()
    count, depth = end - begin, int(geometry.tree[g, 1])
    level = max(depth - CLUSTER_LEVELS, 0)
    starts = (np.arange(2**level) * count) >> level
    corners = geometry.vertex[geometry.triangle[begin:end]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normal, axis=1)
    # triangles without area are never seen
    unit = normal / np.where(size > 0.0, size, 1.0)[:, None]
    axis = np.add.reduceat(unit, starts)
    length = np.linalg.norm(axis, axis=1)
    axis /= np.where(length > 0.0, length, 1.0)[:, None]
    cluster = np.repeat(np.arange(len(starts)), np.diff([*starts, count]))
    inner = np.einsum('ij,ij->i', unit, axis[cluster])
    cosine = np.minimum.reduceat(np.where(size > 0.0, inner, 1.0), starts) - _ROOM
    centre = 0.5 * (
        np.minimum.reduceat(corners.min(axis=1), starts)
        + np.maximum.reduceat(corners.max(axis=1), starts)
    )
    reach = np.linalg.norm(corners - centre[cluster][:, None], axis=2).max(axis=1)
    radius = np.maximum.reduceat(reach, starts) * (1.0 + _ROOM)
    return np.column_stack([axis, centre, radius, np.where(length > 0.0, cosine, -1.0)])
