"""Force fields as plain data, which a world can step without Python, save and replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import math
from typing import Any

import numpy as np

from sim_bridge.description.field_values import CheckedField
from sim_bridge.description.flows import BoxFlow, EllipsoidFlow
from sim_bridge.description.fluid_forces import (
    AdvancedLiftDrag,
    Buoyancy,
    BuoyancyEngine,
    Hydrodynamics,
    LiftDrag,
    Rotor,
    Thruster,
)
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
class Wind(CheckedField):
    """
    The world's wind, with first-order changes and gusts; after gz-sim's WindEffects.

    Rotors, LiftDrag and AdvancedLiftDrag of all robots feel it. Links get the force m rate
    (wind - v) at their centres of mass: the links of the field, by default all links with
    `enable_wind`. From `start` at the time `since`, horizontal speed, horizontal direction and
    vertical speed approach `velocity` with their time constants. The speed is multiplied by
    1 + gust sin(2π t / gust_period), the direction turned by swing sin(2π t / swing_period).

    velocity: (3,) [m/s], world axes. rate: [1/s]. rise_time, turn_time, vertical_rise_time: time
    constants [s]; 0: at once. gust: share of the speed. swing: [rad]. gust_period, swing_period:
    [s]. start: (3,) [m/s]. since: world time [s].
    """

    velocity: Sequence[float] = _ZERO
    rate: float = 1.0
    rise_time: float = 0.0
    turn_time: float = 0.0
    vertical_rise_time: float = 0.0
    gust: float = 0.0
    gust_period: float = 1.0
    swing: float = 0.0
    swing_period: float = 1.0
    start: Sequence[float] = _ZERO
    since: float = 0.0

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'rate', 'rise_time', 'turn_time', 'vertical_rise_time')
        for name in ('gust_period', 'swing_period'):
            if getattr(self, name) <= 0.0:
                raise InvalidValueError(name, getattr(self, name), 'a number above 0 [s]', kind)

    @property
    def final(self) -> tuple[float, float, float]:
        """Horizontal speed [m/s], direction [rad] and vertical speed [m/s] of `velocity`."""
        x, y, z = self.velocity
        # a wind that calms keeps its direction
        x_d, y_d, _ = self.velocity if x or y else self.start
        return math.hypot(x, y), math.atan2(y_d, x_d), z

    @property
    def offsets(self) -> tuple[float, float, float]:
        """The same at the time `since`, less the final ones."""
        speed, direction, rise = self.final
        x, y, z = self.start
        turn = math.atan2(y, x) - direction if x or y else 0.0
        return math.hypot(x, y) - speed, math.remainder(turn, 2.0 * math.pi), z - rise

    def mean_at(self, time: float) -> tuple[float, float, float]:
        """Return the velocity without gusts at a world time [m/s]."""
        passed = max(time - self.since, 0.0)
        constants = self.rise_time, self.turn_time, self.vertical_rise_time
        speed, angle, rise = (
            last + (offset * math.exp(-passed / constant) if constant > 0.0 else 0.0)
            for last, offset, constant in zip(self.final, self.offsets, constants, strict=True)
        )
        return speed * math.cos(angle), speed * math.sin(angle), rise

    def velocity_at(self, time: float) -> tuple[float, float, float]:
        """Return the velocity at a world time [m/s]."""
        x, y, z = self.mean_at(time)
        share = 1.0 + self.gust * math.sin(2.0 * math.pi * time / self.gust_period)
        angle = self.swing * math.sin(2.0 * math.pi * time / self.swing_period)
        c, s = share * math.cos(angle), share * math.sin(angle)
        return c * x - s * y, s * x + c * y, z

    def turned_to(self, velocity: Sequence[float], time: float) -> Wind:
        """Return the wind with another final velocity [m/s] from a world time on [s]."""
        return replace(self, velocity=velocity, start=self.mean_at(time), since=time)


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


FluidForce = (
    AdvancedLiftDrag | Buoyancy | BuoyancyEngine | Hydrodynamics | LiftDrag | Rotor | Thruster
)
"""Fluid force on links with shapes, wings and propellers."""
PlacedForce = FluidForce | Wrench | BoxFlow | EllipsoidFlow
"""Force at a place of a link."""
DeclaredField = UniformField | PointField | Drag | Wind | PointGravity | PlacedForce
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
    'wind': Wind,
    'advanced_lift_drag': AdvancedLiftDrag,
    'box_flow': BoxFlow,
    'buoyancy': Buoyancy,
    'buoyancy_engine': BuoyancyEngine,
    'ellipsoid_flow': EllipsoidFlow,
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
