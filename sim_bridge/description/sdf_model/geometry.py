"""Collision and visual shapes in SDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
import math

import numpy as np

from sim_bridge.description.model import GeometryDescription, Pose
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import facing, read_only
from sim_bridge.description.sdf_model.document import Library, SdfFile
from sim_bridge.description.sdf_model.tags import POSITIVE, Tags
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text
from sim_bridge.foreign.vrml.triangulation import face_set
from sim_bridge.shapes.mesh_files import MeshArrays

HEIGHTMAP, PLANE, MESH = 'heightmap', 'plane', 'mesh'
_SIZES = Numbers(3, minimum=0.0, above=True)
_OPTIMIZATIONS = ('', 'none', 'convex_hull', 'convex_decomposition')
# of height maps: colours and levels of detail
_LOOKS = ('texture', 'blend', 'use_terrain_paging', 'sampling')


@dataclass(frozen=True)
class Context:
    """Geometry context: the library, the file, and whether the model is static."""

    library: Library
    file: SdfFile
    is_static: bool


def read_geometry(
    tags: Tags, pose: Pose, name: str, context: Context
) -> list[GeometryDescription]:
    """
    Return the shapes in a `<geometry>` element; none, with a finding, for an unknown one.

    pose: the element's frame in the link's frame.
    """
    shapes: list[GeometryDescription] = []
    kinds = [node for node in tags.node if node.tag in _READERS]
    for node in kinds:
        tags.read.add(node.tag)
        if shapes and node.tag != 'polyline':
            message = 'given beside another shape; only the first counts'
            tags.findings.warning('duplicate-tag', tags.at(node), message)
            continue
        inner = tags.of(node)
        for found in _READERS[node.tag](inner, context):
            placed = replace(found, pose=pose @ found.pose, name=name, line=node.line)
            shapes.append(placed)
    for node in tags.findall('image'):
        tags.findings.error('not-simulated', tags.at(node), 'is not simulated; boxes are')
    if not kinds and tags.find('empty') is None and tags.find('image') is None:
        tags.findings.error('one-of', tags.place, f'must hold one of {", ".join(_READERS)}')
    tags.close()
    return shapes


def _box(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    size = tags.numbers('size', _SIZES)
    tags.close()
    yield GeometryDescription('box', tuple(size or (1.0, 1.0, 1.0)), Pose())


def _round(kind: str, *names: str) -> Callable[[Tags, Context], Iterator[GeometryDescription]]:
    usual = {'radius': 0.5 if kind in ('capsule', 'cone') else 1.0, 'length': 1.0}

    def read(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
        sizes = tuple(tags.number(name, usual[name], POSITIVE) for name in names)
        tags.close()
        yield GeometryDescription(kind, sizes, Pose())

    return read


def _ellipsoid(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    radii = tags.numbers('radii', _SIZES)
    tags.close()
    yield GeometryDescription('ellipsoid', tuple(radii or (1.0, 1.0, 1.0)), Pose())


def _plane(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    normal = np.array(tags.vector('normal', (0.0, 0.0, 1.0)))
    tags.find('size')
    tags.close()
    if not normal.any():
        tags.findings.error(
            'zero-axis', tags.place.child('normal', tags.node.line), 'has no direction'
        )
        return
    if not context.is_static:
        message = 'is endless: it is left out of a model that can move'
        tags.findings.warning('not-simulated', tags.place, message)
        return
    pose = Pose()
    if normal[0] or normal[1] or normal[2] < 0.0:
        # the plane's z along the normal
        x, y, z = facing(normal / np.linalg.norm(normal)).T
        pose = Pose(rotation=read_only(np.column_stack([y, z, x])))
    yield GeometryDescription(PLANE, (), pose)


def _mesh(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    uri = tags.text('uri') or tags.node.get('filename')
    scale = tags.vector('scale', (1.0, 1.0, 1.0))
    part = ''
    submesh = tags.inside('submesh')
    if submesh is not None:
        part = submesh.text('name')
        if submesh.flag('center'):
            submesh.ignore(('center',), 'the part keeps its place in the file')
        submesh.close()
    optimization = tags.node.get('optimization')
    if optimization not in _OPTIMIZATIONS:
        message = f'must be one of {", ".join(filter(None, _OPTIMIZATIONS))}, ignored'
        tags.findings.warning('bad-value', tags.place, message, 'optimization', optimization)
    tags.close(('convex_decomposition',))
    if not uri:
        tags.findings.error('missing-tag', tags.place.child('uri', tags.node.line), 'missing')
        return
    filename = context.library.uri_of(uri, context.file)
    yield GeometryDescription(MESH, scale, Pose(), filename=filename, part=part)


def _heightmap(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    uri, size = tags.text('uri'), tags.numbers('size', _SIZES)
    position = tags.vector('pos', (0.0, 0.0, 0.0))
    tags.close(_LOOKS)
    if not uri:
        tags.findings.error('missing-tag', tags.place.child('uri', tags.node.line), 'missing')
        return
    if not context.is_static:
        message = 'is endless downwards: it is left out of a model that can move'
        tags.findings.warning('not-simulated', tags.place, message)
        return
    yield GeometryDescription(
        HEIGHTMAP,
        tuple(size or (1.0, 1.0, 1.0)),
        Pose(read_only(position)),
        filename=context.library.uri_of(uri, context.file),
    )


def _polyline(tags: Tags, context: Context) -> Iterator[GeometryDescription]:
    """Yield a prism between z = 0 and its height."""
    height = tags.number('height', 1.0, POSITIVE)
    points: list[list[float]] = []
    for child in tags.findall('point'):
        values = parse_numbers(_plane_text(child), Numbers(2), tags.at(child), tags.findings, '')
        if values is not None and values not in points[-1:]:
            points.append(values)
    tags.close()
    if len(points) > 1 and points[0] == points[-1]:
        del points[-1]
    corners = np.array(points).reshape(-1, 2)
    area = _area(corners)
    if len(corners) < 3 or not area:
        tags.findings.error('bad-value', tags.place, 'needs three points that enclose an area')
        return
    corners = corners if area > 0.0 else corners[::-1]
    try:
        surface = _prism(corners, height)
    except ValueError as err:
        tags.findings.error('bad-value', tags.place, str(err))
        return
    yield GeometryDescription(
        MESH, (1.0, 1.0, 1.0), Pose(), surface=surface, is_terrain=not _is_convex(corners)
    )


def _plane_text(point: Element) -> str:
    """Return a point's two numbers; exporters write a third, 0."""
    words = element_text(point).split()
    is_flat = len(words) == 3 and words[2].strip('-+0.') == ''
    return ' '.join(words[:2] if is_flat else words)


def _area(corners: np.ndarray) -> float:
    if len(corners) < 3:
        return 0.0
    x, y = corners.T
    area = float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    return area if math.isfinite(area) else 0.0


def _is_convex(corners: np.ndarray) -> bool:
    edges = np.roll(corners, -1, axis=0) - corners
    following = np.roll(edges, -1, axis=0)
    turns = edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0]
    return bool((turns >= 0.0).all())


def _prism(corners: np.ndarray, height: float) -> MeshArrays:
    count = len(corners)
    points = np.vstack([np.column_stack([corners, np.full(count, z)]) for z in (0.0, height)])
    faces: list[list[int]] = [[*range(count - 1, -1, -1)], [*range(count, 2 * count)]]
    for k in range(count):
        after = (k + 1) % count
        faces.append([k, after, count + after, count + k])
    indices = np.array([index for face in faces for index in (*face, -1)])
    surface = face_set(points, indices)
    return MeshArrays(surface.vertices, surface.triangles)


_READERS: dict[str, Callable[[Tags, Context], Iterator[GeometryDescription]]] = {
    'box': _box,
    'sphere': _round('sphere', 'radius'),
    'cylinder': _round('cylinder', 'radius', 'length'),
    'capsule': _round('capsule', 'radius', 'length'),
    'cone': _round('cone', 'radius', 'length'),
    'ellipsoid': _ellipsoid,
    PLANE: _plane,
    MESH: _mesh,
    HEIGHTMAP: _heightmap,
    'polyline': _polyline,
}
