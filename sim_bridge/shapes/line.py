"""Line shape: a segment that reports contacts, after AGX's line shape."""

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

_LONGEST = 1e100  # m; the square must not overflow


@dataclass(frozen=True)
class Line(Shape):
    """
    Segment from `start` to `end` (3,) [m]; always a sensor, without mass.

    Each geometry has at most one contact with the line. On a convex shape, the contact point is
    the point where the line, extended backwards beyond its start, enters the shape. On any other
    shape, it is the first crossing of the surface. The normal is the surface normal; the depth is
    the distance from the point to the end. A convex shape that contains the whole line also has a
    contact; a non-convex one has none. Two crossing lines have a contact with depth 0.
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
                'end', self.end, f'a point apart from the start, at most {_LONGEST:g} m', 'Line'
            )

    @property
    def ends(self) -> FloatArray:
        """(2, 3) start and end [m]."""
        return np.array([self.start, self.end])

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Size numbers for the engine: zeros, because the ends describe the shape."""
        return 0.0, 0.0, 0.0

    @property
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates [m]."""
        return np.sort(self.ends, axis=0)

    @property
    def is_sensor(self) -> bool:
        """Always True."""
        return True

    def mass_properties(self, density: float) -> MassProperties:
        """Raise InvalidValueError: a line has no volume."""
        raise InvalidValueError('shape', self, 'a shape with a volume, to compute a mass')
