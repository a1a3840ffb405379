"""Cache of convex decompositions by content, shared by all processes of a user."""

from __future__ import annotations

import contextlib
import hashlib
import io
from pathlib import Path
import zipfile

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.shapes.meshes.decomposition import decompose
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh
from sim_bridge.trust.folders import subfolder
from sim_bridge.trust.ownership import read_or_warn, write_private

# increased whenever `decompose` returns other hulls for the same mesh
_VERSION = b'1'


def kept_hulls(mesh: TriangleMesh) -> tuple[ConvexHull, ...]:
    """
    Return a mesh's hulls, decomposed at the first call; see `decompose`.

    The cache is in the compiled kernels' folder, if it is writable.
    """
    content = mesh.vertices.tobytes() + mesh.triangles.tobytes()
    folder, key = subfolder('hulls'), hashlib.sha256(_VERSION + content).hexdigest()
    path = None if folder is None else folder / f'{key}.npz'
    corners = None if path is None else _read(path)
    if corners is None:
        corners = [hull.vertices for hull in decompose(mesh)]
        if path is not None:
            # without a cache file the mesh is decomposed again
            with contextlib.suppress(OSError):
                _write(path, corners)
    return tuple(map(ConvexHull, corners))


def _read(path: Path) -> list[FloatArray] | None:
    """Return hull corners; None if they are missing, damaged, or another user's."""
    content = read_or_warn(path, 'the file of convex hulls')
    if content is None:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = [np.asarray(arrays[f'arr_{k}']) for k in range(len(arrays.files))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return found or None


def _write(path: Path, corners: list[FloatArray]) -> None:
    content = io.BytesIO()
    np.savez(content, *corners)
    write_private(path, content.getvalue())
