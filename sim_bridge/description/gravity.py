"""Gravity in a world: uniform, or towards a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector

GREATEST_GRAVITY = 1e9
"""Bound for each component of uniform gravity [m/s²]: far from overflow, and from any planet."""
_VECTOR = (
    f'three numbers of at most {GREATEST_GRAVITY:g} [m/s²], a function of the position, or a '
    'PointGravity'
)


@dataclass(frozen=True)
class PointGravity:
    """
    Gravity towards a point: -strength rⁿ along the unit vector away from it, at a distance r.

    It acts on every link at its centre of mass, and is 0 at the point itself. Exponents: 0 gives
    a constant magnitude, -2 the gravity of a planet with strength μ, 1 a spring.

    center: (3,) [m], world axes. strength: at a distance of 1 m [m/s²]; negative: away from the
    point. exponent: n. Raises InvalidValueError for values that are not finite.
    """

    center: Sequence[float] = (0.0, 0.0, 0.0)
    strength: float = 9.80665
    exponent: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        center = finite_vector('center', self.center, 3, 'PointGravity')
        object.__setattr__(self, 'center', tuple(center.tolist()))
        for name in ('strength', 'exponent'):
            number = finite_number(name, getattr(self, name), 'PointGravity')
            object.__setattr__(self, name, number)


GravityFunction = Callable[[FloatArray], Vector]
"""Position (3,) [m] → acceleration of free fall (3,) [m/s²]."""
Gravity = Sequence[float] | np.ndarray | PointGravity
"""(3,) uniform [m/s²], or towards a point."""
AnyGravity = Gravity | GravityFunction
"""Gravity for a world in a program: also a function, which a file cannot describe."""


def gravity_row(gravity: AnyGravity) -> np.ndarray:
    """
    Return (8,) gravity for the engine's Model, zeros for a function.

    Raises InvalidValueError.
    """
    if callable(gravity) and not isinstance(gravity, type):
        return np.zeros(8)
    if isinstance(gravity, PointGravity):
        return np.array((0.0, 0.0, 0.0, *gravity.center, gravity.strength, gravity.exponent))
    vector = finite_vector('gravity', gravity, 3, '', _VECTOR)
    if np.abs(vector).max() > GREATEST_GRAVITY:
        raise InvalidValueError('gravity', vector.tolist(), _VECTOR)
    return np.concatenate([vector, np.zeros(5)])


def gravity_of(row: np.ndarray) -> np.ndarray | PointGravity:
    """Return a row's gravity; uniform gravity is a view of the row."""
    if row[6] == 0.0:
        return row[:3]
    return PointGravity(tuple(row[3:6].tolist()), float(row[6]), float(row[7]))
