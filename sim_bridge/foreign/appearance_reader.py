"""
Reader for the appearance in a mesh file, in the confined process: pieces, colours, pictures.

It uses trimesh, with Pillow for pictures. `mesh_reader` reads the surface only; its import hides
SciPy, because it doubles trimesh's starting time.
"""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple
import warnings
from xml.etree import ElementTree

import numpy as np

# imported before `mesh_reader` hides it
from PIL import BmpImagePlugin, Image, TgaImagePlugin, WebPImagePlugin  # noqa: F401

from sim_bridge.foreign.mesh_reader import plain_dae, readable  # isort: split

import trimesh

from sim_bridge.foreign import gltf
from sim_bridge.foreign.beside import BUFFERS
from sim_bridge.foreign.vertices import merge_vertices

# False: all files are passed as content, and all modules are already imported
MAY_READ = False

_MOST_SIDE = 1024  # [pixels] larger pictures are scaled down
_GREY = 153  # for a part with a missing or unreadable picture
_UNKNOWN = '0.6 0.6 0.6 1'  # the same in DAE files
# import Pillow's format modules before the process is confined
Image.init()
Image.MAX_IMAGE_PIXELS = 1 << 26
# reject larger pictures instead of warning
warnings.simplefilter('error', Image.DecompressionBombWarning)


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return the names of files referenced by a mesh file, or its surface in pieces.

    request: 'suffix', the format; 'names': whether names are requested; else 'files', name and
    size of each referenced file; their contents follow the mesh file's in `data`. The answer has
    'names', or 'pieces' and 'pictures'. A piece has 'vertices', 'triangles' (counts), 'color'
    (red, green, blue, opacity, sRGB from 0 to 1, None without colour), 'is_colored', 'picture'
    (index or None); a picture has 'height', 'width'. 'unread' has the names of unreadable
    pictures; their parts are grey. The data are, for each piece: vertices (n, 3)
    as 4-byte floats [m]; triangles (m, 3) as 4-byte integers; if coloured, vertex colours (n, 4)
    as bytes; if it has a picture, texture coordinates (n, 2) as 4-byte floats. Then follow the
    pictures (height, width, 4) as bytes.
    """
    suffix = request['suffix']
    if request.get('names'):
        return {'names': _names(suffix, data)}, b''
    data, beside = gltf.parted(request, data)
    files = _Files(beside)
    pieces = _Pieces(suffix in (gltf.GLTF, gltf.GLB), files.unread)
    for part in _parts(suffix, data, files):
        pieces.add(part)
    return pieces.answer()


class _Files(gltf.Beside):
    """Referenced files, with a grey picture for each missing or unreadable one."""

    def __init__(self, files: gltf.Beside):
        """Find unreadable pictures by their headers."""
        self.unread: list[str] = []
        contents = {}
        names = files.keys()
        for name in names:
            contents[name] = files.get(name)
            if not _is_data(name) and not _is_picture(contents[name]):
                contents[name] = _GREY_PICTURE
                self.unread.append(name)
        super().__init__(contents)

    def get(self, name: str) -> bytes:
        """Return a file's content; raises KeyError for missing materials and buffers."""
        try:
            return super().get(name)
        except KeyError:
            if _is_data(name):
                raise
            return _GREY_PICTURE


def _is_data(name: str) -> bool:
    return name.lower().endswith(('.mtl', *BUFFERS))


def _is_picture(content: bytes) -> bool:
    try:
        Image.open(io.BytesIO(content))
    except Exception:  # noqa: BLE001  broken pictures raise many kinds
        return False
    return True


def _names(suffix: str, data: bytes) -> list[str]:
    """Return the names of other files in a mesh or material file."""
    if suffix in ('.obj', '.mtl'):
        key = rb'mtllib' if suffix == '.obj' else rb'map_Kd'
        found = re.findall(rb'^\s*' + key + rb'\s+(.+?)\s*$', data, re.MULTILINE | re.IGNORECASE)
        return [name.decode(errors='replace') for name in found]
    if suffix == '.dae':
        root = ElementTree.fromstring(data)
        return [
            text.strip()
            for image in root.iter()
            if _tag(image) == 'image'
            for each in image.iter()
            if _tag(each) == 'init_from' and (text := each.text)
        ]
    if suffix == gltf.GLTF:
        return gltf.names_in(data, 'buffers', 'images')
    if suffix == '.ply':
        found = re.findall(rb'^comment TextureFile\s+(.+?)\s*$', data[:10000], re.MULTILINE)
        return [name.decode(errors='replace') for name in found]
    return []


class _Part(NamedTuple):
    """Mesh at its place in the file's scene, with its appearance."""

    vertices: np.ndarray
    triangles: np.ndarray
    visual: Any


def _parts(suffix: str, data: bytes, files: gltf.Beside) -> list[_Part]:
    """Return a file's meshes at their places in its scene."""
    if suffix != '.dae':
        return _loaded(suffix, readable(suffix, data), files)
    plain = _loaded(suffix, plain_dae(data), files)
    try:
        # defects in unused materials make pycollada drop meshes
        colored = _loaded(suffix, _mended(plain_dae(data, appearance=True)), files)
    except Exception:  # noqa: BLE001  broken materials raise many kinds
        return plain
    counts = [sum(len(part.triangles) for part in parts) for parts in (plain, colored)]
    if counts[0] != counts[1]:
        return plain
    return colored


def _mended(data: bytes) -> bytes:
    """Return a DAE file without references to missing pictures."""
    root = ElementTree.fromstring(data)
    images = {each.get('id') for each in root.iter() if _tag(each) == 'image'}

    def source(param: ElementTree.Element, kind: str, key: str) -> str | None:
        return next(
            (
                each.text
                for outer in param
                if _tag(outer) == kind
                for each in outer
                if _tag(each) == key
            ),
            None,
        )

    for effect in [each for each in root.iter() if _tag(each) == 'profile_COMMON']:
        params = [each for each in effect if _tag(each) == 'newparam']
        surfaces = {
            each.get('sid') for each in params if source(each, 'surface', 'init_from') in images
        }
        samplers = {
            each.get('sid') for each in params if source(each, 'sampler2D', 'source') in surfaces
        }
        for param in params:
            if param.get('sid') not in surfaces | samplers:
                effect.remove(param)
        for outer in list(effect.iter()):
            for texture in [each for each in outer if _tag(each) == 'texture']:
                if texture.get('texture') not in samplers:
                    texture.tag = texture.tag.replace('texture', 'color')
                    texture.attrib.clear()
                    texture.text = _UNKNOWN
    return ElementTree.tostring(root)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition('}')[2]


def _loaded(suffix: str, data: bytes, files: gltf.Beside) -> list[_Part]:
    scene = trimesh.load_scene(
        io.BytesIO(data), file_type=suffix[1:], process=False, resolver=files
    )
    if suffix == '.dae':
        scene = scene.convert_units('meters')
    found = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if isinstance(mesh, trimesh.Trimesh):
            # `Scene.dump` also copies the appearance, and needs SciPy for face colours
            bare = trimesh.Trimesh(np.array(mesh.vertices), np.array(mesh.faces), process=False)
            bare.apply_transform(transform)
            found.append(_Part(np.asarray(bare.vertices), np.asarray(bare.faces), mesh.visual))
    return found


class _Pieces:
    """Answer, built piece by piece."""

    def __init__(self, is_linear: bool, unread: list[str]):
        """
        Begin.

        is_linear: whether the file's colours are linear instead of sRGB. unread: names of
        unreadable pictures, extended here.
        """
        self._is_linear = is_linear
        self._unread = unread
        self._pieces: list[dict[str, Any]] = []
        self._arrays: list[bytes] = []
        self._pictures: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps ids unique

    def add(self, part: _Part) -> None:
        """Add a mesh; does nothing if it has no triangles."""
        vertices, triangles = part.vertices, part.triangles
        if not len(triangles):
            return
        color, colors, picture, places = None, None, None, None
        visual = part.visual
        if isinstance(visual, trimesh.visual.TextureVisuals):
            color, image = _material(visual.material)
            if self._is_linear and color is not None:
                color = (*map(_srgb, color[:3]), color[3])
            texel = None if image is None else self._single_color(image)
            if texel is not None:
                color = tuple((texel * (color or (1.0,) * 4)).tolist())
            elif image is not None and visual.uv is not None and len(visual.uv) == len(vertices):
                picture, places = self._picture(image), np.asarray(visual.uv)
            if visual.vertex_attributes.get('color') is not None:
                colors = trimesh.visual.color.to_rgba(visual.vertex_attributes['color'])
        elif visual.kind == 'face':
            corners = triangles.ravel()
            colors = np.repeat(np.asarray(visual.face_colors), 3, axis=0)
            vertices, triangles = vertices[corners], np.arange(len(corners)).reshape(-1, 3)
        elif visual.kind == 'vertex':
            colors = np.asarray(visual.vertex_colors)
        if colors is not None and len(colors) != len(vertices):
            colors = None
        elif colors is not None and not (colors != colors[0]).any():
            color, colors = tuple((colors[0] / 255.0).tolist()), None
            if self._is_linear:
                color = (*map(_srgb, color[:3]), color[3])
        if colors is None and places is None:
            vertices, triangles = merge_vertices(vertices, triangles)
        if self._is_linear and colors is not None:
            shades = np.round([255.0 * _srgb(k / 255.0) for k in range(256)])
            colors = np.column_stack([shades[colors[:, :3]], colors[:, 3:]])
        self._pieces.append(
            {
                'vertices': len(vertices),
                'triangles': len(triangles),
                'color': color,
                'is_colored': colors is not None,
                'picture': picture,
            }
        )
        self._arrays += [
            np.asarray(vertices).astype('=f4').tobytes(),
            np.asarray(triangles).astype('=u4').tobytes(),
        ]
        if colors is not None:
            self._arrays.append(colors.astype(np.uint8).tobytes())
        if places is not None:
            self._arrays.append(places.astype('=f4').tobytes())

    def answer(self) -> tuple[dict[str, Any], bytes]:
        """Return the complete answer."""
        sizes = [{'height': each.shape[0], 'width': each.shape[1]} for each in self._pictures]
        return (
            {'pieces': self._pieces, 'pictures': sizes, 'unread': self._unread},
            b''.join([*self._arrays, *(each.tobytes() for each in self._pictures)]),
        )

    def _picture(self, image: Any) -> int:
        """Return a picture's index."""
        if id(image) not in self._numbers:
            self._kept.append(image)
            self._numbers[id(image)] = len(self._pictures)
            self._pictures.append(self._decoded(image))
        return self._numbers[id(image)]

    def _single_color(self, image: Any) -> np.ndarray | None:
        """Return a one-pixel picture's colour, 0 to 1; None for larger pictures."""
        pixels = self._pictures[self._picture(image)]
        return pixels.ravel() / 255.0 if pixels.size == 4 else None

    def _decoded(self, image: Any) -> np.ndarray:
        """Return a picture's pixels, at most `_MOST_SIDE` a side; a grey one if broken."""
        try:
            own = image.convert('RGBA')
        except Exception:  # noqa: BLE001  broken pictures raise many kinds
            self._unread.append(image.info.get('file_path') or 'a picture')
            return np.array([[[_GREY, _GREY, _GREY, 255]]], np.uint8)
        own.thumbnail((_MOST_SIDE, _MOST_SIDE))
        return np.asarray(own)


def _material(material: Any) -> tuple[tuple[float, ...] | None, Any]:
    """Return a material's colour and picture."""
    if isinstance(material, trimesh.visual.material.PBRMaterial):
        # baseColorFactor: 8-bit integers, or floats up to 1
        return _seen(_rgba(material.baseColorFactor)), material.baseColorTexture
    if (
        'diffuse' not in (material.kwargs or {})
        and material.image is None
        and material.name is None
    ):
        return None, None
    own = {key.lower(): value for key, value in (material.kwargs or {}).items()}
    # a material with a picture alone is white
    color = _rgba(material.diffuse if 'kd' in own or material.image is None else None)
    for key in ('d', 'tr'):
        try:
            opacity = float(own[key][-1])
        except (KeyError, ValueError, TypeError, IndexError):
            continue
        color = (*color[:3], min(max(opacity if key == 'd' else 1.0 - opacity, 0.0), 1.0))
        break
    return _seen(color), material.image


def _seen(color: tuple[float, ...]) -> tuple[float, ...]:
    """Return an opaque colour for an invisible one: some programs write the opposite."""
    return color if color[3] else (*color[:3], 1.0)


def _rgba(values: Any) -> tuple[float, ...]:
    if values is None:
        return 1.0, 1.0, 1.0, 1.0
    return tuple((trimesh.visual.color.to_rgba(values) / 255.0).tolist())


def _srgb(value: float) -> float:
    """Return the sRGB value for a linear one (IEC 61966-2-1)."""
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1.0 / 2.4) - 0.055


def _grey_picture() -> bytes:
    content = io.BytesIO()
    Image.new('RGB', (1, 1), (_GREY,) * 3).save(content, 'PNG')
    return content.getvalue()


_GREY_PICTURE = _grey_picture()


def _warm_up() -> None:
    """Read one file per format to trigger late imports."""
    triangle = trimesh.Trimesh(
        np.eye(3),
        [[0, 1, 2]],
        process=False,
        visual=trimesh.visual.TextureVisuals(
            np.zeros((3, 2)),
            trimesh.visual.material.PBRMaterial(
                baseColorTexture=Image.new('RGB', (2, 2)), baseColorFactor=[255, 0, 0, 255]
            ),
        ),
    )
    for suffix in ('stl', 'obj', 'ply', 'dae', 'glb', 'off'):
        content: Any = triangle.export(file_type=suffix)
        read(
            {'suffix': f'.{suffix}', 'files': []},
            content.encode() if isinstance(content, str) else content,
        )


_warm_up()
