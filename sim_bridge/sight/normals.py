"""Smooth normals at triangle corners."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.foundation.arrays import FloatArray

_CREASE = np.cos(np.radians(40.0))
_MOST_TRIANGLES = 256  # around a vertex; beyond, its corners keep their triangles' normals


def corner_normals(geometry: Geometry) -> np.ndarray:
    """
    Return (triangles, 9) float32 unit normals, geometry frame, as in `Appearance`.

    A corner's normal is the mean over the triangles around its vertex, weighted by area, with an
    angle up to 40° from its own triangle. Triangles without area have normals 0.
    """
    corners = geometry.vertex[geometry.triangle]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(area, axis=1)
    unit = area / np.where(size > 0.0, size, 1.0)[:, None]
    vertex = geometry.triangle.ravel()
    order = np.argsort(vertex, kind='stable')
    triangle = order // 3
    counts = np.unique(vertex, return_counts=True)[1]
    starts = np.cumsum([0, *counts])[:-1]
    found: FloatArray = np.repeat(unit, 3, axis=0)
    is_small = counts <= _MOST_TRIANGLES
    total = np.zeros_like(found)
    # step k pairs each corner with the k-th triangle around its vertex
    first, count = np.repeat(starts, counts), np.repeat(counts, counts)
    for k in range(int(counts[is_small].max(initial=0))):
        own = np.flatnonzero((k < count) & (count <= _MOST_TRIANGLES))
        other = triangle[first[own] + k]
        is_near = np.einsum('ij,ij->i', unit[triangle[own]], unit[other]) >= _CREASE
        total[order[own[is_near]]] += area[other[is_near]]
    length = np.linalg.norm(total, axis=1)
    is_known = length > 0.0
    found[is_known] = total[is_known] / length[is_known, None]
    return found.reshape(-1, 9).astype(np.float32)
