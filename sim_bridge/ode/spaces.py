"""Spaces: geoms whose near pairs are found together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode.geoms import GeomObject

Near = Callable[[Any, GeomObject, GeomObject], Any]
"""What is called with an argument and two geoms that may touch."""


class SpaceBase(GeomObject):
    """A space of geoms and other spaces."""

    is_space = True

    def __init__(self, space: Any = None) -> None:
        """Make an empty one, inside another if that is given."""
        if type(self) is SpaceBase:
            raise NotImplementedError("SpaceBase can't be used directly")
        self._geoms: weakref.WeakValueDictionary[int, GeomObject] = weakref.WeakValueDictionary()
        super().__init__(space)

    def placeable(self) -> bool:
        """Return False."""
        return False

    def __len__(self) -> int:
        """Return the number of geoms."""
        return len(self._geoms)

    def __iter__(self) -> Iterator[GeomObject]:
        """Iterate over the geoms."""
        return iter(list(self._geoms.values()))

    def __bool__(self) -> bool:
        """Return True, for an empty one too."""
        return True

    def add(self, geom: GeomObject) -> None:
        """Add a geom; nothing happens if it is there."""
        if not isinstance(geom, GeomObject) or geom is self:
            raise InvalidValueError('geom', geom, 'a geom', type(self).__name__)
        if geom.space is not None and geom.space is not self:
            raise InvalidValueError('geom', geom, 'one in no other space', type(self).__name__)
        self._geoms[geom.number] = geom
        geom.space = self

    def remove(self, geom: GeomObject) -> None:
        """Remove a geom."""
        if self._geoms.pop(getattr(geom, 'number', -1), None) is None:
            raise InvalidValueError('geom', geom, 'a geom of this space', type(self).__name__)
        geom.space = None

    def query(self, geom: GeomObject) -> bool:
        """Return whether a geom is in it."""
        return self._geoms.get(geom.number) is geom

    def getNumGeoms(self) -> int:
        """Return the number of geoms."""
        return len(self)

    def getGeom(self, idx: int) -> GeomObject:
        """Return a geom by its number."""
        geoms = list(self)
        if not 0 <= idx < len(geoms):
            raise IndexError(f'idx is {idx!r}; expected 0 to {len(geoms) - 1}')
        return geoms[idx]

    def collide(self, arg: Any, callback: Near) -> None:
        """Call back with each pair of geoms whose bounds overlap and whose bits allow it."""
        geoms = list(self)
        bounds = bounds_of(geoms)
        for at, geom in enumerate(geoms):
            for other in np.flatnonzero(_overlap(bounds[at], bounds[:at])):
                if geoms[other].may_meet(geom):
                    callback(arg, geoms[other], geom)

    def getAABB(self) -> tuple[float, float, float, float, float, float]:
        """Return the bounds of all geoms."""
        bounds = bounds_of(list(self))
        if not len(bounds):
            return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        low, high = bounds[:, ::2].min(axis=0).tolist(), bounds[:, 1::2].max(axis=0).tolist()
        return low[0], high[0], low[1], high[1], low[2], high[2]


class SimpleSpace(SpaceBase):
    """A space; all kinds find pairs by their bounds alike."""


class HashSpace(SpaceBase):
    """A space with levels, which do not matter here."""

    _levels = (-3, 10)

    def setLevels(self, minlevel: int, maxlevel: int) -> None:
        """Note the levels."""
        if minlevel > maxlevel:
            raise ValueError(f'minlevel ({minlevel}) must be at most maxlevel ({maxlevel})')
        self._levels = minlevel, maxlevel

    def getLevels(self) -> tuple[int, int]:
        """Return the levels."""
        return self._levels


class QuadTreeSpace(SpaceBase):
    """A space with dimensions, which do not matter here."""

    def __init__(self, center: Vector, extents: Vector, depth: int, space: Any = None) -> None:
        """Make an empty one."""
        super().__init__(space)
        self.dimensions = center, extents, depth


def Space(space_type: int = 0) -> SpaceBase:
    """Return a SimpleSpace (0) or a HashSpace (1)."""
    if space_type not in (0, 1):
        raise ValueError(f'space_type is {space_type!r}; expected 0 or 1')
    return HashSpace() if space_type else SimpleSpace()


def bounds_of(geoms: list[GeomObject]) -> FloatArray:
    """Return (n, 6) the bounds of geoms."""
    return np.array([geom.getAABB() for geom in geoms]).reshape(-1, 6)


def _overlap(one: FloatArray, others: FloatArray) -> np.ndarray:
    return np.asarray(
        ((one[::2] <= others[:, 1::2]) & (others[:, ::2] <= one[1::2])).all(axis=1))


def collide2(geom1: GeomObject, geom2: GeomObject, arg: Any, callback: Near) -> None:
    """Call back with each pair of a geom of one space, or one geom, and one of another."""
    sides = [list(geom) if isinstance(geom, SpaceBase) else [geom] for geom in (geom1, geom2)]
    bounds = [bounds_of(side) for side in sides]
    for at, geom in enumerate(sides[0]):
        for other in np.flatnonzero(_overlap(bounds[0][at], bounds[1])):
            beside = sides[1][other]
            if geom is not beside and geom.may_meet(beside):
                callback(arg, geom, beside)
