"""
Mass properties of bodies, by the precedence of UsdPhysics.

A body's mass, centre and inertia come before those of its colliders. A collider's mass comes
before its density; the density is that of the collider, of the body, of the material, or 1000
kg/m³.
"""

from __future__ import annotations

from collections.abc import Iterable
import math

import numpy as np

from sim_bridge.description.model import Inertial, Pose
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.description.usd.geometry import PLANE, Solid
from sim_bridge.description.usd.stage import Prim, quaternion_pose, Stage, unscaled
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.polyhedra import ConvexHull
from sim_bridge.shapes.shapes import MassProperties

_WATER = 1000.0
# radius for a body without colliders and inertia, a sphere as in PhysX [m]
_POINT_RADIUS = 0.1
_MASS, _NEWTON_MASS = 'PhysicsMassAPI', 'NewtonMassAPI'


class Masses:
    """Mass properties by body in one stage."""

    def __init__(self, stage: Stage, findings: Findings):
        """Prepare. findings: receives defects."""
        self._stage, self._findings = stage, findings

    def inertial(self, body: Prim, solids: Iterable[Solid]) -> Inertial:
        """Return a body's mass properties. solids: its colliders, in the body's frame."""
        mass, center, inertia = self._own(body)
        own = None
        if mass is None or center is None or inertia is None:
            own = self._of_solids(body, solids)
        if own is None:
            return self._without_solids(body, mass, center, inertia)
        total = own.mass if mass is None else mass
        if inertia is None:
            inertia = own.inertia * (total / own.mass)
            if center is not None:
                inertia = inertia + total * _parallel(center - own.center_of_mass)
        middle = own.center_of_mass if center is None else center
        return Inertial(total, Pose(read_only(middle)), read_only(inertia))

    def _own(self, body: Prim) -> tuple[float | None, FloatArray | None, FloatArray | None]:
        """Return the body's own mass, mass centre and inertia in its axes; None each."""
        if not body.has(_MASS, _NEWTON_MASS):
            return None, None, None
        mass = body.number('physics:mass') * self._stage.kilograms
        return (mass if mass > 0.0 else None), self._center(body), self._inertia(body)

    def _center(self, prim: Prim) -> FloatArray | None:
        """Return an authored mass centre in the prim's frame [m]."""
        center = prim.numbers('physics:centerOfMass', 3)
        if center is None:
            return None
        _, scale, _ = unscaled(prim.matrix[:3, :3])
        return read_only(center * scale * self._stage.meters)

    def _inertia(self, prim: Prim) -> FloatArray | None:
        """Return an authored inertia (3, 3) in the prim's axes [kg m²]."""
        unit = self._stage.kilograms * self._stage.meters**2
        whole = prim.numbers('newton:inertia', 6)
        if whole is not None:
            xx, yy, zz, xy, xz, yz = (unit * whole).tolist()
            return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        diagonal = prim.numbers('physics:diagonalInertia', 3)
        if diagonal is None or not diagonal.any():
            return None
        turn = quaternion_pose(np.zeros(3), prim.numbers('physics:principalAxes', 4)).rotation
        return read_only(unit * (turn * diagonal) @ turn.T)

    def _density(self, prim: Prim, body: Prim) -> float:
        """Return a collider's density [kg/m³]."""
        unit = self._stage.kilograms / self._stage.meters**3
        material = self._stage.material(str(prim.data.get('physics_material', '')))
        given = material.get('values', {}).get('physics:density', 0.0)
        for value in (
            prim.number('physics:density') if prim.has(_MASS) else 0.0,
            body.number('physics:density') if body.has(_MASS) else 0.0,
            given if isinstance(given, (int, float)) else 0.0,
        ):
            if value > 0.0 and math.isfinite(value):
                return float(value) * unit
        return _WATER

    def _of_solids(self, body: Prim, solids: Iterable[Solid]) -> MassProperties | None:
        """Return all colliders' mass properties together, in the body's frame."""
        parts = []
        for solid in solids:
            if solid.geometry.kind == PLANE:
                continue
            try:
                parts.append(self._of_solid(solid, body))
            except InvalidValueError as err:
                self._findings.warning(
                    'no-volume', solid.prim.place, f'does not count for the mass: {err}'
                )
        total = sum(part.mass for part in parts)
        if total <= 0.0:
            return None
        center = np.sum([part.mass * part.center_of_mass for part in parts], axis=0) / total
        inertia = sum(
            (part.inertia + part.mass * _parallel(part.center_of_mass - center) for part in parts),
            np.zeros((3, 3)),
        )
        return MassProperties(total, center, inertia)

    def _of_solid(self, solid: Solid, body: Prim) -> MassProperties:
        """Return one collider's mass properties, in the body's frame."""
        prim, pose = solid.prim, solid.geometry.pose
        shape, density = solid.shape(), self._density(prim, body)
        try:
            own = shape.mass_properties(density)
        except InvalidValueError:
            # an open surface has its hull's volume
            surface = solid.geometry.surface
            if surface is None:
                raise
            own = ConvexHull(np.asarray(surface.vertices)).mass_properties(density)
        mass = prim.number('physics:mass') * self._stage.kilograms if prim.has(_MASS) else 0.0
        inertia = own.inertia
        if mass > 0.0:
            inertia, own = inertia * (mass / own.mass), own._replace(mass=mass)
        turned = pose.rotation @ inertia @ pose.rotation.T
        center = pose.position + pose.rotation @ own.center_of_mass
        return MassProperties(own.mass, center, turned)

    def _without_solids(
        self, body: Prim, mass: float | None, center: FloatArray | None, inertia: FloatArray | None
    ) -> Inertial:
        middle = Pose() if center is None else Pose(read_only(center))
        total = 1.0 if mass is None else mass
        if mass is None or inertia is None:
            message = 'has no collider and no '
            message += 'mass; 1 kg are taken' if mass is None else 'inertia'
            message += f'; a sphere of {_POINT_RADIUS:g} m is taken' if inertia is None else ''
            self._findings.warning('missing-inertial', body.place, message)
        if inertia is None:
            inertia = np.eye(3) * (0.4 * total * _POINT_RADIUS**2)
        return Inertial(total, middle, read_only(inertia))


def _parallel(arm: FloatArray) -> FloatArray:
    """Return the inertia for 1 kg at an arm's end, arm (3,) [m²]."""
    return arm @ arm * np.eye(3) - np.outer(arm, arm)
