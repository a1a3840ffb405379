"""
Mesh file reader in the confined process: STL, OBJ, DAE, PLY, glTF and OFF, by trimesh.

SciPy and Pillow are hidden from trimesh. They double its import time, and are needed only for
mesh processing and for pictures.
"""

from __future__ import annotations

import io
import struct
import sys
from typing import Any
from xml.etree import ElementTree

for _name in ('scipy', 'PIL'):
    sys.modules.setdefault(_name, None)  # type: ignore[arg-type]

import numpy as np  # noqa: E402
import trimesh  # noqa: E402

from sim_bridge.foreign import gltf  # noqa: E402
from sim_bridge.foreign.vertices import merge_vertices  # noqa: E402

# False: the file is passed as content, and all modules are already imported
MAY_READ = False

_APPEARANCE_TAGS = frozenset(
    {'library_effects', 'library_images', 'library_materials', 'bind_material'}
)
# limit on nodes and their instances in a DAE file; the largest robots have a few hundred
_MOST_INSTANCES = 20_000
_STL_HEADER = struct.Struct('<80xI')
_STL_TRIANGLE_BYTES = 50


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return the surface in a file: vertex and triangle counts, then both arrays.

    request: 'suffix', the format; 'names': whether only the names of a .gltf file's buffers are
    requested, returned as 'names'; 'files': the buffers, as for `gltf.parted`. The arrays are
    vertices (n, 3) as 8-byte floats [m], and triangles (m, 3) as 8-byte integers, in the machine's
    byte order.
    """
    suffix = request['suffix']
    if request.get('names'):
        return {'names': gltf.names_in(data, 'buffers')}, b''
    data, beside = gltf.parted(request, data)
    is_dae = suffix == '.dae'
    content = io.BytesIO(plain_dae(data) if is_dae else readable(suffix, data))
    scene = trimesh.load_scene(
        content,
        file_type=suffix[1:],
        process=False,
        skip_materials=True,
        resolver=beside if suffix == gltf.GLTF else None,
    )
    for part in scene.geometry.values():
        # drop the textures: joining parts with texture coordinates would also join their pictures
        part.visual = trimesh.visual.ColorVisuals()
    surface = (scene.convert_units('meters') if is_dae else scene).to_mesh()
    vertices, triangles = merge_vertices(surface.vertices, surface.faces)
    fields = {'vertices': len(vertices), 'triangles': len(triangles)}
    return fields, vertices.astype('=f8').tobytes() + triangles.astype('=i8').tobytes()


def plain_dae(data: bytes, *, appearance: bool = False) -> bytes:
    """
    Return a DAE file without elements that make pycollada fail or run endlessly.

    appearance: whether materials are kept.
    """
    root = ElementTree.fromstring(data)
    for parent in root.iter():
        for child in list(parent):
            # defects in materials would make it drop meshes
            if _tag(child) in _APPEARANCE_TAGS and not appearance:
                parent.remove(child)
        # pycollada would read nan as 0; in number texts, only nan and inf contain an n
        if _tag(parent) == 'float_array' and 'n' in (parent.text or '').lower():
            raise ValueError('its coordinates are not finite')
    if not any(_tag(element) == 'instance_visual_scene' for element in root.iter()):
        raise ValueError('it has no scene')
    count = _count_instances(root)
    if count > _MOST_INSTANCES:
        raise ValueError(
            f'it places {count} nodes and geometries, and at most {_MOST_INSTANCES} are read'
        )
    return ElementTree.tostring(root)


def _count_instances(root: ElementTree.Element) -> int:
    """Count placed geometries and nodes; nested nodes count once per use."""
    nodes = {f'#{node.get("id")}': node for node in root.iter() if _tag(node) == 'node'}
    counts: dict[ElementTree.Element, int] = {}

    def count(node: ElementTree.Element, above: frozenset[ElementTree.Element]) -> int:
        if node in above:
            raise ValueError(f'the node {node.get("id")!r} is inside itself')
        if node not in counts:
            placed = 1
            for child in node:
                if _tag(child) == 'node':
                    placed += count(child, above | {node})
                elif _tag(child) == 'instance_node':
                    inner = nodes.get(child.get('url', ''))
                    placed += 0 if inner is None else count(inner, above | {node})
                elif _tag(child).startswith('instance_'):
                    placed += 1
            counts[node] = placed
        return counts[node]

    scenes = [element for element in root.iter() if _tag(element) == 'visual_scene']
    return sum(count(node, frozenset()) for scene in scenes for node in scene)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition('}')[2]


def readable(suffix: str, data: bytes) -> bytes:
    """Return a file in trimesh's form, text in UTF-8; raises ValueError if it is no STL."""
    if suffix in (gltf.GLTF, gltf.GLB):
        gltf.check(suffix, data)
    if suffix in ('.ply', gltf.GLB):
        return data
    if suffix == '.stl' and len(data) >= _STL_HEADER.size:
        (count,) = _STL_HEADER.unpack_from(data)
        size = _STL_HEADER.size + count * _STL_TRIANGLE_BYTES
        if size == len(data):
            return data
        if b'facet' not in data.lower():
            raise ValueError(
                f'{len(data)} bytes without a facet in words; as a binary file it begins with '
                f'{count} triangles, which are {size} bytes'
            )
    try:
        data.decode()
    except UnicodeDecodeError:
        # names and comments from older programs
        return data.decode('latin-1').encode()
    return data


def _warm_up() -> None:
    """Read one file per format to trigger late imports."""
    triangle = trimesh.Trimesh(np.eye(3), [[0, 1, 2]], process=False)
    for suffix in ('stl', 'obj', 'ply', 'dae', 'glb', 'off'):
        content: Any = triangle.export(file_type=suffix)
        read({'suffix': f'.{suffix}'}, content.encode() if isinstance(content, str) else content)


_warm_up()
