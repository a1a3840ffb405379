"""ODE geoms: solids, triangle meshes, rays, and GeomTransform."""

from __future__ import annotations

from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector, numbers, positive_number
from sim_bridge.ode.geoms import GeomObject, Place
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.shapes.polyhedra import TriangleMesh
from sim_bridge.shapes.shapes import Box, Capsule, Cylinder, Plane, Shape, Sphere


class GeomSphere(GeomObject):
    """Sphere."""

    def __init__(self, space: Any = None, radius: float = 1.0) -> None:
        """Create a sphere with a radius [m]."""
        super().__init__(space)
        self.setRadius(radius)

    def setRadius(self, radius: float) -> None:
        """Set the radius [m]."""
        self._radius = positive_number('radius', radius, 'a positive number [m]', 'GeomSphere')
        self.changed()

    def getRadius(self) -> float:
        """Return the radius [m]."""
        return self._radius

    def pointDepth(self, p: Vector) -> float:
        """Return the depth of a point inside [m]; negative outside."""
        return self._radius - float(np.linalg.norm(np.asarray(p) - self.pose()[1]))

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return Sphere(self._radius)

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        return np.zeros(3), np.full(3, self._radius)


class GeomBox(GeomObject):
    """Box."""

    def __init__(self, space: Any = None, lengths: Vector = (1.0, 1.0, 1.0)) -> None:
        """Create a box with edge lengths [m]."""
        super().__init__(space)
        self.setLengths(lengths)

    def setLengths(self, lengths: Vector) -> None:
        """Set the edge lengths [m]."""
        self._box = Box(triple(finite_vector('lengths', lengths, 3, 'GeomBox')))
        self.changed()

    def getLengths(self) -> Triple:
        """Return the edge lengths [m]."""
        return triple(self._box.size)

    def pointDepth(self, p: Vector) -> float:
        """Return the depth of a point inside [m]; negative outside."""
        R, place = self.pose()
        beyond = np.abs(R.T @ (np.asarray(p) - place)) - 0.5 * np.array(self._box.size)
        outside = float(np.linalg.norm(np.maximum(beyond, 0.0)))
        return -outside if outside > 0.0 else float(-beyond.max())

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return self._box

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        return np.zeros(3), np.abs(R) @ (0.5 * np.array(self._box.size))


class GeomPlane(GeomObject):
    """Half-space below a plane; it never moves."""

    def __init__(
        self, space: Any = None, normal: Vector = (0.0, 0.0, 1.0), dist: float = 0.0
    ) -> None:
        """Create a plane with a normal and a distance from the origin [m]."""
        super().__init__(space)
        self.setParams(normal, dist)

    def placeable(self) -> bool:
        """Return False."""
        return False

    def setParams(self, normal: Vector, dist: float) -> None:
        """Set normal and distance [m]."""
        n = finite_vector('normal', normal, 3, 'GeomPlane')
        length = float(np.linalg.norm(n))
        if length == 0.0:
            raise InvalidValueError('normal', normal, 'a vector of non-zero length', 'GeomPlane')
        self._dist = finite_number('dist', dist, 'GeomPlane') / length
        n = self._normal = n / length
        x = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        x /= np.linalg.norm(x)
        self._own = np.array([x, np.cross(n, x), n]).T, self._dist * n
        self.changed()

    def getParams(self) -> tuple[Triple, float]:
        """Return normal and distance [m]."""
        return triple(self._normal), self._dist

    def pointDepth(self, p: Vector) -> float:
        """Return the depth of a point below the plane [m]; negative above."""
        return float(self._dist - np.asarray(p) @ self._normal)

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return Plane()

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents: infinite."""
        return np.zeros(3), np.full(3, np.inf)


class _Round(GeomObject):
    """Solid of revolution about its z axis."""

    def __init__(self, space: Any = None, radius: float = 0.5, length: float = 1.0) -> None:
        """Create a solid with a radius and a length along z [m]."""
        super().__init__(space)
        self.setParams(radius, length)

    def setParams(self, radius: float, length: float) -> None:
        """Set radius and length [m]."""
        place, expected = type(self).__name__, 'a positive number [m]'
        self._radius = positive_number('radius', radius, expected, place)
        self._length = positive_number('length', length, expected, place)
        self.changed()

    def getParams(self) -> tuple[float, float]:
        """Return radius and length [m]."""
        return self._radius, self._length


class GeomCapsule(_Round):
    """Capsule about z; length without the caps."""

    def pointDepth(self, p: Vector) -> float:
        """Return the depth of a point inside [m]; negative outside."""
        R, place = self.pose()
        own = R.T @ (np.asarray(p) - place)
        own[2] -= np.clip(own[2], -0.5 * self._length, 0.5 * self._length)
        return self._radius - float(np.linalg.norm(own))

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return Capsule(self._radius, self._length)

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        return np.zeros(3), np.abs(R[:, 2]) * 0.5 * self._length + self._radius


GeomCCylinder = GeomCapsule


class GeomCylinder(_Round):
    """Cylinder about z."""

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return Cylinder(self._radius, self._length)

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        along = R[:, 2]
        return np.zeros(3), (
            np.abs(along) * 0.5 * self._length
            + self._radius * np.sqrt(np.maximum(1.0 - along**2, 0.0))
        )


class TriMeshData:
    """Triangles for a mesh geom."""

    def __init__(self) -> None:
        """Start without triangles."""
        self.mesh: TriangleMesh | None = None

    def build(self, verts: Any, faces: Any) -> None:
        """Set vertices [m] and faces, three vertex indices each."""
        self.mesh = TriangleMesh(_rows('verts', verts), _rows('faces', faces))


class GeomTriMesh(GeomObject):
    """Triangle mesh."""

    def __init__(self, data: TriMeshData, space: Any = None) -> None:
        """Take built data."""
        if not isinstance(data, TriMeshData) or data.mesh is None:
            raise InvalidValueError('data', data, 'a TriMeshData after build', 'GeomTriMesh')
        super().__init__(space)
        self._mesh = data.mesh

    def clearTCCache(self) -> None:
        """Do nothing: there is no temporal coherence cache."""

    def getTriangle(self, idx: int) -> tuple[Triple, Triple, Triple]:
        """Return the corners of a triangle [m], world."""
        R, p = self.pose()
        a, b, c = (
            triple(p + R @ self._mesh.vertices[corner]) for corner in self._mesh.triangles[idx]
        )
        return a, b, c

    def getTriangleCount(self) -> int:
        """Return the number of triangles."""
        return len(self._mesh.triangles)

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return self._mesh

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        corners = self._mesh.vertices @ R.T
        low, high = corners.min(axis=0), corners.max(axis=0)
        return 0.5 * (low + high), 0.5 * (high - low)


class GeomRay(GeomObject):
    """Ray from its position along its z axis."""

    def __init__(self, space: Any = None, rlen: float = 1.0) -> None:
        """Create a ray with a length [m]."""
        super().__init__(space)
        self.setLength(rlen)

    def setLength(self, rlen: float) -> None:
        """Set the length [m]."""
        self._length = positive_number('length', rlen, 'a positive number [m]', 'GeomRay')

    def getLength(self) -> float:
        """Return the length [m]."""
        return self._length

    _culls = False

    def setBackfaceCull(self, cull: bool) -> None:
        """Set whether the ray passes through back faces of triangles, and out of solids."""
        self._culls = bool(cull)

    def getBackfaceCull(self) -> bool:
        """Return whether the ray passes through back faces."""
        return self._culls

    def set(self, p: Vector, u: Vector) -> None:
        """Set the start [m] and the direction."""
        z = finite_vector('direction', u, 3, 'GeomRay')
        if not z.any():
            raise InvalidValueError('direction', u, 'a vector of non-zero length', 'GeomRay')
        z = z / np.linalg.norm(z)
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        self._turn(np.array([x, np.cross(z, x), z]).T)
        self.setPosition(p)

    def get(self) -> tuple[Triple, Triple]:
        """Return start [m] and direction."""
        R, p = self.pose()
        return triple(p), triple(R[:, 2])

    def segment(self) -> tuple[FloatArray, FloatArray]:
        """Return (3,) start and end [m]."""
        R, p = self.pose()
        return p, p + self._length * R[:, 2]

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        half = 0.5 * self._length * R[:, 2]
        return half, np.abs(half)


class GeomTransform(GeomObject):
    """Another geom, placed relative to this one."""

    geom: GeomObject | None = None

    def setGeom(self, geom: GeomObject) -> None:
        """Set the inner geom: placeable, without space and body."""
        if not isinstance(geom, GeomObject) or not geom.placeable():
            raise ValueError('only placeable geoms can be encapsulated by a GeomTransform')
        if geom.space is not None or geom.body is not None:
            raise ValueError('the encapsulated geom must have no space and no body')
        self.geom, geom._outer = geom, weakref.ref(self)
        self.changed()

    def getGeom(self) -> GeomObject | None:
        """Return the inner geom."""
        return self.geom

    def setInfo(self, mode: int) -> None:
        """Set the geom named in contacts: the inner one (0), or this one (1)."""
        if mode not in (0, 1):
            raise ValueError(f'mode is {mode!r}; expected 0 or 1')
        self._info = mode

    _info = 0

    def getInfo(self) -> int:
        """Return the geom named in contacts: the inner one (0), or this one (1)."""
        return self._info

    def shape(self) -> Shape | None:
        """Return the inner geom's shape."""
        return None if self.geom is None else self.geom.shape()

    def _local(self) -> Place:
        R, p = self._offset
        if self.geom is None:
            return R, p
        own, shift = self.geom._own
        return R @ own, p + R @ shift

    def _inside(self) -> Place:
        return super()._inside() if self.geom is None else self.geom._inside()

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the inner geom's centre offset and half extents [m]."""
        return (np.zeros(3), np.zeros(3)) if self.geom is None else self.geom.half_extents(R)


def _rows(quantity: str, values: Any) -> np.ndarray:
    """Return rows of three numbers, given flat or as rows."""
    array = numbers(quantity, values, 'rows of three numbers', 'TriMeshData.build')
    if array.size % 3:
        raise InvalidValueError(quantity, values, 'rows of three numbers', 'TriMeshData.build')
    return array.reshape(-1, 3)
