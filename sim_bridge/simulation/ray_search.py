"""Line segments against a world's geometries between steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.collision.ray.cast import (
    cast_all,
    cast_nearest,
    CULLED,
    HIT_SIZE,
    NORMAL,
    POINT,
    SENSORS,
    SHARE,
)
from sim_bridge.engine.data.collision_scratch import make_collision_scratch
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.data.world_table import Handle

# places of arguments of `cast_nearest`
_ALLOWED, _OPTIONS = 2, 3
_EACH = 4
"""Geometries on a segment that there is room for at first."""


class Struck(NamedTuple):
    """
    What segments hit, row by row. rays: (m,) numbers of segments. geometries: (m,), -1 for none.

    shares: (m,) of the way from start to end. points: (m, 3) [m], normals: (m, 3), world.
    """

    rays: np.ndarray
    geometries: np.ndarray
    shares: np.ndarray
    points: np.ndarray
    normals: np.ndarray


class RaySearch:
    """Casts segments at the geometries behind a handle, at the present state, in own scratch."""

    def __init__(self, probe: Handle):
        """Search among the geometries of a handle, whose arrays are used in place."""
        self._probe = probe
        self._allowed = np.zeros(0, np.int64)

    def first(
        self, segment: Sequence[float], allowed: np.ndarray, is_culled: bool, sees_sensors: bool
    ) -> tuple[int, np.ndarray]:
        """
        Find what one segment hits first, at less cost than `nearest`.

        segment: start and way [m]. Returns the geometry, -1 for none, and a new row of hits.
        """
        call, segments, found, hit, at = self._first
        segments[0] = segment
        if allowed is not self._allowed:
            call.replace(_ALLOWED, allowed)
            self._allowed = allowed
        call.words[at] = _options(is_culled, sees_sensors)
        call()
        return int(found[0]), hit[0].copy()

    @cached_property
    def _first(self) -> tuple[Call, np.ndarray, np.ndarray, np.ndarray, int]:
        """The call for one segment, its arrays, and where its options are."""
        segments, found, hit = np.zeros((1, 6)), np.zeros(1, np.int64), np.zeros((1, HIT_SIZE))
        call = cast_nearest.prepare(self.handle, segments, self._allowed, 0, found, hit)
        return call, segments, found, hit, call.word_of(_OPTIONS)

    def nearest(
        self, segments: np.ndarray, allowed: np.ndarray, is_culled: bool, sees_sensors: bool
    ) -> Struck:
        """
        Find what each segment hits first.

        segments: (n, 6) start and way [m]. allowed: (ng,) 0 for geometries that are passed, or
        (0,). is_culled: whether segments leave geometries unnoticed.
        """
        count = len(segments)
        found, hit = np.zeros(count, np.int64), np.zeros((count, HIT_SIZE))
        cast_nearest(
            self.handle, segments, allowed, _options(is_culled, sees_sensors), found, hit)
        return _struck(np.arange(count), found, hit)

    def every(
        self, segments: np.ndarray, allowed: np.ndarray, is_culled: bool, sees_sensors: bool
    ) -> Struck:
        """Find all that each segment hits, in order along it; as `nearest`."""
        options = _options(is_culled, sees_sensors)
        room = _EACH * len(segments)
        while True:
            found, hit = np.zeros((room, 2), np.int64), np.zeros((room, HIT_SIZE))
            count = cast_all(self.handle, segments, allowed, options, found, hit)
            if count <= room:
                break
            room = count
        found, hit = found[:count], hit[:count]
        order = np.lexsort((found[:, 1], hit[:, SHARE], found[:, 0]))
        return _struck(found[order, 0], found[order, 1], hit[order])

    @cached_property
    def handle(self) -> Handle:
        """The handle with own scratch."""
        model, geometry = self._probe.part(Model), self._probe.part(Geometry)
        return self._probe.replaced(
            make_workspace(model), make_collision_scratch(geometry, 0, 0))


def _options(is_culled: bool, sees_sensors: bool) -> int:
    return is_culled * CULLED | sees_sensors * SENSORS


def _struck(rays: np.ndarray, geometries: np.ndarray, hit: np.ndarray) -> Struck:
    return Struck(rays, geometries, hit[:, SHARE].copy(), hit[:, POINT:NORMAL].copy(),
                  hit[:, NORMAL:].copy())
