"""Shape at its pose on a link, with its material."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import (
    finite_vector,
    is_series,
    name_set,
    truth,
    unit_quaternion,
)
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.shapes import MassProperties, Shape


@dataclass(frozen=True)
class Placed:
    """
    Shape on a link.

    position [m], orientation (quaternion x y z w): shape frame in the link frame.
    name: geometry name; numbered if ''.
    material: a Material or its name; None: the body's material.
    sensor: whether it reports contacts without contact forces; always True for a `Line`.
    enabled: whether it has contacts at all.
    groups: collision group names.
    surface_velocity: (3,) relative to the link, in the shape's axes [m/s], as on a belt.
    friction_direction: (3,) ODE's fdir1, in the shape's axes: friction and slip along it are those
        of the first direction; None: any direction. If both shapes have one, the shape with the
        lower friction decides; with equal friction, the bisector of both directions.
    rolling_slip: (2,) of a wheel, creep velocity per friction force and turning rate, along the
        first and the second direction [m/N]. The rate is that about `friction_direction`, relative
        to the parent link; 0 for a body without one. All points of two shapes bear the force.
    mass: whether it counts in mass properties computed from shapes; sensors and disabled shapes
        never count.

    Raises InvalidValueError for values outside these ranges.
    """

    shape: Shape
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)
    name: str = ''
    material: Material | str | None = None
    sensor: bool = False
    enabled: bool = True
    groups: frozenset[str] = frozenset()
    surface_velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    friction_direction: tuple[float, ...] | None = None
    mass: bool = True
    rolling_slip: tuple[float, ...] = (0.0, 0.0)

    if TYPE_CHECKING:

        def __init__(
            self,
            shape: Shape,
            position: Vector = ...,
            orientation: Vector = ...,
            name: str = '',
            material: Material | str | None = None,
            sensor: bool = False,
            enabled: bool = True,
            groups: Iterable[str] = ...,
            surface_velocity: Vector = ...,
            friction_direction: Vector | None = None,
            mass: bool = True,
            rolling_slip: Vector = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check all fields."""
        if not isinstance(self.name, str):
            raise InvalidValueError('name', self.name, 'a text', 'geometry')
        place = f'geometry {self.name!r}' if self.name else 'geometry'
        if not isinstance(self.shape, Shape):
            raise InvalidValueError('shape', self.shape, 'a shape such as Box((1, 1, 1))', place)
        if self.material is not None and not isinstance(self.material, (Material, str)):
            raise InvalidValueError(
                'material', self.material, 'a Material, the name of one, or None', place
            )
        values = {
            'position': finite_vector('position', self.position, 3, place),
            'orientation': unit_quaternion(self.orientation, place),
            'surface_velocity': finite_vector('surface_velocity', self.surface_velocity, 3, place),
            'rolling_slip': finite_vector('rolling_slip', self.rolling_slip, 2, place),
        }
        if (values['rolling_slip'] < 0.0).any():
            expected = 'two numbers of at least 0'
            raise InvalidValueError('rolling_slip', self.rolling_slip, expected, place)
        if self.friction_direction is not None:
            direction = finite_vector('friction_direction', self.friction_direction, 3, place)
            length = float(np.linalg.norm(direction))
            if length <= 0.0:
                raise InvalidValueError(
                    'friction_direction', tuple(direction), 'a vector of non-zero length', place
                )
            values['friction_direction'] = direction / length
        for name, vector in values.items():
            object.__setattr__(self, name, tuple(vector.tolist()))
        for name in ('sensor', 'enabled', 'mass'):
            object.__setattr__(self, name, truth(name, getattr(self, name), place))
        if self.shape.is_sensor:
            object.__setattr__(self, 'sensor', True)
        object.__setattr__(self, 'groups', name_set('groups', self.groups, place))

    def of_material(self, material: str) -> Placed:
        """Return the shape with the name of another material; the other fields stay checked."""
        if material == self.material:
            return self
        changed = object.__new__(Placed)
        # a third of the time of `copy`
        changed.__dict__.update(self.__dict__, material=material)
        return changed

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from the shape's axes to the link's."""
        return matrix_from_quaternion(self.orientation)


def as_placed(shapes: Shape | Placed | Iterable[Shape | Placed]) -> tuple[Placed, ...]:
    """
    Return one shape or several as `Placed`; plain shapes are placed at the link's origin.

    Raises InvalidValueError for anything else.
    """
    several = [shapes] if isinstance(shapes, (Shape, Placed)) else shapes
    if not is_series(several):
        raise InvalidValueError('shapes', shapes, 'a shape such as Box((1, 1, 1)), or several')
    return tuple(part if isinstance(part, Placed) else Placed(part) for part in several)


def combined_mass_properties(
    shapes: Iterable[Placed], densities: Iterable[float], place: str = ''
) -> MassProperties:
    """
    Return the mass properties for several shapes together, in the link frame.

    densities: one for each shape [kg/m³]. Overlaps count twice. place: shown in the
    InvalidValueError for a shape without volume.
    """
    total, moment, parts = 0.0, np.zeros(3), []
    for placed, density in zip(shapes, densities, strict=True):
        try:
            own = placed.shape.mass_properties(density)
        except InvalidValueError as err:
            raise InvalidValueError(err.quantity, err.value, err.expected, place) from err
        rotation = placed.rotation
        center = np.array(placed.position) + rotation @ own.center_of_mass
        parts.append((own.mass, center, rotation @ own.inertia @ rotation.T))
        total += own.mass
        moment += own.mass * center
    if not parts:
        raise InvalidValueError(
            'shapes',
            (),
            'at least one shape with mass (enabled, no sensor, mass=True), or a mass '
            'and an inertia',
            place,
        )
    middle, inertia = moment / total, np.zeros((3, 3))
    for mass, center, own_inertia in parts:
        arm = center - middle
        inertia += own_inertia + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return MassProperties(total, middle, inertia)
