"""Triangle surfaces with shared vertices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def merge_vertices(vertices: np.ndarray, triangles: np.ndarray) -> Sequence[np.ndarray]:
    """Return the surface with coincident vertices merged and degenerate triangles removed."""
    if not len(triangles):
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    # same as np.unique(vertices, axis=0), in a third of the time
    order = np.lexsort(vertices.T[::-1])
    ordered = vertices[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    number = np.empty(len(vertices), np.int64)
    number[order] = np.cumsum(is_new) - 1
    vertices, triangles = ordered[is_new], number[triangles]
    a, b, c = triangles.T
    return vertices, triangles[(a != b) & (b != c) & (c != a)]
