"""
Mesh files.

`foreign.mesh_reader` reads STL, OBJ, DAE, PLY, glTF and OFF in its own process; `vrml_files` reads
VRML97.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sim_bridge.foreign.beside import BUFFERS, read_beside, request_with
from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError, sharing, start
from sim_bridge.foundation.arrays import FloatArray, IntArray, Vector
from sim_bridge.foundation.errors import brief, InvalidValueError
from sim_bridge.foundation.validation import finite_vector

VRML_SUFFIX = '.wrl'
FORMATS = ('.stl', '.obj', '.dae', '.ply', '.glb', '.gltf', '.off', VRML_SUFFIX)

# limits for one file; the largest known robot mesh, 29 MB of DAE, takes 5 s and 0.6 GB
LIMITS = Limits(seconds=30.0, memory_bytes=4 << 30, answer_bytes=1 << 30)

_READER = 'sim_bridge.foreign.mesh_reader'
_MOST_BUFFERS = 64
# bytes of a vertex or triangle: three 8-byte numbers
_ROW_BYTES = 24


class MeshArrays(NamedTuple):
    """Triangle surface. vertices: (n, 3) [m]. triangles: (m, 3) vertex indices."""

    vertices: FloatArray
    triangles: IntArray


def start_reading(path: str | Path) -> None:
    """Start this file type's reader process, within `sharing`, before the first file."""
    if not str(path).lower().endswith(VRML_SUFFIX):
        start(_READER, LIMITS)


def load_mesh(path: str | Path, scale: Vector = (1.0, 1.0, 1.0), part: str = '') -> MeshArrays:
    """
    Read a mesh file; all its parts become one surface.

    part: name of the one node to read, for VRML files; '' for all.

    scale: factors along the axes; if they mirror, the triangles are reversed, so that their
    normals still point outwards. A DAE file's unit is applied; its up axis is ignored, as in
    RViz and Gazebo, and so is glTF's up axis, y. The buffers of a .gltf file may be beside it.
    Raises InvalidValueError, naming the file, if it is missing, unreadable or without triangles.
    """
    if not isinstance(path, (str, Path)):
        raise InvalidValueError('mesh file', path, 'a path')
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InvalidValueError('mesh file', str(path), f'one of {", ".join(FORMATS)}')
    if part and suffix != VRML_SUFFIX:
        raise InvalidValueError(
            'part', part, f"'': only {VRML_SUFFIX} files have named parts", f'mesh {path}'
        )
    try:
        if suffix == VRML_SUFFIX:
            mesh = _of_vrml(path, part)
        else:
            mesh = _arrays(*_read(path, suffix))
    except OSError as err:
        reason = f' ({err.strerror})' if err.strerror else ''
        raise InvalidValueError(
            'mesh file', str(path), f'a file that can be read{reason}'
        ) from err
    except ReadingError as err:
        raise InvalidValueError('mesh file', str(path), f'a valid mesh file ({err})') from err
    if not len(mesh.triangles):
        raise InvalidValueError('mesh file', str(path), 'a file with triangles')
    if not np.isfinite(mesh.vertices).all():
        raise InvalidValueError('mesh file', str(path), 'a file with finite coordinates')
    return _scaled(mesh, scale, path)


def _read(path: Path, suffix: str) -> tuple[Mapping[str, object], bytes]:
    """Return the reader's answer for a file, which may have buffers in other files."""
    content = read_file(path, DATA_BYTES)
    files: dict[str, bytes] = {}
    with sharing():
        if suffix == '.gltf':
            fields, _ = read_apart(_READER, LIMITS, {'suffix': suffix, 'names': True}, content)
            names = fields.get('names')
            for name in names[:_MOST_BUFFERS] if isinstance(names, list) else ():
                files[str(name)] = _buffer(path, str(name))
        return read_apart(_READER, LIMITS, *request_with(suffix, content, files))


def _buffer(path: Path, name: str) -> bytes:
    try:
        return read_beside(path, name, BUFFERS)
    except (OSError, ValueError) as err:
        reason = getattr(err, 'strerror', None) or str(err)
        raise InvalidValueError(
            'mesh file', str(path), f'a file with its buffer {brief(name)} beside it ({reason})'
        ) from err


def _of_vrml(path: Path, part: str) -> MeshArrays:
    # imported here, since few meshes have this format
    from sim_bridge.foreign.vrml.text import VrmlError
    from sim_bridge.shapes.vrml_files import surface_of_file

    try:
        return MeshArrays(*surface_of_file(path, part))
    except VrmlError as err:
        raise ReadingError(str(err)) from err


def _arrays(counts: Mapping[str, object], data: bytes) -> MeshArrays:
    """Return the arrays in a reader's answer; raises ReadingError if they are no surface."""
    sizes = [
        size
        for size in map(counts.get, ('vertices', 'triangles'))
        if type(size) is int and size >= 0
    ]
    if len(sizes) != 2 or len(data) != _ROW_BYTES * sum(sizes):
        raise ReadingError('its reader returned no arrays')
    middle = _ROW_BYTES * sizes[0]
    points = np.frombuffer(data[:middle], np.float64).reshape(-1, 3)
    corners = np.frombuffer(data[middle:], np.int64).reshape(-1, 3)
    if len(corners) and (corners.min() < 0 or corners.max() >= len(points)):
        raise ReadingError('its triangles refer to missing vertices')
    return MeshArrays(points, corners)


def _scaled(mesh: MeshArrays, scale: Vector, path: Path) -> MeshArrays:
    """Return a mesh scaled along its axes."""
    factors = finite_vector('scale', scale, 3, f'mesh {path}', '3 finite numbers other than 0')
    if not factors.all():
        raise InvalidValueError(
            'scale', tuple(factors.tolist()), '3 finite numbers other than 0', f'mesh {path}'
        )
    if (factors == 1.0).all():
        return mesh
    triangles = mesh.triangles if factors.prod() > 0.0 else mesh.triangles[:, ::-1]
    return MeshArrays(mesh.vertices * factors, triangles)
