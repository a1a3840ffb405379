"""Shapes in a stage: primitives and meshes as visuals and collision elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sim_bridge.description.model import GeometryDescription, Pose
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.description.usd.contacts import Contacts
from sim_bridge.description.usd.stage import Prim, Stage, unscaled
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.srgb import srgb_from_linear
from sim_bridge.shapes.mesh_files import MeshArrays
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh
from sim_bridge.shapes.shapes import PRIMITIVES, Shape

COLLISION = 'PhysicsCollisionAPI'
MESH, PLANE = 'mesh', 'plane'
_KINDS = {
    'Cube': 'box',
    'Sphere': 'sphere',
    'Cylinder': 'cylinder',
    'Cylinder_1': 'cylinder',
    'Capsule': 'capsule',
    'Capsule_1': 'capsule',
    'Cone': 'cone',
    'Plane': PLANE,
    'Mesh': MESH,
}
SHAPES = tuple(_KINDS)
_ROUND = ('cylinder', 'capsule', 'cone')
_SITES = ('MjcSiteAPI', 'NewtonSiteAPI')
# rotations that turn z to an axis, by its index
_TURNS = (
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    np.eye(3),
)
_HULLS = ('convexHull', 'convexDecomposition', 'sdf')
_TRIANGLES = ('none', 'meshSimplification')
# greatest difference between a round shape's scales, relative to the size
_ROUNDING = 1e-5
_GREY = (0.5, 0.5, 0.5)


@dataclass(frozen=True, eq=False)
class Solid:
    """Body collider: geometry in the link's frame, its prim, and whether it is enabled."""

    geometry: GeometryDescription
    prim: Prim
    is_enabled: bool

    def shape(self) -> Shape:
        """Return the solid; raises InvalidValueError for one without volume."""
        return shape_of(self.geometry)


def shape_of(geometry: GeometryDescription) -> Shape:
    """Return a collision element's shape; a hull unless it keeps its triangles."""
    if geometry.surface is None:
        return PRIMITIVES[geometry.kind](*geometry.size)
    if geometry.is_terrain:
        return TriangleMesh(*geometry.surface)
    return ConvexHull(np.asarray(geometry.surface.vertices))


class Shapes:
    """Visuals and colliders in one stage, by body."""

    def __init__(self, stage: Stage, contacts: Contacts, findings: Findings):
        """Prepare. findings: receives shapes without simulation."""
        self._stage, self._contacts, self._findings = stage, contacts, findings
        self._said: set[tuple[str, str]] = set()

    @cached_property
    def _by_body(self) -> Mapping[str, list[Prim]]:
        found: dict[str, list[Prim]] = {}
        for prim in self._stage.of(*SHAPES):
            found.setdefault(prim.body, []).append(prim)
        return MappingProxyType(found)

    def prims(self, body: str) -> list[Prim]:
        """Return the shapes on a body; '' for the shapes fixed to the world."""
        return self._by_body.get(body, [])

    def visuals(self, body: str, frame: Pose) -> Iterator[GeometryDescription]:
        """Yield a body's visible shapes. frame: the link's, in the world."""
        for prim in self.prims(body):
            is_shown = prim.data['visible'] and prim.data['purpose'] in ('default', 'render')
            if not is_shown or prim.has(*_SITES):
                continue
            if prim.kind == 'Plane':
                continue
            for geometry in self._describe(prim, frame):
                material = self._stage.material(str(prim.data['material']))
                texture = str(material.get('texture', ''))
                if texture and geometry.kind == MESH:
                    self._say(prim, 'approximated', 'textures of meshes are not drawn')
                    texture = ''
                elif '[' in texture:
                    self._say(prim, 'not-simulated', 'textures in packages are not drawn')
                    texture = ''
                yield replace(
                    geometry, color=self._color(prim), texture=texture, texture_path=texture
                )

    def solids(self, body: str, frame: Pose) -> Iterator[Solid]:
        """Yield a body's colliders, disabled ones too: they count for its mass."""
        for prim in self.prims(body):
            if not prim.has(COLLISION):
                continue
            enabled = prim.flag('physics:collisionEnabled', True)
            for geometry in self._describe(prim, frame):
                collision = self._approximated(prim, geometry)
                if collision is not None:
                    rules = self._contacts.of_collider(prim)
                    yield Solid(replace(collision, **rules), prim, enabled)

    def _describe(self, prim: Prim, frame: Pose) -> Iterator[GeometryDescription]:
        """Yield a prim's shape, in a frame; none for a shape without size."""
        local = self._stage.local(prim, frame)
        kind = _KINDS[prim.kind]
        if kind == MESH:
            yield from self._mesh(prim, local)
            return
        rotation, scale, is_sheared = unscaled(local[:, :3])
        if is_sheared:
            self._say(prim, 'approximated', 'is sheared; its axes are set at right angles')
        axis = prim.axis()
        turn = _TURNS[axis] if kind in (*_ROUND, PLANE) else np.eye(3)
        pose = Pose(read_only(local[:, 3]), read_only(rotation @ turn))
        size = self._size(prim, kind, scale, axis)
        if kind == 'sphere' and np.ptp(size) > _ROUNDING * size.max():
            kind = 'ellipsoid'
        elif kind == 'sphere':
            size = size[:1]
        if not (np.isfinite(size).all() and (size > 0.0).all()):
            self._say(prim, 'not-simulated', 'has no size')
            return
        yield GeometryDescription(kind, tuple(map(float, size)), pose, prim.name)

    def _size(self, prim: Prim, kind: str, scale: FloatArray, axis: int) -> FloatArray:
        """Return a primitive's sizes [m], as in `GeometryDescription`."""
        if kind == 'box':
            return prim.number('size', 2.0) * scale
        if kind == 'sphere':
            return prim.number('radius', 1.0) * scale
        if kind == PLANE:
            return np.zeros(0)
        across = np.delete(scale, axis)
        if np.ptp(across) > _ROUNDING * across.max():
            self._say(prim, 'approximated', 'has two radii by its scale; the greater one acts')
        radius = prim.number('radius', 1.0)
        if prim.kind.endswith('_1'):
            radii = [prim.number(name, 1.0) for name in ('radiusTop', 'radiusBottom')]
            radius = max(radii)
            if radii[0] != radii[1]:
                self._say(prim, 'approximated', 'is tapered; the greater radius acts')
        return np.array([radius * across.max(), prim.number('height', 2.0) * scale[axis]])

    def _mesh(self, prim: Prim, local: FloatArray) -> Iterator[GeometryDescription]:
        mesh = self._stage.mesh(prim)
        if not len(mesh.triangles):
            self._say(prim, 'not-simulated', 'has no triangles')
            return
        points = mesh.vertices @ local[:, :3].T
        triangles = mesh.triangles
        if np.linalg.det(local[:, :3]) < 0.0:
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        surface = MeshArrays(read_only(points), triangles)
        pose = Pose(read_only(local[:, 3]))
        yield GeometryDescription(MESH, (1.0, 1.0, 1.0), pose, prim.name, surface=surface)

    def _approximated(
        self, prim: Prim, geometry: GeometryDescription
    ) -> GeometryDescription | None:
        """Return a mesh collider by its approximation; None, named, for one without volume."""
        surface = geometry.surface
        if surface is None:
            return geometry
        word = prim.word('physics:approximation', 'none')
        lower, upper = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
        if word in ('boundingCube', 'boundingSphere'):
            middle = geometry.pose @ Pose(read_only(0.5 * (lower + upper)))
            size = tuple((upper - lower).tolist())
            if word == 'boundingSphere':
                far = np.linalg.norm(surface.vertices - 0.5 * (lower + upper), axis=1).max()
                size = (float(far),)
            if min(size) <= 0.0:
                self._say(prim, 'not-simulated', 'is flat, and its bounding shape has no size')
                return None
            kind = 'box' if word == 'boundingCube' else 'sphere'
            return replace(geometry, kind=kind, size=size, pose=middle, surface=None)
        if word == 'convexDecomposition':
            self._say(
                prim,
                'approximated',
                "collides as one convex hull; the robot's parameter `collisions` chooses several",
            )
        elif word not in (*_HULLS, *_TRIANGLES):
            self._say(prim, 'approximated', f'unknown approximation {word!r}; the hull collides')
        if word in _TRIANGLES:
            return replace(geometry, is_terrain=True)
        try:
            ConvexHull(np.asarray(surface.vertices))
        except InvalidValueError as err:
            self._say(prim, 'not-simulated', f'has no convex hull: {err}')
            return None
        return geometry

    def _color(self, prim: Prim) -> tuple[float, float, float, float]:
        """Return a shape's colour, sRGB: its material's, or its own."""
        material = self._stage.material(str(prim.data['material']))
        linear = material.get('color') or prim.data.get('color') or _GREY
        opacity = material.get('opacity', prim.data.get('opacity'))
        try:
            red, green, blue = np.clip(np.array(linear, dtype=float), 0.0, 1.0)
            shade = srgb_from_linear(np.array([red, green, blue]))
            solid = 1.0 if opacity is None else min(max(float(opacity), 0.0), 1.0)
        except (TypeError, ValueError):
            return (0.5, 0.5, 0.5, 1.0)
        return float(shade[0]), float(shade[1]), float(shade[2]), solid

    def _say(self, prim: Prim, code: str, message: str) -> None:
        """Name a shape once, though it is a visual and a collider."""
        if (prim.path, message) not in self._said:
            self._said.add((prim.path, message))
            self._findings.warning(code, prim.place, message)
