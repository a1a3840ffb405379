"""What line segments hit, between steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math
from typing import Any, NamedTuple, overload

import numpy as np

from sim_bridge.engine.collision.ray.cast import NORMAL, POINT, SHARE
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import is_floats, name_set, real_array, truth
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.ray_search import RaySearch, Struck
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.bodies import Body, numbers_of_all

_FARTHEST = 1e100  # whose square is still a number
_ALL = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class RayHit:
    """
    Where a segment hits a geometry first.

    point: (3,) [m], world. normal: (3,) unit, world: of the surface, outward, also where the
    segment comes from inside. distance: from the segment's start [m]. depth: from there to its
    end [m], AGX's depth of a line: (1 - t) |p1 - p0|.
    """

    geometry: Geometry
    point: np.ndarray
    normal: np.ndarray
    distance: float
    depth: float

    link = ReadOnly[Link]('geometry.link', 'The link that is hit.')
    robot = ReadOnly[Robot]('geometry.link.robot', 'The robot or body that is hit.')

    def __repr__(self) -> str:
        """Show what is hit, and how far away."""
        return (f'<RayHit: {self.geometry.link.robot.name}/{self.geometry.name}, '
                f'distance {self.distance:.6g} m>')


class _Kept(NamedTuple):
    """The arrays of `RayHits`."""

    rays: np.ndarray
    indices: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    distances: np.ndarray
    depths: np.ndarray


class RayHits(DeclaredAttributes, Sequence[RayHit | None]):
    """
    What many segments hit, as arrays, and as a sequence of `RayHit`, None for a miss.

    A row for each segment; with `every`, a row for each geometry on each of them, in order along
    it. In a row of a miss indices are -1, and floats nan.
    """

    __slots__ = ('_geometries', '_kept')

    rays = ReadOnly[np.ndarray]('_kept.rays', '(n,) numbers of the segments.')
    indices = ReadOnly[np.ndarray]('_kept.indices', '(n,) in `world.geometries`; -1: none.')
    points = ReadOnly[np.ndarray]('_kept.points', '(n, 3) [m], world.')
    normals = ReadOnly[np.ndarray]('_kept.normals', '(n, 3) of the surfaces, outward, world.')
    distances = ReadOnly[np.ndarray]('_kept.distances', '(n,) from the starts [m].')
    depths = ReadOnly[np.ndarray]('_kept.depths', '(n,) to the ends [m].')

    def __init__(self, geometries: Sequence[Geometry], kept: _Kept):
        """Keep hits of some geometries; `World` makes these."""
        self._geometries, self._kept = geometries, kept

    def __repr__(self) -> str:
        """Show the numbers."""
        hits = int((self.indices >= 0).sum())
        return f'<RayHits: {counted(hits, "hit")} in {counted(len(self), "row")}>'

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._kept.indices)

    @overload
    def __getitem__(self, row: int) -> RayHit | None: ...
    @overload
    def __getitem__(self, row: slice) -> RayHits: ...

    def __getitem__(self, row: Any) -> Any:
        """Return the hit of a row, None for a miss; of a slice, others of this kind."""
        if isinstance(row, slice):
            return RayHits(self._geometries, _Kept(*(array[row] for array in self._kept)))
        _, index, point, normal, distance, depth = (array[row] for array in self._kept)
        if index < 0:
            return None
        return RayHit(self._geometries[index], point, normal, float(distance), float(depth))


class RayQueries:
    """Queries of one world by segments, between steps."""

    def __init__(self, world: World, simulation: Simulation):
        """Ask about the geometries of a world."""
        self._world, self._simulation = world, simulation
        self._known: RaySearch | None = None
        self._geometries: Sequence[Geometry] = ()

    def first(
        self, p0: object, p1: object, *, groups: Iterable[str] | None,
        skip: Body | Iterable[Body], only: Body | Iterable[Body] | None, cull: bool,
        sensors: bool,
    ) -> RayHit | None:
        """Find what a segment hits first; as `World.raycast`."""
        (x, y, z), (a, b, c) = _point('p0', p0), _point('p1', p1)
        way = a - x, b - y, c - z
        index, hit = self._search().first(
            (x, y, z, *way), self._allowed(groups, skip, only), truth('cull', cull),
            truth('sensors', sensors))
        if index < 0:
            return None
        share, length = float(hit[SHARE]), math.sqrt(sum(d * d for d in way))
        return RayHit(self._geometries[index], hit[POINT:NORMAL], hit[NORMAL:], share * length,
                      (1.0 - share) * length)

    def cast(
        self, p0: object, p1: object, *, groups: Iterable[str] | None,
        skip: Body | Iterable[Body], only: Body | Iterable[Body] | None, cull: bool,
        sensors: bool, every: bool,
    ) -> RayHits:
        """Find what segments hit; as `World.raycasts`."""
        shape = '(n, 3) or (3,)'
        starts, ends = _points('p0', p0, shape), _points('p1', p1, shape)
        if starts.ndim == ends.ndim == 2 and len(starts) != len(ends):
            raise InvalidValueError('p1', f'{ends.shape} beside {starts.shape}', 'as many as p0')
        count = len(starts) if starts.ndim == 2 else len(np.atleast_2d(ends))
        segments = np.empty((count, 6))
        segments[:, :3], ways = starts, segments[:, 3:]
        np.subtract(ends, starts, out=ways)
        search = self._search()
        struck = (search.every if truth('every', every) else search.nearest)(
            segments, self._allowed(groups, skip, only), truth('cull', cull),
            truth('sensors', sensors))
        x, y, z = ways.T
        # in the order in which `first` adds, to have its bits
        return self._shown(struck, np.sqrt(x * x + y * y + z * z))

    def _search(self) -> RaySearch:
        """Return the search of the present geometries."""
        search = self._simulation.handles.rays
        if search is not self._known:
            self._known, self._geometries = search, self._world.geometries
        return search

    def _allowed(
        self, groups: Iterable[str] | None, skip: Body | Iterable[Body],
        only: Body | Iterable[Body] | None,
    ) -> np.ndarray:
        """Return (ng,) 1 for each geometry that may be hit; (0,) where all may."""
        if groups is None and only is None and isinstance(skip, tuple) and not skip:
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

    def _shown(self, struck: Struck, lengths: np.ndarray) -> RayHits:
        lengths = lengths[struck.rays]
        return RayHits(self._geometries, _Kept(
            struck.rays, struck.geometries, struck.points, struck.normals,
            struck.shares * lengths, (1.0 - struck.shares) * lengths))


def _point(name: str, value: Any) -> Sequence[float]:
    """Return a point (3,); raises InvalidValueError."""
    point = value.tolist() if is_floats(value, 3) else value
    # the usual case, in a tenth of the time of the checks for all others
    if type(point) in (tuple, list) and len(point) == 3 and all(
            type(each) in (float, int) and abs(each) <= _FARTHEST for each in point):
        return point
    points = _points(name, value, '(3,)')
    if points.ndim != 1:
        raise InvalidValueError(name, f'array of shape {points.shape}', '(3,)',
                                'raycast')
    return points.tolist()


def _points(name: str, value: object, shape: str) -> np.ndarray:
    """Return points (3,) or (n, 3); raises InvalidValueError."""
    expected = f'finite numbers of at most {_FARTHEST:g}, {shape} [m]'
    points = real_array(name, value, expected, 'raycast')
    if points.ndim not in (1, 2) or points.shape[-1] != 3:
        raise InvalidValueError(name, f'array of shape {points.shape}', expected, 'raycast')
    if not (np.abs(points) <= _FARTHEST).all():
        rows = np.atleast_2d(points)
        row = int(np.flatnonzero(~(np.abs(rows) <= _FARTHEST).all(axis=1))[0])
        where = f'{name}[{row}]' if points.ndim == 2 else name
        raise InvalidValueError(where, rows[row].tolist(), expected, 'raycast')
    return points
