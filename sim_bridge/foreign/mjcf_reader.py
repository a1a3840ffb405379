"""
MJCF reader in the confined process: MuJoCo's own parser and compiler.

The answer is the compiled model as plain arrays, with the names, and the files and lines of all
elements. Compilation uses one thread, because the process may start no others.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
import os
from pathlib import Path
from typing import Any
from xml.parsers import expat

# without a window system; MuJoCo would search for one
os.environ['MUJOCO_GL'] = 'disable'

import mujoco
import numpy as np

_OLDEST = (3, 17)
if tuple(map(int, mujoco.__version__.split('.')[:2])) < _OLDEST:
    raise ImportError(f'needs MuJoCo 3.17 or later, and {mujoco.__version__} is installed')

# includes, meshes, textures and height fields may be in any folder
MAY_READ = True

# model arrays by the beginning of their names
_KEPT = (
    'actuator_', 'body_', 'cam_', 'dof_', 'eq_', 'exclude_', 'geom_', 'hfield_', 'jnt_', 'key_',
    'light_', 'mat_', 'mesh_face', 'mesh_path', 'mesh_pos', 'mesh_quat', 'mesh_scale',
    'mesh_texcoord', 'mesh_vert', 'name_', 'numeric_', 'pair_', 'qpos', 'sensor_', 'site_',
    'tendon_', 'tex_', 'wrap_',
)  # fmt: skip
# large or unused
_LEFT_OUT = frozenset({'tex_data', 'geom_aabb', 'mesh_facenormal', 'body_user', 'geom_user'})
_COUNTS = ('nq', 'nv', 'nu', 'na', 'nflex', 'nskin', 'nplugin', 'nmocap')
# element lists in a specification, by the word for names in the compiled model
_ELEMENTS = {
    'body': 'bodies', 'jnt': 'joints', 'geom': 'geoms', 'site': 'sites', 'cam': 'cameras',
    'light': 'lights', 'flex': 'flexes', 'mesh': 'meshes', 'skin': 'skins', 'hfield': 'hfields',
    'tex': 'textures', 'mat': 'materials', 'pair': 'pairs', 'exclude': 'excludes',
    'eq': 'equalities', 'tendon': 'tendons', 'actuator': 'actuators', 'sensor': 'sensors',
    'numeric': 'numerics', 'text': 'texts', 'tuple': 'tuples', 'key': 'keys',
    'plugin': 'plugins',
}  # fmt: skip
_OPTIONS = (
    'timestep', 'gravity', 'wind', 'magnetic', 'density', 'viscosity', 'o_margin', 'integrator',
    'cone', 'impratio', 'disableactuator',
)  # fmt: skip
# enumeration for an array's values; its numbers differ between versions
_WORDS = {
    'jnt_type': 'mjtJoint', 'geom_type': 'mjtGeom', 'eq_type': 'mjtEq', 'eq_objtype': 'mjtObj',
    'wrap_type': 'mjtWrap', 'actuator_trntype': 'mjtTrn', 'actuator_dyntype': 'mjtDyn',
    'actuator_gaintype': 'mjtGain', 'actuator_biastype': 'mjtBias', 'sensor_type': 'mjtSensor',
    'sensor_objtype': 'mjtObj', 'sensor_reftype': 'mjtObj', 'cam_mode': 'mjtCamLight',
    'light_mode': 'mjtCamLight', 'light_type': 'mjtLightType', 'tex_type': 'mjtTexture',
    'cam_projection': 'mjtProjection',
}  # fmt: skip
_MOST_FILES = 1000
_LONGEST_FILE = 32 << 20
# sections whose elements have many tags
_SECTIONS = frozenset({'actuator', 'sensor', 'tendon', 'equality'})
# included files inside each other
_DEEPEST = 30


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return a compiled model.

    request: 'path', the file's path; '' for a model in `data`. The answer lists the arrays as
    'arrays': name, type and shape each. The data begin with a JSON object with 'size' bytes:
    names, lines, options, files and warnings; the arrays follow in order.
    """
    warnings: list[str] = []
    mujoco.set_mju_user_warning(lambda text: warnings.append(_text(text)))
    path = request['path']
    if path:
        spec = mujoco.MjSpec.from_file(path)
        sources = _Sources(Path(path), Path(path).read_bytes())
    else:
        spec = mujoco.MjSpec.from_string(data.decode('utf-8', errors='replace'))
        sources = _Sources(Path(request['folder']) / '<string>', data)
    _make_lean(spec)
    model = spec.compile()
    texts = {
        'model': str(spec.modelname),
        'version': mujoco.__version__,
        'counts': {name: int(getattr(model, name, 0)) for name in _COUNTS},
        'option': {name: _plain(getattr(model.opt, name)) for name in _OPTIONS},
        'disabled': _flags(model.opt.disableflags, 'mjtDisableBit'),
        'enabled': _flags(model.opt.enableflags, 'mjtEnableBit'),
        'names': {kind: list(_names(model, kind)) for kind in _ELEMENTS},
        'lines': {kind: _lines(model, spec, kind) for kind in _ELEMENTS},
        'words': {name: _words(model, name, kind) for name, kind in _WORDS.items()},
        'elements': sources.elements,
        'files': sources.files,
        'mesh_files': _paths(model, 'mesh'),
        'mesh_moved': _moved(spec),
        'texture_files': _paths(model, 'tex'),
        'hfield_files': _paths(model, 'hfield'),
        'folders': [str(getattr(spec, name, '') or '') for name in ('meshdir', 'texturedir')],
        'warnings': warnings,
        'lights_head': _headlight(model),
    }
    text = json.dumps(texts).encode()
    arrays = dict(_arrays(model))
    head = [[name, each.dtype.str, list(each.shape)] for name, each in arrays.items()]
    body = b''.join([text, *(each.tobytes() for each in arrays.values())])
    return {'size': len(text), 'arrays': head}, body


def _make_lean(spec: Any) -> None:
    """Use one thread, and no memory for a simulation."""
    if hasattr(spec.compiler, 'usethread'):
        spec.compiler.usethread = 0
    for name in ('memory', 'njmax', 'nconmax', 'nstack'):
        if hasattr(spec, name):
            setattr(spec, name, -1)


def _arrays(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name in dir(model):
        if name.startswith(_KEPT) and name not in _LEFT_OUT:
            value = getattr(model, name)
            if isinstance(value, np.ndarray):
                yield name, np.ascontiguousarray(value)


def _names(model: Any, kind: str) -> Iterator[str]:
    """Names by element for one kind, '' for none."""
    for start in getattr(model, f'name_{kind}adr', ()):
        end = model.names.index(b'\0', start)
        yield _text(model.names[start:end])


def _lines(model: Any, spec: Any, kind: str) -> list[int]:
    """Lines by element for one kind; 0 if unknown."""
    count = len(getattr(model, f'name_{kind}adr', ()))
    lines = [0] * count
    for element in getattr(spec, _ELEMENTS[kind], ()):
        number, info = getattr(element, 'id', -1), str(getattr(element, 'info', ''))
        word = info.rpartition('line ')[2].split(' ')[0]
        if 0 <= number < count and word.isdecimal():
            lines[number] = int(word)
    return lines


def _words(model: Any, name: str, kind: str) -> list[str]:
    """Words for an array's values, such as 'hinge' for mjJNT_HINGE."""
    members = getattr(getattr(mujoco, kind, None), '__members__', {})
    words = {int(value): word.partition('_')[2].lower() for word, value in members.items()}
    return [words.get(int(value), str(int(value))) for value in np.ravel(getattr(model, name, ()))]


def _flags(bits: int, kind: str) -> list[str]:
    """Words for the bits set, such as 'gravity' for mjDSBL_GRAVITY."""
    members = getattr(mujoco, kind).__members__.items()
    return [
        word.partition('_')[2].lower()
        for word, bit in members
        if bin(int(bit)).count('1') == 1 and int(bits) & int(bit)
    ]


def _moved(spec: Any) -> list[bool]:
    """Whether each mesh has a reference pose; its file's frame is then not known here."""
    unit = [1.0, 0.0, 0.0, 0.0]
    return [
        bool(np.any(mesh.refpos)) or list(mesh.refquat) != unit
        for mesh in sorted(spec.meshes, key=lambda each: int(each.id))
    ]


def _paths(model: Any, kind: str) -> list[str]:
    """Mesh, texture or height field files, '' for none."""
    found = []
    paths = bytes(getattr(model, 'paths', b''))
    for start in getattr(model, f'{kind}_pathadr', ()):
        end = paths.find(b'\0', start)
        found.append(_text(paths[start:end]) if start >= 0 else '')
    return found


def _headlight(model: Any) -> dict[str, Any]:
    light = model.vis.headlight
    return {name: _plain(getattr(light, name)) for name in ('ambient', 'diffuse', 'active')}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _text(value: Any) -> str:
    return value.decode('utf-8', errors='replace') if isinstance(value, bytes) else str(value)


class _Sources:
    """
    A model's XML files, in order, and the element places in them.

    elements: for each file, its elements in order: tag, line, name ('' if none). Elements in
    _SECTIONS have the section's tag. MuJoCo gives lines of the main file alone.
    """

    def __init__(self, path: Path, data: bytes):
        self.files: list[str] = []
        self.elements: list[list[tuple[str, int, str]]] = []
        self._main = path.parent
        self._read(path, data, 0)

    def _read(self, path: Path, data: bytes, depth: int) -> None:
        if depth > _DEEPEST or len(self.files) >= _MOST_FILES:
            return
        self.files.append(os.fspath(path))
        own: list[tuple[str, int, str]] = []
        self.elements.append(own)
        included: list[str] = []
        parser = expat.ParserCreate()

        above: list[str] = []

        def begin(tag: str, attributes: dict[str, str]) -> None:
            section = above[-1] if above and above[-1] in _SECTIONS else tag
            above.append(tag)
            word = 'joint' if section == 'freejoint' else section
            own.append((word, parser.CurrentLineNumber, attributes.get('name', '')))
            if tag == 'include' and 'file' in attributes:
                included.append(attributes['file'])

        parser.StartElementHandler = begin
        parser.EndElementHandler = lambda _: above.pop()
        # MuJoCo reads more than well-formed XML; the elements so far have their places
        with contextlib.suppress(expat.ExpatError):
            parser.Parse(data, True)
        for name in included:
            for folder in (path.parent, self._main):
                file = folder / name
                if file.is_file() and file.stat().st_size <= _LONGEST_FILE:
                    self._read(file, file.read_bytes(), depth + 1)
                    break
