"""Force fields as plain data, which a world can step without Python, save and replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from sim_bridge.description.field_values import CheckedField
from sim_bridge.description.fluid_forces import Buoyancy, Hydrodynamics, LiftDrag, Rotor, Thruster
from sim_bridge.description.gravity import PointGravity
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector

ForceFunction = Callable[[FloatArray, FloatArray, float, float], Vector]
"""(position [m], velocity [m/s], mass [kg], time [s]) of a link → force [N]."""

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class UniformField(CheckedField):
    """
    Equal force and equal acceleration on every link.

    force: (3,) [N], at the centre of mass. acceleration: (3,) [m/s²], times the mass.
    """

    force: Sequence[float] = _ZERO
    acceleration: Sequence[float] = _ZERO


@dataclass(frozen=True)
class PointField(CheckedField):
    """
    Force towards a point: -strength rⁿ along the unit vector away from it, at a distance r.

    center: (3,) [m], world axes. strength: at a distance of 1 m [N]; negative: away from the
    point. exponent: n; 1 is a spring. For a strength per mass use a `PointGravity`, which is
    accepted as a field too.
    """

    center: Sequence[float] = _ZERO
    strength: float = 1.0
    exponent: float = 1.0


@dataclass(frozen=True)
class Drag(CheckedField):
    """
    Drag in a moving or still medium: wind, current or still air.

    The force on a link is -(linear + quadratic |s|) s, with s the velocity of its centre of mass
    relative to the medium; the torque is -angular w. Both are evaluated in the middle of each
    step, with second-order accuracy. Coefficients too large for the time step are bounded and
    never unstable.

    linear: [N s/m]. quadratic: ½ ρ c A from density, drag coefficient and area [N s²/m²].
    angular: [N m s]. wind: (3,) velocity of the medium [m/s], world axes. gust: (3,) amplitude of
    an added velocity gust sin(2π t / period) [m/s]. period: of the gust [s].
    """

    linear: float = 0.0
    quadratic: float = 0.0
    angular: float = 0.0
    wind: Sequence[float] = _ZERO
    gust: Sequence[float] = _ZERO
    period: float = 1.0

    def _check(self, kind: str) -> None:
        for name in ('linear', 'quadratic', 'angular'):
            if getattr(self, name) < 0.0:
                raise InvalidValueError(name, getattr(self, name), 'a number of at least 0', kind)
        if self.period <= 0.0:
            raise InvalidValueError('period', self.period, 'a number above 0 [s]', kind)

    @property
    def gust_rate(self) -> float:
        """Angular frequency of the gust [rad/s]; 0 without one."""
        return 2.0 * math.pi / self.period if any(self.gust) else 0.0


@dataclass(frozen=True)
class Wrench(CheckedField):
    """
    Constant force and torque on a link, for instance by a towing line.

    force: (3,) [N]. torque: (3,) [N m]. point: (3,) its place in the link's frame [m].
    is_local: whether force and torque are in the link's axes and turn with it, else in the
    world's.
    """

    force: Sequence[float] = _ZERO
    torque: Sequence[float] = _ZERO
    point: Sequence[float] = _ZERO
    is_local: bool = False


FluidForce = Buoyancy | Hydrodynamics | LiftDrag | Rotor | Thruster
"""Fluid force on links with shapes, wings and propellers."""
PlacedForce = FluidForce | Wrench
"""Force at a place of a link."""
DeclaredField = UniformField | PointField | Drag | PointGravity | PlacedForce
"""Field without a Python function."""
ForceField = DeclaredField | ForceFunction


@dataclass(frozen=True)
class RobotField:
    """
    Field in a robot's description.

    name: unique on the robot. links: link names, () for all. line: in the file.
    """

    name: str
    field: DeclaredField
    links: tuple[str, ...] = ()
    line: int = 0


FIELD_KINDS: dict[str, type[Any]] = {
    'uniform': UniformField,
    'point': PointField,
    'drag': Drag,
    'point_gravity': PointGravity,
    'buoyancy': Buoyancy,
    'hydrodynamics': Hydrodynamics,
    'lift_drag': LiftDrag,
    'rotor': Rotor,
    'thruster': Thruster,
    'wrench': Wrench,
}
"""Declared fields, by their names in scenes and services."""


def checked_field(field: object, place: str) -> ForceField:
    """Return a field or a function; raise InvalidValueError for anything else."""
    if not isinstance(field, DeclaredField) and (isinstance(field, type) or not callable(field)):
        names = ', '.join(kind.__name__ for kind in FIELD_KINDS.values())
        raise InvalidValueError(
            'field',
            field,
            f'one of {names}, or a function f(position, velocity, mass, time) '
            'that returns a force',
            place,
        )
    return field


def name_of(function: object) -> str:
    """Return a function's qualified name."""
    kind = function if hasattr(function, '__qualname__') else type(function)
    return f'{kind.__module__}.{kind.__qualname__}'


def vector_from(function: object, subject: str, value: object, place: str) -> np.ndarray:
    """
    Return a user function's result as (3,) finite floats.

    Raises InvalidValueError for other results.
    """
    return finite_vector(
        subject, value, 3, place, f'three finite numbers returned by {name_of(function)}'
    )
