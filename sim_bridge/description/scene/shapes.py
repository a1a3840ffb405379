"""Shapes in scene file notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import io
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description.resources import explain_unresolved, resolve_uri, searched_paths
from sim_bridge.description.yaml.section import Section
from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.shapes.line import Line
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, HeightField, TriangleMesh
from sim_bridge.shapes.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HollowCone,
    HollowCylinder,
    Plane,
    Shape,
    Sphere,
)

# greatest number below which all whole numbers are exact as floats
_EXACT = 1 << 53

_Reader = Callable[[Section, str, Path], Shape | None]


def read_placed(section: Section, folder: Path, is_body: bool = False) -> Placed | None:
    """
    Return the shape in a section with its pose; None, with errors noted, if it is invalid.

    folder: base for relative paths. is_body: whether pose, material and name belong to the body.
    """
    given = [kind for kind in SHAPES if section.has(kind)]
    for kind in SHAPES:
        section.knows(kind)
    if len(given) != 1:
        section.error(
            given[0] if given else 'shape',
            '',
            f'must hold exactly one of {", ".join(SHAPES)}; found {", ".join(given) or "none"}',
        )
        return None
    shape = section.make(lambda: SHAPES[given[0]](section, given[0], folder))
    arguments: dict[str, Any] = {
        'sensor': section.flag('sensor', False),
        'enabled': section.flag('enabled', True),
        'groups': section.texts('groups') or (),
        'surface_velocity': section.vector('surface_velocity', 3, (0.0, 0.0, 0.0)),
        'friction_direction': section.vector('friction_direction', 3, None),
        'rolling_slip': section.vector('rolling_slip', 2, (0.0, 0.0)),
    }
    if not is_body:
        arguments |= {
            **section.pose(),
            'name': section.text('name', ''),
            'material': section.text('material', None),
            'mass': section.flag('mass', True),
        }
    if shape is None:
        return None
    return section.make(lambda: Placed(shape, **arguments))


def _sized(build: Callable[[tuple[float, float, float]], Shape]) -> _Reader:
    def read(section: Section, key: str, folder: Path) -> Shape | None:
        size = section.vector(key, 3, None)
        return None if size is None else build((size[0], size[1], size[2]))

    return read


def _round(
    build: Callable[..., Shape],
    needed: Sequence[str] = ('radius', 'length'),
    optional: Sequence[str] = (),
) -> _Reader:
    def read(section: Section, key: str, folder: Path) -> Shape | None:
        inner = section.section(key)
        if inner is None:
            return None
        sizes = {name: inner.number(name, None) for name in (*needed, *optional)}
        inner.close()
        if any(sizes[name] is None for name in needed):
            names = f'{", ".join(needed[:-1])} and {needed[-1]}'
            section.error(key, section.peek(key), f'must hold {names} [m]')
            return None
        given = {name: size for name, size in sizes.items() if size is not None}
        return inner.make(lambda: build(**given))

    return read


def _sphere(section: Section, key: str, folder: Path) -> Shape | None:
    radius = section.number(key, None)
    return None if radius is None else Sphere(radius)


def _line(section: Section, key: str, folder: Path) -> Shape | None:
    ends = section.matrix(key)
    if ends is None or ends.shape != (2, 3):
        section.error(key, section.peek(key), 'must hold two points [m]: [[x, y, z], [x, y, z]]')
        return None
    return Line(*ends)


def _plane(section: Section, key: str, folder: Path) -> Shape | None:
    section.mapping(key)
    return Plane()


def _hull(section: Section, key: str, folder: Path) -> Shape | None:
    inner = section.section(key)
    if inner is None:
        return None
    points, mesh = inner.matrix('points'), _file(inner, folder)
    inner.close()
    corners = points if mesh is None else mesh.vertices
    if corners is None or (points is not None and mesh is not None):
        section.error(key, section.peek(key), 'must hold either points [m] or file')
        return None
    return inner.make(lambda: ConvexHull(corners))


def _mesh(section: Section, key: str, folder: Path) -> Shape | None:
    inner = section.section(key)
    if inner is None:
        return None
    vertices, triangles = inner.matrix('vertices'), inner.matrix('triangles')
    mesh, margin = _file(inner, folder), inner.number('bottom_margin', None)
    inner.close()
    if mesh is not None and vertices is None and triangles is None:
        found = mesh
        return inner.make(lambda: TriangleMesh(found.vertices, found.triangles, margin))
    if mesh is not None or vertices is None or triangles is None:
        section.error(
            key, section.peek(key), 'must hold either vertices [m] and triangles, or file'
        )
        return None
    if not np.array_equal(triangles, np.round(triangles)) or np.abs(triangles).max() > _EXACT:
        inner.error('triangles', inner.peek('triangles'), 'must hold whole numbers of vertices')
        return None
    return inner.make(lambda: TriangleMesh(vertices, triangles.astype(np.int64), margin))


def _height_field(section: Section, key: str, folder: Path) -> Shape | None:
    inner = section.section(key)
    if inner is None:
        return None
    heights, image = inner.matrix('heights'), inner.text('image', None)
    size = inner.vector('size', 2 if image is None else 3, None)
    file, bottom = inner.text('file', None), inner.number('bottom', None)
    inner.close()
    if sum(each is not None for each in (heights, file, image)) != 1 or size is None:
        section.error(
            key,
            '',
            'must hold size [m] and one of heights [m], file (numbers by rows) and '
            'image, which needs three sizes',
        )
        return None
    if image is not None:
        try:
            return HeightField.from_image(folder / image, size, bottom)
        except SimBridgeError as err:
            inner.error('image', image, str(err))
            return None
    if file is not None:
        heights = _heights_of(inner, folder / file)
    lengths = size[0], size[1]
    return None if heights is None else inner.make(lambda: HeightField(heights, lengths, bottom))


def _heights_of(section: Section, path: Path) -> np.ndarray | None:
    """Return the height grid in a file: numpy's format, or rows of text."""
    try:
        content = io.BytesIO(read_file(path, DATA_BYTES))
        if path.suffix == '.npy':
            loaded: np.ndarray = np.load(content, allow_pickle=False)
            return loaded
        return np.loadtxt(content, delimiter=',' if path.suffix == '.csv' else None, ndmin=2)
    except (OSError, ValueError, MemoryError) as err:
        section.error('file', path, f'cannot be read: {err}')
        return None


def _file(section: Section, folder: Path) -> TriangleMesh | None:
    """Return the mesh at the key `file`, scaled by `scale`; None if absent or invalid."""
    uri, scale = section.text('file', None), section.vector('scale', 3, (1.0, 1.0, 1.0))
    if uri is None:
        return None
    path = resolve_uri(uri, base=folder)
    if path is None:
        places = ', '.join(map(str, searched_paths(uri, base=folder))) or 'nowhere'
        section.error('file', uri, f'{explain_unresolved(uri, base=folder)}; looked for {places}')
        return None
    try:
        return TriangleMesh.from_file(path, scale)
    except InvalidValueError as err:
        section.error('file', uri, str(err))
        return None


SHAPES: dict[str, _Reader] = {
    'box': _sized(Box),
    'sphere': _sphere,
    'cylinder': _round(Cylinder),
    'capsule': _round(Capsule),
    'cone': _round(Cone, optional=('top_radius',)),
    'ellipsoid': _sized(Ellipsoid),
    'hollow_cylinder': _round(HollowCylinder, ('radius', 'length', 'inner_radius')),
    'hollow_cone': _round(
        HollowCone, ('radius', 'length', 'inner_radius'), ('top_radius', 'top_inner_radius')
    ),
    'line': _line,
    'plane': _plane,
    'hull': _hull,
    'mesh': _mesh,
    'height_field': _height_field,
}
