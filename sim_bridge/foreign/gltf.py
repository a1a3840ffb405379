"""glTF files in the confined process: names of other files, required extensions, buffers."""

from __future__ import annotations

import json
import struct
from typing import Any
from urllib.parse import unquote

import trimesh

GLTF, GLB = '.gltf', '.glb'
_GLB_HEAD = struct.Struct('<4sIIII')
_FAN = 6  # mode of a primitive
# extensions that leave vertices and triangles as they are
_HARMLESS = ('KHR_materials_', 'KHR_texture_', 'EXT_texture_', 'MSFT_texture_', 'KHR_lights_')


def names_in(data: bytes, *keys: str) -> list[str]:
    """Return the names of other files at keys ('buffers', 'images') of a .gltf file."""
    return _uris(_tree(GLTF, data), *keys)


def _uris(tree: dict[str, Any], *keys: str) -> list[str]:
    return [
        uri
        for key in keys
        for each in tree.get(key, ())
        if (uri := each.get('uri', 'data:')) and not uri.startswith('data:')
    ]


def check(suffix: str, data: bytes) -> None:
    """Raise ValueError for contents that trimesh would leave out or misread."""
    tree = _tree(suffix, data)
    apart = _uris(tree, 'buffers') if suffix == GLB else []
    if apart:
        raise ValueError(f'its buffer {apart[0][:200]!r} is another file; write it as .gltf')
    if suffix == GLTF and not all('uri' in each for each in tree.get('buffers', ())):
        raise ValueError('a buffer has no uri')
    needed = [
        name for name in tree.get('extensionsRequired', ()) if not str(name).startswith(_HARMLESS)
    ]
    if needed:
        raise ValueError(
            f'it requires {", ".join(map(str, needed))}; only plain glTF is read: write the file '
            'without compression'
        )
    if any('sparse' in each for each in tree.get('accessors', ())):
        raise ValueError('it has sparse accessors, which are not read')
    primitives = [one for mesh in tree.get('meshes', ()) for one in mesh.get('primitives', ())]
    if any(each.get('mode') == _FAN for each in primitives):
        raise ValueError('it has triangle fans, which are not read; write triangles or strips')


def _tree(suffix: str, data: bytes) -> dict[str, Any]:
    """Return a file's JSON object; {} for a .glb file without one."""
    if suffix == GLB:
        if len(data) < _GLB_HEAD.size:
            return {}
        *_, length, _kind = _GLB_HEAD.unpack_from(data)
        data = data[_GLB_HEAD.size : _GLB_HEAD.size + length]
    tree = json.loads(data)
    if not isinstance(tree, dict):
        raise ValueError('its JSON is no object')
    return tree


def parted(request: dict[str, Any], data: bytes) -> tuple[bytes, Beside]:
    """
    Return a mesh file's content, and the files beside it.

    request: 'files', name and size of each file beside it; their contents end `data`, in order.
    """
    sizes = request.get('files', ())
    at = len(data) - sum(size for _, size in sizes)
    content, files = data[:at], {}
    for name, size in sizes:
        files[name] = data[at : at + size]
        at += size
    return content, Beside(files)


class Beside(trimesh.resolvers.Resolver):
    """Source of referenced files for trimesh; content by name."""

    def __init__(self, files: dict[str, bytes]):
        """Hold files by their names in the mesh file."""
        self._files = files

    def get(self, name: str) -> bytes:
        """Return a file's content; raises KeyError for another name."""
        for each in (name, unquote(name)):
            if each in self._files:
                return self._files[each]
        raise KeyError(name)

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._files)

    def write(self, name: str, data: bytes) -> None:
        """Refuse to write."""
        raise NotImplementedError

    def namespaced(self, namespace: str) -> Beside:
        """Refuse to make another source."""
        raise NotImplementedError
