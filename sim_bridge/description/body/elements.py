"""Elements attached to a link of a body file: shapes, rigid bodies, devices, nested groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
import os
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.body.devices import DEVICES, LEFT_OUT, left_out, read_device
from sim_bridge.description.body.keys import (
    finite,
    key_of,
    note_unread,
    positive,
    Reading,
    rotation,
    translation,
)
from sim_bridge.description.body.mesh_geometry import GRID, MESH_TYPES, read_mesh_geometry
from sim_bridge.description.model import GeometryDescription, Pose, SensorDescription
from sim_bridge.description.numbers import LARGEST
from sim_bridge.description.poses import read_only
from sim_bridge.description.yaml.file import read_anchored
from sim_bridge.description.yaml.section import Section
from sim_bridge.foreign.vrml.triangulation import Surface
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.shapes.mesh_files import MeshArrays, VRML_SUFFIX
from sim_bridge.shapes.shapes import PRIMITIVES
from sim_bridge.shapes.tessellation import tessellated
from sim_bridge.shapes.vrml_files import ALONG_Y

_ROUND = ('Cylinder', 'Capsule', 'Cone')
_BOTH, _VISUAL, _COLLISION = 'shape', 'Visual', 'Collision'
_GROUPS = ('Group', 'Node', 'Transform', _VISUAL, _COLLISION)
# keys concerning appearance
_APPEARANCE_KEYS = (
    'appearance',
    'division_number',
    'divisionNumber',
    'crease_angle',
    'creaseAngle',
    'bottom',
    'top',
    'side',
    'name',
    'type',
    'solid',
)
_ROUNDING = 1e-9
_YAML = ('.yaml', '.yml')
_MOST_INSIDE, _MOST_PARTS = 8, 1000


class RigidPart(NamedTuple):
    """Part of a link's mass: kg, its centre (3,) [m], inertia about it (3, 3), link axes."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray


@dataclass
class Elements:
    """A link's elements in groups. visuals, collisions: from Visual and Collision nodes."""

    shapes: list[GeometryDescription] = field(default_factory=list)
    visuals: list[GeometryDescription] = field(default_factory=list)
    collisions: list[GeometryDescription] = field(default_factory=list)
    parts: list[RigidPart] = field(default_factory=list)
    sensors: list[SensorDescription] = field(default_factory=list)

    @property
    def geometries(self) -> tuple[tuple[GeometryDescription, ...], ...]:
        """Visual and collision shapes; equal without Visual or Collision nodes."""
        if self.visuals or self.collisions:
            return (*self.shapes, *self.visuals), tuple(self.collisions)
        return tuple(self.shapes), tuple(self.shapes)


class _Frame(NamedTuple):
    """Element frame: p_link = position + linear @ p_element; linear may include a scale."""

    linear: np.ndarray
    position: np.ndarray

    def inside(self, section: Section, reading: Reading) -> _Frame:
        """Return an inner element's frame, from its translation, rotation and scale."""
        scale = np.array(section.vector('scale', 3, (1.0, 1.0, 1.0)))
        if not (scale > 0.0).all():
            section.error('scale', section.peek('scale'), 'must be above 0')
            scale = np.ones(3)
        turned = rotation(section, reading)
        return _Frame(
            self.linear @ turned * scale, self.position + self.linear @ translation(section)
        )


def read_elements(link: Section, name: str, reading: Reading, key: str = 'elements') -> Elements:
    """Return a link's elements in groups. name: link name."""
    found = Elements()
    _Walk(name, reading, found).into(link, key, _Frame(np.eye(3), np.zeros(3)), _BOTH)
    return found


def children(section: Section, key: str, reading: Reading) -> Iterator[tuple[str, Section]]:
    """
    Yield the nodes at a key, with their types.

    The value is a list of nodes, one node, or a mapping from type to node.
    """
    given = section.peek(key)
    if given is None:
        section.knows(key)
        return
    if isinstance(given, list):
        for each in section.list_of_sections(key):
            yield each.text('type', ''), each
        return
    inner = section.section(key)
    if inner is None:
        return
    if inner.has('type'):
        yield inner.text('type', ''), inner
        return
    for kind in inner.names():
        node = inner.section(kind)
        if node is not None:
            node.knows('type')
            if node.has('type') and node.peek('type') != kind:
                node.error('type', node.peek('type'), f'must be {kind}, like the key')
            yield kind, node


class _Walk:
    def __init__(self, link: str, reading: Reading, found: Elements):
        self._link, self._reading, self._found = link, reading, found
        self._parts = 0
        self._color: tuple[float, float, float, float] | None = None

    def into(self, section: Section, key: str, frame: _Frame, use: str) -> None:
        """Read all nodes at a key. use: for their shapes: _BOTH, _VISUAL or _COLLISION."""
        for kind, node in children(section, key, self._reading):
            self._node(kind, node, frame, use)
            if left_out(kind) is None:
                note_unread(node, node.place(), self._reading.findings)

    def _node(self, kind: str, node: Section, frame: _Frame, use: str) -> None:
        node.knows('name')
        reason = left_out(kind)
        if reason is not None:
            if reason:
                self._reading.findings.warning('not-simulated', node.place(), reason, 'type', kind)
            return
        if kind in (_VISUAL, _COLLISION):
            if use not in (_BOTH, kind):
                node.error('type', kind, f'is not allowed in a node of type {use}')
            use = kind
        known = (*_GROUPS, 'RigidBody', 'Shape', 'Resource', *DEVICES)
        if kind not in known:
            node.error('type', kind, f'unknown; the types are {", ".join((*known, *LEFT_OUT))}')
            return
        inner = frame.inside(node, self._reading)
        if kind == 'RigidBody':
            self._rigid_body(node, inner)
        elif kind == 'Shape':
            self._shape(node, inner, use)
            return
        elif kind == 'Resource':
            self._mesh(node, inner, use)
            return
        elif kind in DEVICES:
            _, pose = self._rigid(inner, node)
            sensor = read_device(kind, node, self._link, pose, self._reading)
            self._found.sensors.append(sensor)
        elif kind in (_VISUAL, _COLLISION):
            for key, read in (('shape', self._shape), ('resource', self._mesh)):
                given = node.section(key)
                if given is not None:
                    read(given, inner.inside(given, self._reading), use)
        self.into(node, 'elements', inner, use)

    def _rigid_body(self, node: Section, frame: _Frame) -> None:
        center = frame.linear @ translation(node, key_of(node, 'center_of_mass'))
        inertia = frame.linear @ inertia_of(node) @ frame.linear.T
        self._found.parts.append(
            RigidPart(finite(node, 'mass', 0.0, 0.0), frame.position + center, inertia)
        )

    def _shape(self, node: Section, frame: _Frame, use: str) -> None:
        self._color = _color(node.peek('appearance'))
        _ignore_appearance(node)
        geometry = node.section('geometry', required=True)
        if geometry is None:
            return
        _ignore_appearance(geometry)
        kind = geometry.text('type', '', required=True)
        if kind == 'Resource':
            self._mesh(geometry, frame, use)
        elif kind in ('Box', 'Sphere', *_ROUND):
            self._primitive(kind, geometry, frame, use)
        elif kind in MESH_TYPES:
            self._surface(kind, geometry, frame, use)
        elif kind:
            known = ('Box', 'Sphere', *_ROUND, *MESH_TYPES, 'Resource')
            geometry.error('type', kind, f'unknown; the geometries are {", ".join(known)}')
            return
        note_unread(geometry, geometry.place(), self._reading.findings)

    def _primitive(self, kind: str, geometry: Section, frame: _Frame, use: str) -> None:
        size: tuple[float, ...]
        if kind == 'Box':
            sizes = geometry.vector('size', 3, None)
            if sizes is None or min(sizes) <= 0.0:
                geometry.error('size', geometry.peek('size'), 'must be 3 numbers above 0')
                return
            size = sizes
        elif kind == 'Sphere' or (kind == 'Capsule' and geometry.peek('height') == 0):
            kind, size = 'Sphere', (positive(geometry, 'radius'),)
            geometry.knows('height')
        else:
            size = (positive(geometry, 'radius'), positive(geometry, 'height'))
        lies = ALONG_Y if kind in _ROUND else np.eye(3)
        word = kind.lower()
        scaled = _scaled(frame)
        if scaled is None or not _keeps_kind(kind, scaled[0]):
            # triangles replace the primitive, as in Choreonoid
            points, triangles = tessellated(PRIMITIVES[word](*size))
            self._triangles(Surface(points @ lies.T, triangles), geometry, frame, use)
            return
        scale, pose = scaled
        factors = {'Box': scale, 'Sphere': scale[:1]}.get(kind, scale[:2])
        self._add(
            GeometryDescription(
                word,
                tuple((np.array(size) * factors).tolist()),
                Pose(pose.position, read_only(pose.rotation @ lies)),
                line=geometry.line,
            ),
            use,
        )

    def _surface(self, kind: str, geometry: Section, frame: _Frame, use: str) -> None:
        surface = read_mesh_geometry(kind, geometry, self._reading)
        if surface is not None:
            self._triangles(surface, geometry, frame, use, kind == GRID)

    def _triangles(
        self,
        surface: Surface,
        geometry: Section,
        frame: _Frame,
        use: str,
        is_terrain: bool = False,
    ) -> None:
        points = read_only(surface.vertices @ frame.linear.T)
        self._add(
            GeometryDescription(
                'mesh',
                (1.0, 1.0, 1.0),
                Pose(read_only(frame.position)),
                surface=MeshArrays(points, surface.triangles),
                is_terrain=is_terrain,
                line=geometry.line,
            ),
            use,
        )

    def _mesh(self, node: Section, frame: _Frame, use: str) -> None:
        uri = node.text('uri', None) if node.has('uri') else node.text('url', None)
        part = node.text('fragment' if node.has('fragment') else 'node', '')
        if uri is None:
            node.error('uri', '', 'missing')
            return
        if uri.lower().endswith(_YAML):
            self._part(node, uri, part, frame, use)
            return
        if part and not uri.lower().endswith(VRML_SUFFIX):
            node.error(
                'node', part, f'is supported for {VRML_SUFFIX} files only; use a separate file'
            )
        if node.has('exclude'):
            node.error('exclude', node.peek('exclude'), 'is not read: name the wanted part (node)')
        if self._reading.folder and '://' not in uri:
            uri = os.path.join(self._reading.folder, uri)
        scale, pose = self._rigid(frame, node)
        self._add(
            GeometryDescription(
                'mesh', tuple(scale.tolist()), pose, filename=uri, part=part, line=node.line
            ),
            use,
        )

    def _part(self, node: Section, uri: str, anchor: str, frame: _Frame, use: str) -> None:
        """Read nodes from another YAML file: those at an anchor, or all."""
        outer = self._reading
        path = outer.base / outer.folder / uri
        if path.resolve() in outer.inside or len(outer.inside) == _MOST_INSIDE:
            node.error(
                'uri',
                uri,
                'the file contains itself'
                if path.resolve() in outer.inside
                else f'at most {_MOST_INSIDE} files may be nested',
            )
            return
        self._parts += 1
        if self._parts > _MOST_PARTS:
            node.error('uri', uri, f'a link may use at most {_MOST_PARTS} parts of files')
            return
        try:
            content = read_anchored(path, anchor)
        except OSError as err:
            node.error('uri', uri, f'cannot be read: {err.strerror}')
            return
        except YamlTextError as err:
            node.error('uri', uri, f'line {err.line}: is no YAML: {err.problem}')
            return
        if content is None:
            node.error('node', anchor, f'{uri} has no such anchor (&{anchor})')
            return
        self._reading = outer._replace(
            folder=os.path.dirname(os.path.join(outer.folder, uri)),
            inside=(*outer.inside, path.resolve()),
        )
        inner = Section(
            {'elements': content}, f'link.{self._link} in {uri}', outer.findings, node.line
        )
        self.into(inner, 'elements', frame, use)
        self._reading = outer

    def _rigid(self, frame: _Frame, node: Section) -> tuple[np.ndarray, Pose]:
        """Return a node's scale along its axes, and its pose; report an oblique frame."""
        scaled = _scaled(frame)
        if scaled is None:
            node.error('scale', '', 'makes the node oblique: it is rotated in a scaled parent')
            return np.ones(3), Pose(read_only(frame.position))
        return scaled

    def _add(self, geometry: GeometryDescription, use: str) -> None:
        {
            _BOTH: self._found.shapes,
            _VISUAL: self._found.visuals,
            _COLLISION: self._found.collisions,
        }[use].append(replace(geometry, color=self._color))


def _color(appearance: Any) -> tuple[float, float, float, float] | None:
    """Return an appearance's colour; None without a valid colour."""
    material = appearance.get('material') if isinstance(appearance, dict) else None
    if not isinstance(material, dict):
        return None
    diffuse = material.get('diffuse', material.get('diffuseColor', material.get('diffuse_color')))
    values = [*diffuse, material.get('transparency', 0.0)] if isinstance(diffuse, list) else []
    if len(values) != 4 or not all(
        isinstance(value, (int, float)) and 0.0 <= value <= 1.0 for value in values
    ):
        return None
    red, green, blue, transparency = map(float, values)
    return red, green, blue, 1.0 - transparency


def _scaled(frame: _Frame) -> tuple[np.ndarray, Pose] | None:
    """Return a frame's scale (3,) along its axes, and its pose; None for an oblique one."""
    scale = np.linalg.norm(frame.linear, axis=0)
    # the norms of a rotation matrix are 1 except for rounding
    scale = np.where(np.abs(scale - 1.0) < _ROUNDING, 1.0, scale)
    turned = frame.linear / scale
    if np.abs(turned.T @ turned - np.eye(3)).max() > _ROUNDING:
        return None
    return scale, Pose(read_only(frame.position), read_only(turned))


def _keeps_kind(kind: str, scale: np.ndarray) -> bool:
    """Return whether a primitive keeps its kind under a scale."""
    if kind == 'Box':
        return True
    is_round = bool(scale[0] == scale[2])
    return is_round and (kind in ('Cylinder', 'Cone') or bool(scale[0] == scale[1]))


def _ignore_appearance(section: Section) -> None:
    for key in _APPEARANCE_KEYS:
        section.knows(key)


def inertia_of(section: Section) -> np.ndarray:
    """
    Return the inertia (3, 3) about the centre of mass [kg m²]; zero if absent.

    The file gives nine numbers by rows, or xx, xy, xz, yy, yz, zz.
    """
    given: Any = section.matrix('inertia')
    if given is None:
        return np.zeros((3, 3))
    values = np.ravel(given)
    if not (np.abs(values) <= LARGEST).all() or len(values) not in (6, 9):
        section.error(
            'inertia', section.peek('inertia'), f'must be 6 or 9 numbers up to {LARGEST:g}'
        )
        return np.zeros((3, 3))
    if len(values) == 6:
        values = values[[0, 1, 2, 1, 3, 4, 2, 4, 5]]
    matrix: np.ndarray = values.reshape(3, 3)
    if np.abs(matrix - matrix.T).max() > _ROUNDING * np.abs(matrix).max():
        section.error('inertia', section.peek('inertia'), 'must be symmetric')
    return matrix
