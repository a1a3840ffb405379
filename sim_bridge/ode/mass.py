"""Mass properties, like ODE's dMass."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import finite_vector, positive_number, unit_quaternion
from sim_bridge.shapes.shapes import Box, Capsule, Cylinder, Shape, Sphere

Triple = tuple[float, float, float]


def triple(values: Any) -> Triple:
    """Return three floats."""
    x, y, z = map(float, values)
    return x, y, z


def turned_by(quaternion: object, place: str) -> FloatArray:
    """Return the rotation matrix (3, 3) for a quaternion w x y z; zero length raises."""
    expected = 'a quaternion w x y z of non-zero length'
    given = finite_vector('quaternion', quaternion, 4, place, expected)
    return matrix_from_quaternion(unit_quaternion(np.roll(given, -1), place, 'x y z w'))


def rotation_of(values: Any, place: str) -> np.ndarray:
    """Return nine numbers by rows as (3, 3); raise InvalidValueError unless it is a rotation."""
    R = finite_vector('rotation', values, 9, place, 'nine numbers by rows').reshape(3, 3)
    if abs(R @ R.T - np.eye(3)).max() > 1e-4 or np.linalg.det(R) < 0.0:
        raise InvalidValueError('rotation', tuple(R.ravel().tolist()), 'a rotation', place)
    return R


class Mass:
    """
    Mass [kg], centre of mass `c` [m], and inertia `I` about the body's origin [kg m²].

    Directions are 1 for x, 2 for y, 3 for z. Raises InvalidValueError for invalid values.
    """

    def __init__(self) -> None:
        """Start with zero mass."""
        self._mass, self._center, self._inertia = 0.0, np.zeros(3), np.zeros((3, 3))

    @property
    def mass(self) -> float:
        """Mass [kg]; setting it scales the inertia."""
        return self._mass

    @mass.setter
    def mass(self, value: float) -> None:
        self.adjust(value)

    @property
    def c(self) -> Triple:
        """Centre of mass [m]."""
        return triple(self._center)

    @property
    def I(self) -> tuple[Triple, Triple, Triple]:  # noqa: E743 — ODE's name
        """Inertia about the body's origin [kg m²], by rows."""
        x, y, z = self._inertia
        return triple(x), triple(y), triple(z)

    def setZero(self) -> None:
        """Set everything to zero."""
        Mass.__init__(self)

    def setParameters(
        self,
        mass: float,
        cgx: float,
        cgy: float,
        cgz: float,
        I11: float,
        I22: float,
        I33: float,
        I12: float,
        I13: float,
        I23: float,
    ) -> None:
        """Set mass [kg], centre of mass [m] and inertia about the origin [kg m²]."""
        mass = positive_number('mass', mass, 'a positive number [kg]', 'Mass')
        center = finite_vector('centre of mass', (cgx, cgy, cgz), 3, 'Mass')
        values = finite_vector('inertia', (I11, I22, I33, I12, I13, I23), 6, 'Mass').tolist()
        x, y, z, xy, xz, yz = values
        self._mass, self._center = mass, center
        self._inertia = np.array([[x, xy, xz], [xy, y, yz], [xz, yz, z]])

    def setSphere(self, density: float, radius: float) -> None:
        """Set a sphere with a density [kg/m³]; radius: m."""
        self._take(Sphere(radius), density)

    def setSphereTotal(self, total_mass: float, radius: float) -> None:
        """Set a sphere with a mass [kg]."""
        self._take(Sphere(radius), 1.0, total_mass)

    def setBox(self, density: float, lx: float, ly: float, lz: float) -> None:
        """Set a box with a density [kg/m³]; lx, ly, lz: edges [m]."""
        self._take(Box((lx, ly, lz)), density)

    def setBoxTotal(self, total_mass: float, lx: float, ly: float, lz: float) -> None:
        """Set a box with a mass [kg]."""
        self._take(Box((lx, ly, lz)), 1.0, total_mass)

    def setCapsule(self, density: float, direction: int, radius: float, length: float) -> None:
        """Set a capsule with a density [kg/m³]; length: without the caps [m]."""
        self._take(Capsule(radius, length), density, None, direction)

    def setCapsuleTotal(
        self, total_mass: float, direction: int, radius: float, length: float
    ) -> None:
        """Set a capsule with a mass [kg]."""
        self._take(Capsule(radius, length), 1.0, total_mass, direction)

    setCappedCylinder, setCappedCylinderTotal = setCapsule, setCapsuleTotal

    def setCylinder(self, density: float, direction: int, r: float, h: float) -> None:
        """Set a cylinder with a density [kg/m³]; r, h: radius and length [m]."""
        self._take(Cylinder(r, h), density, None, direction)

    def setCylinderTotal(self, total_mass: float, direction: int, r: float, h: float) -> None:
        """Set a cylinder with a mass [kg]."""
        self._take(Cylinder(r, h), 1.0, total_mass, direction)

    def adjust(self, newmass: float) -> None:
        """Scale mass and inertia to a mass [kg]."""
        mass = positive_number('mass', newmass, 'a positive number [kg]', 'Mass')
        if self._mass == 0.0:
            raise InvalidValueError('mass', newmass, 'a shape or parameters first', 'Mass')
        self._inertia *= mass / self._mass
        self._mass = mass

    def translate(self, t: Vector) -> None:
        """Move the mass by t [m]."""
        shift = finite_vector('translation', t, 3, 'Mass')
        inertia = self._inertia - _of_point(self._mass, self._center)
        self._center = self._center + shift
        self._inertia = inertia + _of_point(self._mass, self._center)

    def rotate(self, R: Vector) -> None:
        """Rotate the mass about the origin; R: nine numbers by rows."""
        turn = rotation_of(R, 'Mass')
        self._center = turn @ self._center
        self._inertia = turn @ self._inertia @ turn.T

    def check(self) -> bool:
        """Return whether mass and inertia are physically possible."""
        own = self._inertia - _of_point(self._mass, self._center)
        least, middle, greatest = np.linalg.eigvalsh(own).tolist()
        return self._mass > 0.0 and least > 0.0 and least + middle >= (1.0 - 1e-9) * greatest

    def setTrimesh(self, density: float, mesh: Any) -> None:
        """Set the solid inside a GeomTriMesh or TriMeshData, at its place; density [kg/m³]."""
        shape = getattr(mesh, 'mesh', None) or mesh.shape()
        own = shape.mass_properties(
            positive_number('density', density, 'a positive number [kg/m³]', 'Mass')
        )
        center = np.array(own.center_of_mass)
        self._mass, self._center = own.mass, center
        self._inertia = own.inertia + _of_point(own.mass, center)

    def setTrimeshTotal(self, total_mass: float, mesh: Any) -> None:
        """Set this solid with a mass [kg]."""
        self.setTrimesh(1.0, mesh)
        self.adjust(total_mass)

    def add(self, b: Mass) -> None:
        """Add another mass to this one."""
        if not isinstance(b, Mass):
            raise InvalidValueError('b', b, 'a Mass', 'Mass')
        total = self._mass + b._mass
        if total > 0.0:
            self._center = (self._mass * self._center + b._mass * b._center) / total
        self._mass, self._inertia = total, self._inertia + b._inertia

    def __add__(self, b: Mass) -> Mass:
        """Add another mass to this one, as in ODE's bindings; return this one."""
        self.add(b)
        return self

    def __str__(self) -> str:
        """Return all values as text."""
        return f'Mass={self.mass}\nCg={self.c}\nI={self.I}'

    def _take(
        self, shape: Shape, density: float, mass: float | None = None, direction: int = 3
    ) -> None:
        if direction not in (1, 2, 3):
            raise InvalidValueError('direction', direction, '1, 2 or 3 for x, y or z', 'Mass')
        own = shape.mass_properties(
            positive_number('density', density, 'a positive number [kg/m³]', 'Mass')
        )
        inertia = own.inertia
        if direction != 3:
            inertia = np.roll(np.roll(inertia, direction, axis=0), direction, axis=1)
        self._mass, self._center, self._inertia = own.mass, np.zeros(3), inertia.copy()
        if mass is not None:
            self.adjust(mass)


def _of_point(mass: float, center: FloatArray) -> FloatArray:
    return mass * (center @ center * np.eye(3) - np.outer(center, center))
