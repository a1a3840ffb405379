"""A model compiled by MuJoCo: checked arrays, element names and places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
import importlib.util
import json
import os
from pathlib import Path
import re
import stat
from typing import Any

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place
from sim_bridge.foreign.files import TEXT_BYTES
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_quaternion

# a scene with hundreds of meshes needs some 10 s and 1 GB
LIMITS = Limits(seconds=60.0, memory_bytes=6 << 30, answer_bytes=1 << 30)

_READER = 'sim_bridge.foreign.mjcf_reader'
_NOT_USABLE = 'ImportError: '
_TYPES = frozenset(
    np.dtype(each).str
    for each in (
        np.float64,
        np.float32,
        np.int32,
        np.uint32,
        np.int64,
        np.uint64,
        np.uint8,
        np.int8,
        np.bool_,
    )
)
# element tag in files, by the word for its kind; '' for kinds with many tags
_TAGS = {
    'jnt': 'joint', 'cam': 'camera', 'tex': 'texture', 'mat': 'material', 'eq': 'equality',
}  # fmt: skip
# index arrays, by the array with one row for each element they point to
_INDICES = {
    'body_parentid': 'body_pos', 'body_weldid': 'body_pos', 'body_rootid': 'body_pos',
    'jnt_bodyid': 'body_pos', 'geom_bodyid': 'body_pos', 'site_bodyid': 'body_pos',
    'cam_bodyid': 'body_pos', 'light_bodyid': 'body_pos', 'jnt_dofadr': 'dof_jntid',
    'jnt_qposadr': 'qpos0', 'pair_geom1': 'geom_pos', 'pair_geom2': 'geom_pos',
}  # fmt: skip
_OPTIONAL = {'geom_matid': 'mat_rgba', 'site_matid': 'mat_rgba'}
_PLACED = re.compile(
    r'[,\s]*(?:Element )?(?:name )?(?:\'[^\']*\',? )?(?:id \d+, )?[Ll]ine (?:number=)?(\d+)'
)


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """
    Compiled model.

    label: the file's name in reports. arrays: mjModel's, by name. texts: names, lines, options and
    files, as `foreign.mjcf_reader` gives them.
    """

    label: str
    arrays: Mapping[str, np.ndarray]
    texts: Mapping[str, Any]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array by its name in mjModel."""
        return self.arrays[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an array, or the default if this MuJoCo version lacks it."""
        return self.arrays.get(name, default)

    def words(self, array: str) -> Sequence[str]:
        """Return an array's values as words, such as 'hinge'."""
        words: Sequence[str] = self.texts['words'][array]
        return words

    def count(self, kind: str) -> int:
        """Return a kind's element count, by MuJoCo's abbreviation."""
        return len(self.texts['names'][kind])

    @cached_property
    def _given_names(self) -> dict[str, list[str]]:
        """Names by requested kind; elements without a name get one."""
        return {}

    def _names_of(self, kind: str) -> list[str]:
        known = self._given_names
        if kind not in known:
            given = self.texts['names'][kind]
            taken = set(given)
            known[kind] = []
            for number, name in enumerate(given):
                if not name:
                    name = free_name(self._default(kind, number), taken.__contains__)
                    taken.add(name)
                known[kind].append(name)
        return known[kind]

    def _default(self, kind: str, number: int) -> str:
        if kind == 'jnt':
            body = int(self['jnt_bodyid'][number])
            return f'{self.name("body", body)}_joint'
        return f'{_TAGS.get(kind, kind)}_{number}'

    def name(self, kind: str, number: int) -> str:
        """Return an element's name, a new one for an element without a name."""
        return self._names_of(kind)[number]

    def has_name(self, kind: str, number: int) -> bool:
        """Return whether the file gives the element a name."""
        return bool(self.texts['names'][kind][number])

    def line(self, kind: str, number: int) -> int:
        """Return an element's line in the main file, 0 for others."""
        return int(self.texts['lines'][kind][number])

    def place(self, kind: str, number: int, inner: str = '') -> Place:
        """Return an element's place; inner: tag or attribute path inside it."""
        tag = _TAGS.get(kind, kind)
        line, file = self.line(kind, number), ''
        name = self.name(kind, number) if self.has_name(kind, number) else ''
        if not line and name:
            file, line = self._named.get((tag, name), ('', 0))
        element = f'{tag}/{inner}' if inner else tag
        return Place(element, name, line, file=file)

    @cached_property
    def _named(self) -> dict[tuple[str, str], tuple[str, int]]:
        """
        Files ('' for the main file) and lines by tag and name, for named elements.

        MuJoCo knows most lines in the main file alone.
        """
        found: dict[tuple[str, str], tuple[str, int]] = {}
        main, *_ = files = self.texts['files']
        for file, elements in zip(files, self.texts['elements'], strict=True):
            for tag, line, name in elements:
                if name:
                    place = ('' if file == main else str(file), int(line))
                    found.setdefault((tag, name), place)
        return found

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Full paths to all files, main file first; a text has none."""
        found = [] if self.label == '<string>' else list(map(str, self.texts['files']))
        for kind in ('mesh', 'texture', 'hfield'):
            located = (self.file(str(name)) for name in self.texts[f'{kind}_files'] if name)
            found += [str(path) for path in located if path is not None]
        return tuple(dict.fromkeys(found))

    def file(self, name: str) -> Path | None:
        """Return a located mesh or texture file, None for an unknown name."""
        base = Path(self.texts['files'][0]).parent
        for folder in (base, *(base / str(each) for each in self.texts['folders'])):
            path = folder / name
            if path.is_file():
                return path
        return None

    def option(self, name: str) -> Any:
        """Return a global option by its name in mjOption."""
        return self.texts['option'][name]

    def pose(self, kind: str, number: int) -> Pose:
        """Return an element's pose in its body, a body's in its parent."""
        return pose_of(self[f'{kind}_pos'][number], self[f'{kind}_quat'][number])

    @cached_property
    def children(self) -> list[list[int]]:
        """Child bodies by body, in file order."""
        found: list[list[int]] = [[] for _ in range(self.count('body'))]
        for body, parent in enumerate(self['body_parentid'].tolist()):
            if body:
                found[parent].append(body)
        return found

    def of_body(self, kind: str, body: int) -> list[int]:
        """Return a body's elements by kind: 'jnt', 'geom', 'site', 'cam' or 'light'."""
        return self._of_bodies(kind)[body]

    def _of_bodies(self, kind: str) -> list[list[int]]:
        known: dict[str, list[list[int]]] = self.__dict__.setdefault('_by_body', {})
        if kind not in known:
            known[kind] = [[] for _ in range(self.count('body'))]
            for number, body in enumerate(self[f'{kind}_bodyid'].tolist()):
                known[kind][body].append(number)
        return known[kind]


def pose_of(position: np.ndarray, quaternion: np.ndarray) -> Pose:
    """Return a pose; quaternion: w x y z, as in MuJoCo."""
    w, x, y, z = np.asarray(quaternion, dtype=float)
    pose = Pose(np.array(position, dtype=float), matrix_from_quaternion((x, y, z, w)))
    pose.position.flags.writeable = pose.rotation.flags.writeable = False
    return pose


# the model compiled last, with its file states: a file is asked for its kind, then read
_last: list[tuple[str, tuple[Any, ...], CompiledModel]] = []


def compile_mjcf(source: Source, findings: Findings) -> CompiledModel | None:
    """Return a compiled file or text; None, with an error, if MuJoCo refuses it."""
    model = None
    path = '' if source.path is None else os.path.abspath(source.path)
    for known, state, kept in _last:
        if path and path == known and state == _state_of(kept):
            model = kept
    if model is None:
        model = _compile(source, findings)
    if model is not None:
        _last[:] = [(path, _state_of(model), model)]
        for text in model.texts['warnings']:
            findings.warning('mujoco', Place('mujoco'), ' '.join(str(text).split()))
    return model


def _state_of(model: CompiledModel) -> tuple[Any, ...]:
    """Return times and sizes for all files in a model."""
    states: list[Any] = []
    for path in model.files:
        try:
            status = os.stat(path)
            states.append((status.st_mtime_ns, status.st_size))
        except OSError:
            states.append(None)
    return tuple(states)


def _compile(source: Source, findings: Findings) -> CompiledModel | None:
    label = '<string>' if source.path is None else str(source.path)
    if importlib.util.find_spec('mujoco') is None:
        message = "this is an MJCF file; MuJoCo reads it: pip install 'sim_bridge[mjcf]'"
        findings.error('mujoco-missing', Place('mujoco'), message)
        return None
    request = {
        'path': '' if source.path is None else os.path.abspath(source.path),
        'folder': os.fspath(source.folder or Path.cwd()),
    }
    if source.path is None:
        data = str(source.given).encode()
    else:
        data = b''
        try:
            status = source.path.stat()
            size = status.st_size
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, 'not a regular file')
        except OSError as err:
            message = f'cannot be read: {err.strerror}'
            findings.error('unreadable', Place('mujoco'), message)
            return None
        if size > TEXT_BYTES:
            message = f'has {size >> 20} MiB; at most {TEXT_BYTES >> 20} MiB are read'
            findings.error('too-large', Place('mujoco'), message)
            return None
    try:
        return _checked(label, *read_apart(_READER, LIMITS, request, data))
    except ReadingError as err:
        _report(str(err), findings)
        return None


def _report(text: str, findings: Findings) -> None:
    """Add MuJoCo's refusal, with its line."""
    if text.startswith(_NOT_USABLE):
        findings.error('mujoco-missing', Place('mujoco'), text.removeprefix(_NOT_USABLE))
        return
    for prefix in ('ValueError: ', 'FatalError: ', 'Error: ', 'XML Error: '):
        text = text.removeprefix(prefix)
    found = _PLACED.search(text)
    line = int(found[1]) if found else 0
    message = _PLACED.sub('', text).strip(' ,') if found else text
    findings.error('mujoco', Place('mujoco', line=line), f'MuJoCo refuses it: {message}')


def _checked(label: str, fields: Mapping[str, Any], data: bytes) -> CompiledModel:
    """Return an answer with consistent sizes, numbers and indices; else raise ReadingError."""
    try:
        size = int(fields['size'])
        texts = json.loads(data[:size])
        arrays = _split(fields['arrays'], data, size)
        model = CompiledModel(label, arrays, texts)
        _check(model)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, AttributeError) as err:
        raise ReadingError('the process that reads it gave no usable answer') from err
    return model


def _split(head: Sequence[Any], data: bytes, at: int) -> dict[str, np.ndarray]:
    arrays = {}
    for name, kind, shape in head:
        if kind not in _TYPES:
            raise ValueError(kind)
        count = int(np.prod([int(n) for n in shape], dtype=np.int64))
        array = np.frombuffer(data, kind, count, at).reshape([int(n) for n in shape])
        at += array.nbytes
        arrays[str(name)] = array
    if at != len(data):
        raise ValueError('size')
    return arrays


def _check(model: CompiledModel) -> None:
    for name, each in model.arrays.items():
        if each.dtype.kind == 'f' and not np.isfinite(each).all():
            raise ReadingError(f'some numbers are not finite as compiled, in {name} of mjModel')
    names, lines = model.texts['names'], model.texts['lines']
    for kind, pointed in (
        ('body', 'body_pos'), ('jnt', 'jnt_pos'), ('geom', 'geom_pos'), ('site', 'site_pos')
    ):  # fmt: skip
        if not len(names[kind]) == len(lines[kind]) == len(model[pointed]):
            raise ValueError(kind)
    for array, pointed in _INDICES.items():
        values, count = model[array], len(model[pointed])
        if values.size and not (values.min() >= 0 and values.max() < count):
            raise ValueError(array)
    for array, pointed in _OPTIONAL.items():
        values, count = model[array], len(model[pointed])
        if values.size and not (values.min() >= -1 and values.max() < count):
            raise ValueError(array)
    parents = model['body_parentid']
    if (parents[1:] >= np.arange(1, len(parents))).any():
        raise ValueError('parents')
