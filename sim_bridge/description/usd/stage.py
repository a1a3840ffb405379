"""A composed USD stage: checked prims, values in SI units, poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
import importlib.util
import json
import math
import os
from pathlib import Path
import re
import stat
from typing import Any

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.poses import read_only
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place
from sim_bridge.foreign.files import DATA_BYTES
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.shapes.mesh_files import MeshArrays

# a scene with thousands of meshes needs some 10 s and 1 GB
LIMITS = Limits(seconds=60.0, memory_bytes=6 << 30, answer_bytes=1 << 30)

_READER = 'sim_bridge.foreign.usd_reader'
_MISSING = "this is a USD file; usd-core reads it: pip install 'sim_bridge[usd]'"
_NOT_USABLE = ('ImportError: ', 'ModuleNotFoundError: ')
# rotations from the stage's axes to ours, z up
_UP = {
    'Z': np.eye(3),
    'Y': np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    'X': np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
}
# usd-core's messages: file, line, column and reason; or a reason in quotes, after the C++ line
_PARSED = re.compile(r"'([^']+?):(\d+):(\d+): ([^']+?)(?: at '| at $| matching|'|$)")
_QUOTED = re.compile(r": '([^']+)'")
_AXES = {'X': 0, 'Y': 1, 'Z': 2}
_LARGEST = 1e9
# greatest cosine between a matrix's axes without shear
_RIGHT_ANGLE = 1e-5


@dataclass(frozen=True, eq=False)
class Prim:
    """
    One prim with physics, shape, light or camera.

    path: its path. kind: its type. apis: applied schemas. matrix: (4, 4) to the world, points as
    columns, in the stage's units. body: path of the nearest rigid body, its own included; '' for
    none. values: authored values by attribute. targets: paths by relationship. data: further data
    of `foreign.usd_reader`.
    """

    path: str
    kind: str
    apis: frozenset[str]
    matrix: FloatArray
    body: str
    values: Mapping[str, Any]
    targets: Mapping[str, list[str]]
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Last path part."""
        return self.path.rpartition('/')[2]

    @property
    def place(self) -> Place:
        """Place for messages; USD keeps no lines."""
        return Place(self.kind or 'prim', self.path)

    def has(self, *schemas: str) -> bool:
        """Return whether any given schema is applied."""
        return not self.apis.isdisjoint(schemas)

    def instances(self, schema: str) -> list[str]:
        """Return a multiple-apply schema's instance names, such as 'angular'."""
        return sorted(
            each.partition(':')[2] for each in self.apis if each.startswith(f'{schema}:')
        )

    def number(self, name: str, usual: float = 0.0) -> float:
        """Return a number; the usual one if it is not authored, or no number."""
        value = self.values.get(name)
        if not isinstance(value, (int, float)) or math.isnan(value):
            return usual
        return float(value)

    def numbers(self, name: str, count: int) -> FloatArray | None:
        """Return finite numbers (count,); None if they are not authored so."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) != count:
            return None
        array = np.array(
            [each if isinstance(each, (int, float)) else np.nan for each in value], dtype=float
        )
        return read_only(array) if np.isfinite(array).all() else None

    def flag(self, name: str, usual: bool) -> bool:
        """Return a truth value."""
        value = self.values.get(name)
        return bool(value) if isinstance(value, (bool, int)) else usual

    def word(self, name: str, usual: str = '') -> str:
        """Return a token or text."""
        value = self.values.get(name)
        return value if isinstance(value, str) else usual

    def axis(self, name: str = 'axis', usual: str = 'Z') -> int:
        """Return an axis index by its letter."""
        return _AXES.get(self.word(name, usual), _AXES[usual])

    def target(self, name: str) -> str:
        """Return a relationship's first path; '' for none."""
        return next(iter(self.targets.get(name, ())), '')


@dataclass(frozen=True, eq=False)
class Stage:
    """
    Composed stage.

    label: the file's name in reports. texts: as `foreign.usd_reader` gives them. arrays: points
    and triangles by mesh.
    """

    label: str
    texts: Mapping[str, Any]
    arrays: list[np.ndarray]
    prims: Mapping[str, Prim] = field(default_factory=dict)

    @property
    def meters(self) -> float:
        """Length unit [m]."""
        return float(self.texts['meters'])

    @property
    def kilograms(self) -> float:
        """Mass unit [kg]."""
        return float(self.texts['kilograms'])

    @cached_property
    def up(self) -> FloatArray:
        """Rotation (3, 3) from the stage's axes to ours."""
        return _UP.get(str(self.texts['up']), _UP['Z'])

    @property
    def files(self) -> tuple[str, ...]:
        """Full paths to all layers, main file first."""
        return tuple(map(str, self.texts['files']))

    @property
    def default_name(self) -> str:
        """Default prim's name; '' for none."""
        return str(self.texts['default']).rpartition('/')[2]

    def of(self, *kinds: str) -> list[Prim]:
        """Return the prims with given types, in file order."""
        return [prim for prim in self.prims.values() if prim.kind in kinds]

    @cached_property
    def _frames(self) -> dict[str, Pose]:
        return {}

    def frame(self, prim: Prim) -> Pose:
        """Return a prim's frame in the world, without scale: a body's frame."""
        if prim.path not in self._frames:
            self._frames[prim.path] = self.frame_of(prim.matrix)
        return self._frames[prim.path]

    def frame_of(self, matrix: FloatArray) -> Pose:
        """Return a matrix's frame in the world, without scale."""
        position = self.up @ matrix[:3, 3] * self.meters
        rotation = self.up @ unscaled(matrix[:3, :3])[0]
        return Pose(read_only(position), read_only(rotation))

    def local(self, prim: Prim, frame: Pose) -> FloatArray:
        """Return a prim's axes and origin in a frame (3, 4) [m]."""
        linear = frame.rotation.T @ self.up @ prim.matrix[:3, :3]
        origin = frame.rotation.T @ (self.up @ prim.matrix[:3, 3] * self.meters - frame.position)
        return np.column_stack([linear * self.meters, origin])

    def mesh(self, prim: Prim) -> MeshArrays:
        """Return a mesh's points, in the stage's units, and its triangles."""
        number = int(prim.data['mesh'])
        return MeshArrays(self.arrays[2 * number], self.arrays[2 * number + 1])

    def material(self, path: str) -> Mapping[str, Any]:
        """Return a material's data; empty without one."""
        found = self.texts['materials'].get(path, {})
        return found if isinstance(found, dict) else {}


def unscaled(linear: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """
    Return the rotation nearest to some axes, their scale (3,), and whether there is shear.

    linear: the axes as columns (3, 3).
    """
    scale = np.linalg.norm(linear, axis=0)
    left, _, right = np.linalg.svd(linear)
    turn = np.diag([1.0, 1.0, np.linalg.det(left) * np.linalg.det(right)])
    rotation = left @ turn @ right
    if np.all(scale > 0.0):
        axes = linear / scale
        is_sheared = bool(np.abs(axes.T @ axes - np.eye(3)).max() > _RIGHT_ANGLE)
        if not is_sheared:
            # mirrored axes turn into a rotation by the last one
            rotation = axes * [1.0, 1.0, np.sign(np.linalg.det(axes))]
            left, _, right = np.linalg.svd(rotation)
            rotation = left @ right
        return rotation, scale, is_sheared
    return rotation, scale, False


def quaternion_pose(position: FloatArray, wxyz: FloatArray | None) -> Pose:
    """Return a pose; wxyz: quaternion (4,), None for no rotation."""
    rotation = np.eye(3)
    if wxyz is not None and np.linalg.norm(wxyz) > 0.0:
        w, x, y, z = (wxyz / np.linalg.norm(wxyz)).tolist()
        rotation = matrix_from_quaternion((x, y, z, w))
    return Pose(read_only(position), read_only(rotation))


# the stage read last, with its file states: a file is asked for its kind, then read
_last: list[tuple[str, tuple[Any, ...], Stage]] = []


def read_stage(source: Source, findings: Findings) -> Stage | None:
    """Return the stage in a file; None, with an error, if usd-core refuses it."""
    path = os.path.abspath(str(source.given))
    stage = next(
        (kept for known, state, kept in _last if path == known and state == _state_of(kept)), None
    )
    if stage is None:
        stage = _read(path, str(source.given), findings)
    if stage is not None:
        _last[:] = [(path, _state_of(stage), stage)]
        _name_references(stage, findings)
    return stage


def _state_of(stage: Stage) -> tuple[Any, ...]:
    """Return times and sizes for all files in a stage."""
    states: list[Any] = []
    for path in stage.files:
        try:
            status = os.stat(path)
            states.append((status.st_mtime_ns, status.st_size))
        except OSError:
            states.append(None)
    return tuple(states)


def _read(path: str, label: str, findings: Findings) -> Stage | None:
    place = Place('stage')
    if importlib.util.find_spec('pxr') is None:
        findings.error('usd-missing', place, _MISSING)
        return None
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, 'not a regular file')
    except OSError as err:
        findings.error('unreadable', place, f'cannot be read: {err.strerror}')
        return None
    if status.st_size > DATA_BYTES:
        message = f'has {status.st_size >> 20} MiB; at most {DATA_BYTES >> 20} MiB are read'
        findings.error('too-large', place, message)
        return None
    try:
        return _checked(label, *read_apart(_READER, LIMITS, {'path': path}))
    except ReadingError as err:
        text = str(err)
        if text.startswith(_NOT_USABLE):
            findings.error('usd-missing', place, f'{_MISSING} ({text})')
        else:
            place, reason = _refusal(path, text)
            findings.error('usd', place, f'usd-core refuses it: {reason}')
        return None


def _refusal(path: str, text: str) -> tuple[Place, str]:
    """Return the place and the reason in usd-core's message, without its own source lines."""
    found = _PARSED.search(text)
    if found:
        file = '' if found[1] == path else found[1]
        place = Place('stage', line=int(found[2]), file=file, column=int(found[3]))
        return place, found[4].strip()
    quoted = _QUOTED.findall(text)
    return Place('stage'), quoted[0] if quoted else text.removeprefix('ErrorException: ')


def _name_references(stage: Stage, findings: Findings) -> None:
    """Name the references that lead out of reach, or depend on this machine."""
    for key, code, message in (
        ('remote', 'remote-reference', 'is not read: nothing is downloaded'),
        ('missing', 'missing-reference', 'is not found; the prims in it are absent'),
        ('absolute', 'absolute-reference', 'is an absolute path, found on this machine alone'),
    ):
        for written in map(str, stage.texts[key]):
            findings.warning(code, Place('reference'), message, value=written)


def _checked(label: str, fields: Mapping[str, Any], data: bytes) -> Stage:
    """Return an answer with consistent sizes, numbers and indices; else raise ReadingError."""
    try:
        size = int(fields['size'])
        texts = json.loads(data[:size])
        arrays = _split(fields['arrays'], data, size)
        stage = Stage(label, texts, arrays)
        prims = {str(each['path']): _prim(each, arrays) for each in texts['prims']}
        if not (0.0 < stage.meters < _LARGEST and 0.0 < stage.kilograms < _LARGEST):
            raise ValueError('units')
        for key in ('files', 'missing', 'remote', 'absolute', 'default', 'up', 'materials'):
            texts[key]
        return Stage(label, texts, arrays, prims)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, AttributeError) as err:
        raise ReadingError('the process that reads it gave no usable answer') from err


def _prim(data: Mapping[str, Any], arrays: list[np.ndarray]) -> Prim:
    mesh = data.get('mesh')
    if mesh is not None and not 0 <= 2 * int(mesh) < len(arrays):
        raise IndexError(mesh)
    return Prim(
        str(data['path']),
        str(data['type']),
        frozenset(map(str, data['apis'])),
        _matrix(data['matrix']),
        str(data['body']),
        dict(data['values']),
        {str(key): list(map(str, paths)) for key, paths in data['targets'].items()},
        data,
    )


def _matrix(values: Any) -> FloatArray:
    matrix = np.array(values, dtype=float).reshape(4, 4).T
    if not (np.isfinite(matrix).all() and np.abs(matrix).max() < _LARGEST):
        raise ValueError('matrix')
    return read_only(matrix)


def _split(head: Any, data: bytes, at: int) -> list[np.ndarray]:
    """Return the arrays: points (n, 3) and triangles (m, 3) in turns."""
    arrays: list[np.ndarray] = []
    for kind, shape in head:
        expected = np.dtype(np.float64 if len(arrays) % 2 == 0 else np.int64)
        if np.dtype(kind) != expected or len(shape) != 2 or int(shape[1]) != 3:
            raise ValueError(kind)
        count = int(shape[0]) * 3
        array = np.frombuffer(data, expected, count, at).reshape(-1, 3)
        at += array.nbytes
        if len(arrays) % 2 and array.size:
            points = len(arrays[-1])
            if array.min() < 0 or array.max() >= points:
                array = array[((array >= 0) & (array < points)).all(axis=1)]
        elif not np.isfinite(array).all():
            raise ValueError('not finite')
        arrays.append(array)
    if at != len(data):
        raise ValueError('size')
    return arrays
