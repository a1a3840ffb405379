"""Bodies: their shapes, and their mass properties, given or computed from the shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
from pathlib import Path
from typing import cast

import numpy as np

from sim_bridge.description.model import Inertial, Pose
from sim_bridge.description.openplx.assembly import BODY, frame_of, frame_path, owners
from sim_bridge.description.openplx.mapping.groups import Groups
from sim_bridge.description.openplx.mapping.materials import Materials
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.openplx.values import matrix, pose, vector
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.mesh_cache import mesh_of_file
from sim_bridge.shapes.placed import combined_mass_properties, Placed
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh
from sim_bridge.shapes.shapes import Box, Capsule, Cylinder, Shape, Sphere

GEOMETRY = 'Physics3D.Geometries.ContactGeometry'
_GEOMETRIES = 'Physics3D.Geometries.'
# turns z, the axis of cylinders and capsules here, onto y, their axis in OpenPLX
_Z_TO_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# density for the ball giving a body without shapes its inertia [kg/m³]
_DENSITY = 1000.0


@dataclass(frozen=True, eq=False)
class BodyParts:
    """Collision shapes and mass properties of a body, None for a body without mass."""

    shapes: tuple[Placed, ...]
    inertial: Inertial | None


class Bodies:
    """Reader for the bodies in a scene."""

    def __init__(self, root: Object, materials: Materials, groups: Groups, findings: Findings):
        """Sort a scene's geometries by their bodies."""
        self._materials, self._groups, self._findings = materials, groups, findings
        self._directions = _friction_directions(root)
        self._geometries: dict[str, list[Object]] = {}
        for each in root.walk():
            if not each.is_a(GEOMETRY):
                continue
            carrier = frame_of(each)
            if carrier is not None and carrier.is_a(BODY):
                self._geometries.setdefault(frame_path(carrier), []).append(each)
            else:
                findings.warning(
                    'not-on-a-body', each.place, 'is on no body, and so is not simulated'
                )

    def read(self, path: str, body: Object, name: str) -> BodyParts:
        """Return a body's parts. name: its link's name, prefix for the shape names."""
        shapes: list[Placed] = []
        with_mass: list[Placed] = []
        densities: list[float] = []
        is_whole = True
        for geometry in self._geometries.get(path, ()):
            count = len(self._findings.found)
            try:
                placed, density = self._placed(geometry, body, f'{name}_{len(shapes)}')
            except InvalidValueError as err:
                if len(self._findings.found) == count:
                    place = geometry.place
                    if err.quantity in geometry.members:
                        place = geometry.place_of(err.quantity)
                    self._findings.error(
                        'bad-value',
                        place,
                        f'expected {err.expected}',
                        err.quantity,
                        str(err.value),
                    )
                is_whole = False
                continue
            if placed is None:
                continue
            shapes.append(placed)
            if geometry['include_in_mass_properties']:
                with_mass.append(placed)
                densities.append(density)
        if not is_whole:
            # any mass: the error has been reported, and its consequences shall not be
            return BodyParts(tuple(shapes), Inertial(1.0, Pose(), np.eye(3)))
        return BodyParts(tuple(shapes), self._inertial(body, with_mass, densities))

    def _placed(self, geometry: Object, body: Object, name: str) -> tuple[Placed | None, float]:
        """Return a shape on its body (None for a model without shape) and its density."""
        make = next((make for model, make in _SHAPES.items() if geometry.is_a(model)), None)
        if make is None:
            # the base model is a placeholder declared by systems
            if geometry.model.name != GEOMETRY:
                self._findings.error(
                    'unsupported-geometry',
                    geometry.place,
                    f'geometries of model {geometry.model.name!r} are not simulated; known are '
                    f'{", ".join(_SHAPES)}',
                )
            return None, 0.0
        material, density = self._materials.of_geometry(geometry)
        place = Pose()
        for owner in owners(geometry):
            if owner is body:
                break
            if 'local_transform' in owner.members:
                place = pose(cast(Object, owner['local_transform'])) @ place
        rotation = place.rotation
        if make in (_cylinder, _capsule):
            rotation = rotation @ _Z_TO_Y
        direction = self._directions.get(id(geometry), self._directions.get(id(body)))
        sliding = None
        if direction is not None:
            on_body = place.rotation if id(geometry) in self._directions else np.eye(3)
            sliding = (rotation.T @ on_body @ direction).tolist()
        return Placed(
            make(geometry),
            place.position.tolist(),
            quaternion_from_matrix(rotation).tolist(),
            name,
            material,
            enabled=bool(geometry['enable_collisions']),
            groups=self._groups.of(geometry),
            friction_direction=sliding,
        ), density

    def _inertial(
        self, body: Object, shapes: list[Placed], densities: list[float]
    ) -> Inertial | None:
        """Return the given mass, tensor and centre of mass; missing values from the shapes."""
        mass, tensor, own = None, None, None
        center = Pose()
        has_center = body.is_assigned('kinematics.local_cm_transform')
        if has_center:
            center = pose(cast(Object, body['kinematics.local_cm_transform']))
        if body.is_assigned('inertia.mass'):
            mass = cast(float, body['inertia.mass'])
            if mass < 0.0 or not math.isfinite(mass):
                self._findings.error(
                    'negative-mass' if mass < 0.0 else 'not-finite',
                    body.place_of('inertia.mass'),
                    'must be finite and not negative',
                    'mass',
                    f'{mass:g}',
                )
                mass = 1.0
        if body.is_assigned('inertia.tensor'):
            tensor = matrix(cast(Object, body['inertia.tensor']))
            tensor = self._checked(body, tensor)
        if shapes and not (mass is not None and tensor is not None and has_center):
            try:
                own = combined_mass_properties(shapes, densities, f'body {body.path!r}')
            except InvalidValueError as err:
                self._findings.warning(
                    'no-volume', body.place, f'{err}; its shapes are ignored for its mass'
                )
        if own is not None:
            if not has_center:
                center = Pose(own.center_of_mass)
            if tensor is None:
                # the tensor is in the axes of the centre's frame
                factor = 1.0 if mass is None else mass / own.mass
                tensor = factor * (center.rotation.T @ own.inertia @ center.rotation)
            mass = own.mass if mass is None else mass
        if mass is None:
            return None
        if not (np.isfinite(center.position).all() and np.isfinite(center.rotation).all()):
            self._findings.error(
                'not-finite', body.place_of('kinematics.local_cm_transform'), 'must be finite'
            )
            return None
        if tensor is None:
            self._findings.warning(
                'no-inertia',
                body.place,
                'has a mass but neither tensor nor shapes; its inertia '
                f'is taken from a ball of {_DENSITY:g} kg/m³',
            )
            radius = (0.75 * mass / (math.pi * _DENSITY)) ** (1.0 / 3.0)
            tensor = 0.4 * mass * radius**2 * np.eye(3)
        return Inertial(
            mass,
            Pose(read_only(center.position), read_only(center.rotation)),
            read_only(tensor),
            body.place.line,
        )

    def _checked(self, body: Object, tensor: np.ndarray) -> np.ndarray:
        if np.isfinite(tensor).all() and np.allclose(
            tensor, tensor.T, rtol=0.0, atol=1e-9 * max(float(np.abs(tensor).max()), 1e-300)
        ):
            symmetric: np.ndarray = 0.5 * (tensor + tensor.T)
            return symmetric
        self._findings.error(
            'tensor', body.place_of('inertia.tensor'), 'must be finite and symmetric'
        )
        return np.zeros((3, 3))


def _friction_directions(root: Object) -> Mapping[int, np.ndarray]:
    """Return the primary friction directions, by geometry or body identity."""
    found: dict[int, np.ndarray] = {}
    for each in root.walk():
        for member in ('reference_geometry', 'reference_body'):
            if member in each.members and 'primary_direction' in each.members:
                found[id(each[member])] = vector(cast(Object, each['primary_direction']))
    return found


def _box(geometry: Object) -> Shape:
    x, y, z = vector(cast(Object, geometry['size'])).tolist()
    return Box((x, y, z))


def _sphere(geometry: Object) -> Shape:
    return Sphere(cast(float, geometry['radius']))


def _cylinder(geometry: Object) -> Shape:
    return Cylinder(cast(float, geometry['radius']), cast(float, geometry['height']))


def _capsule(geometry: Object) -> Shape:
    return Capsule(cast(float, geometry['radius']), cast(float, geometry['height']))


def _points(geometry: Object) -> np.ndarray:
    vertices = cast('tuple[Object, ...]', geometry['vertices'])
    return np.array([vector(each) for each in vertices]).reshape(-1, 3)


def _hull(geometry: Object) -> Shape:
    return ConvexHull(_points(geometry))


def _mesh(geometry: Object) -> Shape:
    indices = np.array(geometry['indices'], np.int64)
    if len(indices) % 3:
        raise InvalidValueError('indices', len(indices), 'three for each triangle', '')
    return TriangleMesh(_points(geometry), indices.reshape(-1, 3))


def _file(geometry: Object) -> Shape:
    path = Path(cast(str, geometry['path']))
    if path.suffix == '.agx':
        raise InvalidValueError('path', str(path), "a mesh file, not AGX's own format", '')
    return mesh_of_file(path, vector(cast(Object, geometry['scale'])).tolist())


_SHAPES: Mapping[str, Callable[[Object], Shape]] = {
    f'{_GEOMETRIES}Box': _box,
    f'{_GEOMETRIES}Sphere': _sphere,
    f'{_GEOMETRIES}Cylinder': _cylinder,
    f'{_GEOMETRIES}Capsule': _capsule,
    f'{_GEOMETRIES}ConvexMesh': _hull,
    f'{_GEOMETRIES}TriMesh': _mesh,
    f'{_GEOMETRIES}ExternalTriMeshGeometry': _file,
}
