"""The line: a segment that reports what it meets, after AGX's line shape."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import ClassVar, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data import geometry as engine
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.shapes.shapes import MassProperties, Shape

_LONGEST = 1e100  # m, whose square is still a number


@dataclass(frozen=True)
class Line(Shape):
    """
    A segment from `start` to `end` (3,) [m], which is always a sensor, and has no mass.

    Each geometry that it meets has one contact with it: the point where the line, continued
    backwards beyond its start, enters a convex shape; where it first crosses the surface of any
    other. The normal is that of the surface, the depth the way from the point to the end. What it
    is wholly inside of is met if it is convex. Lines meet where they cross, with depth 0.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    kind: ClassVar[int] = engine.HULL

    if TYPE_CHECKING:

        def __init__(self, start: Vector, end: Vector) -> None: ...

    def __post_init__(self) -> None:
        """Check the ends; raises InvalidValueError."""
        for name in ('start', 'end'):
            vector = finite_vector(name, getattr(self, name), 3, 'Line', '3 finite numbers [m]')
            object.__setattr__(self, name, tuple(vector.tolist()))
        if not 0.0 < math.dist(self.start, self.end) <= _LONGEST:
            raise InvalidValueError(
                'end', self.end, f'a point apart from the start, {_LONGEST:g} m at most', 'Line'
            )

    @property
    def ends(self) -> FloatArray:
        """(2, 3) start and end [m]."""
        return np.array([self.start, self.end])

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Zeros: its ends describe it."""
        return 0.0, 0.0, 0.0

    @property
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates [m]."""
        return np.sort(self.ends, axis=0)

    @property
    def is_sensor(self) -> bool:
        """True."""
        return True

    def mass_properties(self, density: float) -> MassProperties:
        """Raise InvalidValueError: a line has no volume."""
        raise InvalidValueError('shape', self, 'one of some volume, where a mass is asked for')
