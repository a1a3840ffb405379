"""What hangs on a link of a body file: shapes, rigid bodies, devices, by nested elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.body.devices import DEVICES, LEFT_OUT, read_device
from sim_bridge.description.body.keys import (
    finite,
    key_of,
    note_unread,
    positive,
    Reading,
    rotation,
    translation,
)
from sim_bridge.description.model import GeometryDescription, Pose, SensorDescription
from sim_bridge.description.poses import read_only
from sim_bridge.description.yaml.section import Section

# Choreonoid's cylinders, capsules and cones lie along y, those of the description along z
_Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
_ROUND = {'Cylinder': 'cylinder', 'Capsule': 'capsule', 'Cone': 'cone'}
_BOTH, _VISUAL, _COLLISION = 'shape', 'Visual', 'Collision'
_GROUPS = ('Group', 'Transform', _VISUAL, _COLLISION)
# keys about looks
_LOOKS = (
    'appearance', 'division_number', 'divisionNumber', 'crease_angle', 'creaseAngle', 'bottom',
    'top', 'side', 'name', 'type', 'solid')
_ROUNDING = 1e-9


class RigidPart(NamedTuple):
    """A part of a link's mass: kg, its centre (3,) [m], inertia about it (3, 3), link axes."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray


@dataclass
class Elements:
    """What the elements of a link hold. visuals, collisions: of Visual and Collision nodes."""

    shapes: list[GeometryDescription] = field(default_factory=list)
    visuals: list[GeometryDescription] = field(default_factory=list)
    collisions: list[GeometryDescription] = field(default_factory=list)
    parts: list[RigidPart] = field(default_factory=list)
    sensors: list[SensorDescription] = field(default_factory=list)

    @property
    def geometries(self) -> tuple[tuple[GeometryDescription, ...], ...]:
        """What is seen and what collides: the same, unless Visual or Collision nodes differ."""
        if self.visuals or self.collisions:
            return (*self.shapes, *self.visuals), tuple(self.collisions)
        return tuple(self.shapes), tuple(self.shapes)


class _Frame(NamedTuple):
    """Where an element is in its link: p = position + linear @ p_element; linear may scale."""

    linear: np.ndarray
    position: np.ndarray

    def inside(self, section: Section, reading: Reading) -> _Frame:
        """Return the frame of an element by its translation, rotation and scale."""
        scale = np.array(section.vector('scale', 3, (1.0, 1.0, 1.0)))
        if not (scale > 0.0).all():
            section.error('scale', section.peek('scale'), 'must be above 0')
            scale = np.ones(3)
        turned = rotation(section, reading)
        return _Frame(self.linear @ turned * scale,
                      self.position + self.linear @ translation(section))


def read_elements(
    link: Section, name: str, reading: Reading, key: str = 'elements'
) -> Elements:
    """Return what the elements of a link hold. name: of the link."""
    found = Elements()
    _Walk(name, reading, found).into(link, key, _Frame(np.eye(3), np.zeros(3)), _BOTH)
    return found


def children(section: Section, key: str, reading: Reading) -> Iterator[tuple[str, Section]]:
    """
    Yield the nodes at a key, with their types.

    It holds a list of nodes, one node, or a mapping from type to node.
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
                node.error('type', node.peek('type'), f'must be {kind}, as the key says')
            yield kind, node


class _Walk:
    def __init__(self, link: str, reading: Reading, found: Elements):
        self._link, self._reading, self._found = link, reading, found

    def into(self, section: Section, key: str, frame: _Frame, use: str) -> None:
        """Read all nodes at a key. use: of their shapes: _BOTH, _VISUAL or _COLLISION."""
        for kind, node in children(section, key, self._reading):
            self._node(kind, node, frame, use)
            if kind not in LEFT_OUT:
                note_unread(node, node.place(), self._reading.findings)

    def _node(self, kind: str, node: Section, frame: _Frame, use: str) -> None:
        node.knows('name')
        if kind in LEFT_OUT:
            if LEFT_OUT[kind]:
                self._reading.findings.warning(
                    'not-simulated', node.place(), LEFT_OUT[kind], 'type', kind)
            return
        if kind in (_VISUAL, _COLLISION):
            if use not in (_BOTH, kind):
                node.error('type', kind, f'stands in a node of type {use}')
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
            pose = self._rigid(inner, node)
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
        self._found.parts.append(RigidPart(
            finite(node, 'mass', 0.0, 0.0), frame.position + center, inertia))

    def _shape(self, node: Section, frame: _Frame, use: str) -> None:
        _forget_looks(node)
        geometry = node.section('geometry', required=True)
        if geometry is None:
            return
        _forget_looks(geometry)
        kind = geometry.text('type', '', required=True)
        if kind == 'Resource':
            self._mesh(geometry, frame, use)
        elif kind in ('Box', 'Sphere', *_ROUND):
            self._primitive(kind, geometry, frame, node, use)
        elif kind:
            message = (
                'is not simulated: name a mesh file as Resource, or a primitive; '
                f'these are Box, Sphere, {", ".join(_ROUND)}')
            if use == _VISUAL:
                self._reading.findings.warning(
                    'not-simulated', geometry.place('type'), message, 'type', kind)
            else:
                geometry.error('type', kind, message)
            return
        note_unread(geometry, geometry.place(), self._reading.findings)

    def _primitive(
        self, kind: str, geometry: Section, frame: _Frame, node: Section, use: str
    ) -> None:
        scale, pose = self._scaled(frame, node)
        size: tuple[float, ...]
        uniform = (scale[0] == scale[1] == scale[2])
        if kind == 'Box':
            sizes = geometry.vector('size', 3, None)
            if sizes is None or min(sizes) <= 0.0:
                geometry.error('size', geometry.peek('size'), 'must be 3 numbers above 0')
                return
            size = tuple((np.array(sizes) * scale).tolist())
        elif kind == 'Sphere':
            size = (positive(geometry, 'radius') * float(scale[0]),)
        else:
            size = (positive(geometry, 'radius') * float(scale[0]),
                    positive(geometry, 'height') * float(scale[1]))
            uniform = scale[0] == scale[2] and (kind != 'Capsule' or uniform)
            pose = Pose(pose.position, read_only(pose.rotation @ _Y_TO_Z))
        if kind != 'Box' and not uniform:
            node.error('scale', '', f'makes a {kind} another kind of shape; use a mesh')
        self._add(GeometryDescription(
            _ROUND.get(kind, kind.lower()), size, pose, line=node.line), use)

    def _mesh(self, node: Section, frame: _Frame, use: str) -> None:
        uri = node.text('uri', None) if node.has('uri') else node.text('url', None)
        for part in ('node', 'exclude'):
            if node.has(part):
                node.error(
                    part, node.peek(part), 'parts of files are not read; use a file of its own')
        if uri is None:
            node.error('uri', '', 'missing')
            return
        scale, pose = self._scaled(frame, node)
        self._add(GeometryDescription(
            'mesh', tuple(scale.tolist()), pose, filename=uri, line=node.line), use)

    def _scaled(self, frame: _Frame, node: Section) -> tuple[np.ndarray, Pose]:
        """Return the scale (3,) along the axes of a shape, and its pose."""
        scale = np.linalg.norm(frame.linear, axis=0)
        # norms of rotations are 1 but for rounding
        scale = np.where(np.abs(scale - 1.0) < _ROUNDING, 1.0, scale)
        turned = frame.linear / scale
        if np.abs(turned.T @ turned - np.eye(3)).max() > _ROUNDING:
            node.error('scale', '', 'makes the shape oblique: it is turned within what is scaled')
            turned = np.eye(3)
        return scale, Pose(read_only(frame.position), read_only(turned))

    def _rigid(self, frame: _Frame, node: Section) -> Pose:
        return self._scaled(frame, node)[1]

    def _add(self, geometry: GeometryDescription, use: str) -> None:
        {_BOTH: self._found.shapes, _VISUAL: self._found.visuals,
         _COLLISION: self._found.collisions}[use].append(geometry)


def _forget_looks(section: Section) -> None:
    for key in _LOOKS:
        section.knows(key)


def inertia_of(section: Section) -> np.ndarray:
    """
    Return the inertia (3, 3) about the centre of mass [kg m²]; zero if absent.

    It is written as nine numbers by rows, or as xx, xy, xz, yy, yz, zz.
    """
    given: Any = section.matrix('inertia')
    if given is None:
        return np.zeros((3, 3))
    values = np.ravel(given)
    if not np.isfinite(values).all() or len(values) not in (6, 9):
        section.error('inertia', section.peek('inertia'), 'must be 6 or 9 finite numbers')
        return np.zeros((3, 3))
    if len(values) == 6:
        values = values[[0, 1, 2, 1, 3, 4, 2, 4, 5]]
    matrix: np.ndarray = values.reshape(3, 3)
    if np.abs(matrix - matrix.T).max() > _ROUNDING * np.abs(matrix).max():
        section.error('inertia', section.peek('inertia'), 'must be symmetric')
    return matrix
