"""Ray casts: line segment hits on geometries, between steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any, NoReturn, overload

import numpy as np

from sim_bridge.engine.collision.ray.cast import FARTHEST
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import name_set, real_array, truth
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.ray_search import options_of, RaySearch, Struck
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.thread_guard import guarded
from sim_bridge.world.bodies import Body, numbers_of_all

_ALL = np.zeros(0, np.int64)
_FLOAT = np.dtype(np.float64)
_NUMBERS = (float, int)
_EITHER = '(n, 3) or (3,)'


@dataclass(frozen=True, eq=False)
class RayHit:
    """
    A segment's first hit on a geometry.

    point: (3,) [m], world. normal: (3,) unit vector, world: outward surface normal, also for a
    segment from the inside. distance: from the segment's start [m]. depth: from the hit to the
    segment's end [m]; AGX's line depth, (1 - t) |p1 - p0|.
    """

    geometry: Geometry
    point: np.ndarray
    normal: np.ndarray
    distance: float
    depth: float

    link = ReadOnly[Link]('geometry.link', 'Link of the geometry.')
    robot = ReadOnly[Robot]('geometry.link.robot', 'Robot or body of the geometry.')

    def __repr__(self) -> str:
        """Show the geometry and the distance."""
        return (
            f'<RayHit: {self.geometry.link.robot.name}/{self.geometry.name}, '
            f'distance {self.distance:.6g} m>'
        )


class RayHits(DeclaredAttributes, Sequence[RayHit | None]):
    """
    Hits from many segments, as arrays, and as a sequence of `RayHit`, None for a miss.

    One row per segment; with `every`, one row per geometry hit by a segment, in the order along
    the segment. In the row of a miss, indices are -1 and floats nan.
    """

    __slots__ = ('_geometries', '_struck')

    rays = ReadOnly[np.ndarray]('_struck.rays', '(n,) segment indices.')
    indices = ReadOnly[np.ndarray]('_struck.geometries', '(n,) in `world.geometries`; -1: none.')
    points = ReadOnly[np.ndarray]('_struck.points', '(n, 3) hit points [m], world.')
    normals = ReadOnly[np.ndarray]('_struck.normals', '(n, 3) outward normals, world.')
    distances = ReadOnly[np.ndarray]('_struck.distances', '(n,) distances from the starts [m].')
    depths = ReadOnly[np.ndarray]('_struck.depths', '(n,) distances to the ends [m].')

    def __init__(self, geometries: Sequence[Geometry], struck: Struck):
        """Store hits on a world's geometries; only `World` calls this."""
        self._geometries, self._struck = geometries, struck

    def __repr__(self) -> str:
        """Show hit and row counts."""
        hits = int((self.indices >= 0).sum())
        return f'<RayHits: {counted(hits, "hit")} in {counted(len(self), "row")}>'

    def __len__(self) -> int:
        """Return the row count."""
        return len(self._struck.geometries)

    @overload
    def __getitem__(self, row: int) -> RayHit | None: ...
    @overload
    def __getitem__(self, row: slice) -> RayHits: ...

    def __getitem__(self, row: Any) -> Any:
        """Return a row's hit, None for a miss; for a slice, another `RayHits`."""
        if isinstance(row, slice):
            return RayHits(self._geometries, self._struck.taken(row))
        _, index, point, normal, distance, depth = (array[row] for array in self._struck)
        if index < 0:
            return None
        return RayHit(self._geometries[index], point, normal, float(distance), float(depth))


class RayQueries:
    """Ray queries in one world, between steps."""

    def __init__(self, world: World, simulation: Simulation):
        """Query a world's geometries."""
        self._world, self._simulation = world, simulation
        self._known: RaySearch | None = None
        self._geometries: Sequence[Geometry] = ()
        self._changes = -1

    @guarded
    def first(
        self,
        p0: object,
        p1: object,
        *,
        groups: Iterable[str] | None,
        skip: Body | Iterable[Body],
        only: Body | Iterable[Body] | None,
        cull: bool,
        sensors: bool,
    ) -> RayHit | None:
        """Find a segment's first hit; see `World.raycast`."""
        start, end = _point('p0', p0), _point('p1', p1)
        search, allowed = self._search(), self._allowed(groups, skip, only)
        options = 0 if cull is False is sensors else _options(cull, sensors)
        thread, guard = get_ident(), self._simulation.thread_guard
        before = guard.holder
        if before and before != thread:
            before = guard.admit()
        guard.holder = thread
        try:
            found = search.single.cast(start, end, allowed, options)
        finally:
            guard.holder = before
        if found is None:
            _refuse(p0, p1)
        index, point, normal, distance, depth = found
        if index < 0:
            return None
        return RayHit(self._geometries[index], point, normal, distance, depth)

    @guarded
    def cast(
        self,
        p0: object,
        p1: object,
        *,
        groups: Iterable[str] | None,
        skip: Body | Iterable[Body],
        only: Body | Iterable[Body] | None,
        cull: bool,
        sensors: bool,
        every: bool,
    ) -> RayHits:
        """Find the hits of segments; see `World.raycasts`."""
        starts, ends = _rows('p0', p0), _rows('p1', p1)
        if starts.ndim == ends.ndim == 2 and len(starts) != len(ends):
            raise InvalidValueError('p1', f'{ends.shape} beside {starts.shape}', 'as many as p0')
        count = len(starts) if starts.ndim == 2 else len(np.atleast_2d(ends))
        search, allowed = self._search(), self._allowed(groups, skip, only)
        find = search.every if truth('every', every) else search.nearest
        options = _options(cull, sensors)
        thread, guard = get_ident(), self._simulation.thread_guard
        before = guard.holder
        if before and before != thread:
            before = guard.admit()
        guard.holder = thread
        try:
            struck = find(starts.reshape(-1, 3), ends.reshape(-1, 3), count, allowed, options)
        finally:
            guard.holder = before
        if struck is None:
            _refuse(p0, p1)
        return RayHits(self._geometries, struck)

    def _search(self) -> RaySearch:
        """Return the search over the current geometries."""
        simulation = self._simulation
        search = simulation.cache.handles.rays
        if search is not self._known:
            self._known, self._geometries = search, self._world.geometries
        if simulation.staleness.changes != self._changes:
            search.forget()
            self._changes = simulation.staleness.changes
        return search

    def _allowed(
        self,
        groups: Iterable[str] | None,
        skip: Body | Iterable[Body],
        only: Body | Iterable[Body] | None,
    ) -> np.ndarray:
        """Return (ng,) 1 for each geometry that may be hit; (0,) if all may."""
        if groups is None and only is None and type(skip) is tuple and not skip:
            return _ALL
        skipped, geometries = numbers_of_all('skip', skip, self._world), self._geometries
        allowed = np.ones(len(geometries), np.int64)
        if only is not None:
            allowed[:] = 0
            allowed[numbers_of_all('only', only, self._world)] = 1
        if groups is not None:
            names = name_set('groups', groups, 'raycast')
            allowed[[names.isdisjoint(geometry.groups) for geometry in geometries]] = 0
        allowed[skipped] = 0
        return allowed


def _options(cull: object, sensors: object) -> int:
    return options_of(truth('cull', cull), truth('sensors', sensors))


def _point(name: str, value: Any) -> Sequence[float]:
    """Return a point (3,), without a distance check; raise InvalidValueError otherwise."""
    point = value
    if type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == (3,):
        point = value.tolist()
    # the usual case, ten times as fast as the general checks
    if type(point) in (list, tuple) and len(point) == 3:
        x, y, z = point
        if type(x) in _NUMBERS and type(y) in _NUMBERS and type(z) in _NUMBERS:
            return point
    points = _points(name, value, '(3,)')
    if points.ndim != 1:
        raise InvalidValueError(name, f'array of shape {points.shape}', '(3,)', 'raycast')
    return points.tolist()


def _rows(name: str, value: Any) -> FloatArray:
    """Return points (3,) or (n, 3), without a distance check; raise otherwise."""
    if (
        type(value) is np.ndarray
        and value.dtype is _FLOAT
        and value.ndim == 2
        and value.shape[1] == 3
        and value.flags.c_contiguous
    ):
        return value
    return _points(name, value, _EITHER)


def _refuse(p0: object, p1: object) -> NoReturn:
    """Raise InvalidValueError for the first point beyond the largest coordinate."""
    _points('p0', p0, _EITHER)
    _points('p1', p1, _EITHER)
    raise AssertionError('points were refused for no reason')


def _points(name: str, value: object, shape: str) -> FloatArray:
    """Return points (3,) or (n, 3); raise InvalidValueError otherwise."""
    expected = f'finite numbers of at most {FARTHEST:g}, {shape} [m]'
    points = real_array(name, value, expected, 'raycast')
    if points.ndim not in (1, 2) or points.shape[-1] != 3:
        raise InvalidValueError(name, f'array of shape {points.shape}', expected, 'raycast')
    if not (np.abs(points) <= FARTHEST).all():
        rows = np.atleast_2d(points)
        row = int(np.flatnonzero(~(np.abs(rows) <= FARTHEST).all(axis=1))[0])
        where = f'{name}[{row}]' if points.ndim == 2 else name
        raise InvalidValueError(where, rows[row].tolist(), expected, 'raycast')
    return np.ascontiguousarray(points)
