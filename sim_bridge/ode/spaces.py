"""Spaces: sets of geoms with a common broad phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode.collide import find_together
from sim_bridge.ode.geoms import GeomObject
from sim_bridge.ode.world import World

Near = Callable[[Any, GeomObject, GeomObject], Any]
"""Callback; arguments: the user's argument and two geoms that may touch."""
_BLOCK = 128  # rows compared in one block


class SpaceBase(GeomObject):
    """Set of geoms and other spaces."""

    is_space = True

    def __init__(self, space: Any = None) -> None:
        """Create an empty space, inside another if one is given."""
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
        """Return True, even for an empty space."""
        return True

    def add(self, geom: GeomObject) -> None:
        """Add a geom; a geom already in this space stays."""
        if not isinstance(geom, GeomObject) or geom is self:
            raise InvalidValueError('geom', geom, 'a geom', type(self).__name__)
        if geom.space is not None and geom.space is not self:
            raise InvalidValueError('geom', geom, 'a geom in no other space', type(self).__name__)
        self._geoms[geom.number] = geom
        geom.space = self

    def remove(self, geom: GeomObject) -> None:
        """Remove a geom."""
        if self._geoms.pop(getattr(geom, 'number', -1), None) is None:
            raise InvalidValueError('geom', geom, 'a geom of this space', type(self).__name__)
        geom.space = None

    def query(self, geom: GeomObject) -> bool:
        """Return whether a geom is in this space."""
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
        """Call back with each geom pair if bounds overlap and bits allow a collision."""
        geoms = list(self)
        _meet(
            [
                (geoms[other], geoms[at])
                for at, other in _overlaps_within(bounds_of(geoms))
                if geoms[other].may_meet(geoms[at])
            ],
            arg,
            callback,
        )

    def getAABB(self) -> tuple[float, float, float, float, float, float]:
        """Return the bounds around all geoms."""
        bounds = bounds_of(list(self))
        if not len(bounds):
            return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        low, high = bounds[:, ::2].min(axis=0).tolist(), bounds[:, 1::2].max(axis=0).tolist()
        return low[0], high[0], low[1], high[1], low[2], high[2]


class SimpleSpace(SpaceBase):
    """Space; all space types find pairs in the same way."""


class HashSpace(SpaceBase):
    """Space with levels; they have no effect here."""

    _levels = (-3, 10)

    def setLevels(self, minlevel: int, maxlevel: int) -> None:
        """Store the levels."""
        if minlevel > maxlevel:
            raise ValueError(f'minlevel ({minlevel}) must be at most maxlevel ({maxlevel})')
        self._levels = minlevel, maxlevel

    def getLevels(self) -> tuple[int, int]:
        """Return the levels."""
        return self._levels


class SweepAndPruneSpace(SpaceBase):
    """Space with an axis order; it has no effect here."""

    def __init__(self, axisorder: int = 0, space: Any = None) -> None:
        """Create an empty space."""
        super().__init__(space)
        self.axisorder = axisorder


class QuadTreeSpace(SpaceBase):
    """Space with dimensions; they have no effect here."""

    def __init__(self, center: Vector, extents: Vector, depth: int, space: Any = None) -> None:
        """Create an empty space."""
        super().__init__(space)
        self.dimensions = center, extents, depth


def Space(space_type: int = 0) -> SpaceBase:
    """Return a SimpleSpace (0) or a HashSpace (1)."""
    if space_type not in (0, 1):
        raise ValueError(f'space_type is {space_type!r}; expected 0 or 1')
    return HashSpace() if space_type else SimpleSpace()


def bounds_of(geoms: list[GeomObject]) -> FloatArray:
    """Return the bounds (n, 6) of geoms: least and greatest x, y and z [m]."""
    rows = np.empty((len(geoms), 6))
    on_bodies: dict[World, list[int]] = {}
    for number, geom in enumerate(geoms):
        if geom.body is None or geom.shape() is None:
            rows[number] = geom.getAABB()
        else:
            on_bodies.setdefault(geom.body.world, []).append(number)
    for world, numbers in on_bodies.items():
        # one call for all bounds in a world
        world.sync()
        boxes = world.engine.simulation.cache.handles.search.boxes()
        at = [geoms[number].geometry_in(world).index for number in numbers]
        rows[numbers] = boxes[at].reshape(-1, 2, 3).transpose(0, 2, 1).reshape(-1, 6)
    return rows


def _overlaps(ones: FloatArray, others: FloatArray) -> list[list[int]]:
    """Return the row pairs with overlapping bounds, in ascending order."""
    pairs: list[list[int]] = []
    for first in range(0, len(ones), _BLOCK):
        block = ones[first : first + _BLOCK]
        is_near = np.ones((len(block), len(others)), bool)
        for low in (0, 2, 4):
            is_near &= block[:, low, None] <= others[:, low + 1]
            is_near &= others[:, low] <= block[:, low + 1, None]
        pairs += (np.argwhere(is_near) + (first, 0)).tolist()
    return pairs


def _overlaps_within(bounds: FloatArray) -> list[list[int]]:
    """Return the row pairs with overlapping bounds, greater row first, ascending."""
    order = np.argsort(bounds[:, 0], kind='stable')
    row = bounds[order]
    # rows are sorted by their lower x: the rows up to `ends` overlap this row along x
    ends = np.maximum(np.searchsorted(row[:, 0], row[:, 1], 'right'), np.arange(len(row)) + 1)
    counts = ends - np.arange(1, len(row) + 1)
    first = np.repeat(np.arange(len(row)), counts)
    second = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts) + first + 1
    is_near = np.ones(len(first), bool)
    for low in (2, 4):
        is_near &= row[first, low] <= row[second, low + 1]
        is_near &= row[second, low] <= row[first, low + 1]
    pairs = order[np.column_stack((first, second))[is_near]]
    pairs = np.column_stack((pairs.max(axis=1), pairs.min(axis=1)))
    found: list[list[int]] = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].tolist()
    return found


def _meet(pairs: list[tuple[GeomObject, GeomObject]], arg: Any, callback: Near) -> None:
    """Call back with pairs; their contacts are found together in advance."""
    worlds = find_together([pair for pair in pairs if not (pair[0].is_space or pair[1].is_space)])
    try:
        for one, other in pairs:
            callback(arg, one, other)
    finally:
        for world in worlds:
            world.found.clear()


def collide2(geom1: GeomObject, geom2: GeomObject, arg: Any, callback: Near) -> None:
    """Call back with each pair between two spaces, or a geom and a space."""
    for what, geom in (('geom1', geom1), ('geom2', geom2)):
        if not isinstance(geom, GeomObject):
            raise InvalidValueError(what, geom, 'a geom or a space', 'collide2')
    sides = [list(geom) if isinstance(geom, SpaceBase) else [geom] for geom in (geom1, geom2)]
    bounds = [bounds_of(side) for side in sides]
    near = [(sides[0][at], sides[1][other]) for at, other in _overlaps(*bounds)]
    _meet(
        [(one, other) for one, other in near if one is not other and one.may_meet(other)],
        arg,
        callback,
    )
