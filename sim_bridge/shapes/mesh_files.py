"""Mesh files: STL, OBJ, DAE and PLY, read by trimesh."""

from __future__ import annotations

from collections.abc import Sequence
import io
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.shapes.files import DATA_BYTES, read_file

FORMATS = ('.stl', '.obj', '.dae', '.ply')

_LOOKS = frozenset({'library_effects', 'library_images', 'library_materials', 'bind_material'})


class MeshArrays(NamedTuple):
    """A surface: `vertices` (n, 3) [m], `triangles` (m, 3) the numbers of the corners of each."""

    vertices: np.ndarray
    triangles: np.ndarray


def load_mesh(path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0)) -> MeshArrays:
    """
    Read a mesh file; all its parts become one surface.

    scale: along the axes; where it mirrors, triangles are reversed, so that their normals still
    point outwards. The unit of a DAE file is applied; its up axis is ignored, as in RViz and
    Gazebo. Raises InvalidValueError, naming the file, if it is missing, unreadable or without
    triangles.
    """
    # imported here, since it takes longer than everything a world of balls and boxes needs
    import trimesh

    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InvalidValueError('mesh file', str(path), f'one of {", ".join(FORMATS)}')
    try:
        is_dae = path.suffix.lower() == '.dae'
        data = read_file(path, DATA_BYTES)
        content = io.BytesIO(_without_looks(data) if is_dae else data)
        scene = trimesh.load_scene(
            content, file_type=path.suffix[1:], process=False, skip_materials=True)
        surface = (scene.convert_units('meters') if is_dae else scene).to_mesh()
    except OSError as err:
        reason = f' ({err.strerror})' if err.strerror else ''
        raise InvalidValueError(
            'mesh file', str(path), f'a file that can be read{reason}') from err
    except Exception as err:
        reason = f'{type(err).__name__}: {err}'.splitlines()[0]
        raise InvalidValueError(
            'mesh file', str(path), f'a sound mesh file ({reason})') from err
    if not len(surface.faces):
        raise InvalidValueError('mesh file', str(path), 'a file with triangles in it')
    vertices, triangles = merge_vertices(surface.vertices, surface.faces)
    if not np.isfinite(vertices).all():
        raise InvalidValueError('mesh file', str(path), 'a file with finite coordinates')
    return _scaled(MeshArrays(vertices, triangles), scale, path)


def _without_looks(data: bytes) -> bytes:
    """Return a DAE file without materials: defects in those would make pycollada drop meshes."""
    root = ElementTree.fromstring(data)
    for parent in root.iter():
        for child in list(parent):
            if child.tag.rpartition('}')[2] in _LOOKS:
                parent.remove(child)
    return ElementTree.tostring(root)


def merge_vertices(vertices: np.ndarray, triangles: np.ndarray) -> MeshArrays:
    """Return the surface with coincident vertices merged, without the triangles that collapse."""
    vertices, number = np.unique(vertices, axis=0, return_inverse=True)
    triangles = number.reshape(-1)[triangles]
    a, b, c = triangles.T
    return MeshArrays(vertices, triangles[(a != b) & (b != c) & (c != a)])


def _scaled(mesh: MeshArrays, scale: Sequence[float], path: Path) -> MeshArrays:
    """Return a mesh scaled along its axes."""
    factors = finite_vector('scale', scale, 3, f'mesh {path}', '3 finite numbers other than 0')
    if not factors.all():
        raise InvalidValueError(
            'scale', tuple(scale), '3 finite numbers other than 0', f'mesh {path}')
    if (factors == 1.0).all():
        return mesh
    triangles = mesh.triangles if factors.prod() > 0.0 else mesh.triangles[:, ::-1]
    return MeshArrays(mesh.vertices * factors, triangles)
