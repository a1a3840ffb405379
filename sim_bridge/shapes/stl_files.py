"""Triangles written as binary STL files, for other programs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh

_TRIANGLE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


def stl_file(shape: ConvexHull | TriangleMesh, folder: Path) -> Path:
    """
    Return a mesh's binary STL file; write it if it is missing.

    The file is named after its content.
    """
    facets = np.zeros(len(shape.triangles), _TRIANGLE)
    facets['corners'] = shape.vertices[shape.triangles]
    data = bytes(80) + np.uint32(len(facets)).tobytes() + facets.tobytes()
    path = folder / f'{hashlib.sha256(data).hexdigest()}.stl'
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        # the renaming is atomic: parallel writers never leave an incomplete file
        temporary = path.with_suffix(f'.{os.getpid()}')
        temporary.write_bytes(data)
        temporary.replace(path)
    return path
