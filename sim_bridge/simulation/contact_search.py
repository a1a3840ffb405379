"""Contact points and distances between a world's geometries, between steps."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.collision.broad.filters import is_closed
from sim_bridge.engine.collision.probe import (
    bound,
    measure_convex_pairs,
    measure_hollow_pairs,
    measure_pairs,
)
from sim_bridge.engine.collision.search import mark_collidable, search_near, search_pairs
from sim_bridge.engine.collision.stage import (
    DETECT_CONVEX,
    DETECT_HOLLOW,
    DETECT_LINE,
    DETECT_SURFACE,
)
from sim_bridge.engine.data.collision_scratch import (
    CollisionScratch,
    make_collision_scratch,
    PairCount,
)
from sim_bridge.engine.data.contact_points import Contacts, make_contacts
from sim_bridge.engine.data.contact_problem import make_problem
from sim_bridge.engine.data.geometry import Geometry, HEIGHT_FIELD, HOLLOW, LINE, MESH, PLANE
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.data.world_table import Handle

MOST_POINTS = 64
"""Most contact points in one pair; more are reduced to those farthest apart."""
_LEAST_ROOM = 256  # for points, and pairs


class FoundPoints(NamedTuple):
    """
    Points in geometry pairs. pairs: (n, 2) numbers, the lower first.

    points_a, points_b: (n, 3) on each surface [m], world. normals: (n, 3) from b to a.
    gaps: (n,) signed distances along the normals [m]; for lines minus the depth
    along them.
    """

    pairs: np.ndarray
    points_a: np.ndarray
    points_b: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray


class ContactSearch:
    """Queries about the geometries behind a handle, in the present state, in separate scratch."""

    def __init__(self, probe: Handle):
        """Search among the geometries in a handle; its arrays are used in place."""
        self._probe = probe

    def near(self, margin: float, most_points: int = MOST_POINTS) -> FoundPoints:
        """
        Find the points in all pairs allowed to collide in a step, up to a gap `margin` [m].

        most_points: limit for each pair.
        """
        if len(self._geometry.shape) < 2:
            return _points_of(make_contacts(0), 0, self._geometry)
        while True:
            scratch = self._handle.part(CollisionScratch)
            scratch.most_points[0] = most_points
            count = search_near(self._handle, margin)
            scratch.most_points[0] = MOST_POINTS
            if count >= 0:
                return _points_of(self._handle.part(Contacts), count, self._geometry)
            self._make_room(int(scratch.counts[PairCount.FOUND]))

    def between(self, pairs: np.ndarray, margin: float) -> FoundPoints:
        """Find the points in geometry pairs (n, 2), the lower number first."""
        if not len(pairs):
            return _points_of(make_contacts(0), 0, self._geometry)
        self._make_room(len(pairs), least_points=0)
        while True:
            count = search_pairs(self._handle, pairs, margin)
            if count >= 0:
                return _points_of(self._handle.part(Contacts), count, self._geometry)
            self._make_room(len(pairs))

    def distances(self, pairs: np.ndarray) -> FoundPoints:
        """Return each pair's (n, 2) nearest points, or the deepest."""
        measured = np.empty((len(pairs), 10))
        if len(pairs):
            measurer_of(self._geometry.shape[pairs])(self._handle, pairs, measured)
        return FoundPoints(
            pairs, measured[:, 1:4], measured[:, 4:7], measured[:, 7:], measured[:, 0]
        )

    def boxes(self) -> np.ndarray:
        """Return (ng, 6) least and greatest corners for the boxes around all geometries [m]."""
        bound(self._probe)
        return self._probe.part(CollisionScratch).box.copy()

    def collidable(self, pairs: np.ndarray) -> np.ndarray:
        """Return (n,) whether pairs (n, 2) may collide in a step."""
        marks = np.zeros(len(pairs), np.int64)
        if len(pairs):
            mark_collidable(self._probe, pairs, marks)
        return marks.astype(bool)

    def measurable(self, pairs: np.ndarray) -> np.ndarray:
        """Return (n,) whether pairs (n, 2) have a distance: not two planes or height fields."""
        return ~np.isin(self._geometry.shape, (PLANE, HEIGHT_FIELD))[pairs].all(axis=1)

    @property
    def _geometry(self) -> Geometry:
        return self._probe.part(Geometry)

    @cached_property
    def _handle(self) -> Handle:
        """The handle with own scratch, and the stages for its geometries."""
        is_line = (self._geometry.flags & LINE) != 0
        shapes = np.unique(self._geometry.shape[~is_line])
        stages: dict[str, Stage] = {'detect_line': DETECT_LINE} if is_line.any() else {}
        if any(not is_closed(a, b) for a in shapes for b in shapes if PLANE < max(a, b) < MESH):
            stages['detect_convex'] = DETECT_CONVEX
        if ((shapes >= MESH) & (shapes != HOLLOW)).any():
            stages['detect_surface'] = DETECT_SURFACE
        if HOLLOW in shapes:
            stages['detect_hollow'] = DETECT_HOLLOW
        options = self._probe.part(Options)._replace(
            **{field: stage.address for field, stage in stages.items()}
        )
        model = self._probe.part(Model)
        return self._probe.replaced(
            options, make_workspace(model), *make_problem(model, 0, 0), *self._scratch(0, 0)
        )

    def _scratch(self, points: int, pairs: int) -> tuple[CollisionScratch, Contacts]:
        points, pairs = max(points, _LEAST_ROOM), max(pairs, _LEAST_ROOM)
        return (
            make_collision_scratch(self._geometry, points, pairs, MOST_POINTS),
            make_contacts(points),
        )

    def _make_room(self, pairs: int, least_points: int | None = None) -> None:
        """
        Make room for pairs, and for at least this number of points.

        None: for twice as many points if the pairs had room; the overflow is known only then.
        """
        points = len(self._handle.part(Contacts).gap)
        room = len(self._handle.part(CollisionScratch).found) - 1
        grown = max(pairs, 2 * room) if pairs > room else room
        wanted = least_points
        if wanted is None:
            wanted = 0 if grown > room else 2 * points
        if grown > room or wanted > points:
            self.__dict__['_handle'] = self._handle.replaced(
                *self._scratch(max(points, wanted), grown)
            )


def measurer_of(shapes: np.ndarray) -> Entry:
    """Return the entry with the least code for pairs with these shapes."""
    if (shapes == HOLLOW).any():
        return measure_hollow_pairs
    return measure_convex_pairs if (shapes < MESH).all() else measure_pairs


def _points_of(contacts: Contacts, count: int, geometry: Geometry) -> FoundPoints:
    """Copy the first points from an array with contacts between geometries."""
    normals, gaps = contacts.normal[:count].copy(), contacts.gap[:count].copy()
    pairs, middle, half = contacts.geometry[:count].copy(), contacts.point[:count], 0.5 * gaps
    # a line has the one point on it, and a depth off the normal
    half[(geometry.flags[pairs] & LINE).any(axis=1)] = 0.0
    half = half[:, None] * normals
    return FoundPoints(pairs, middle + half, middle - half, normals, gaps)
