"""Line segments against a world's geometries between steps."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

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

    def nearest(
        self, segments: np.ndarray, allowed: np.ndarray, is_culled: bool, sees_sensors: bool
    ) -> Struck:
        """
        Find what each segment hits first.

        segments: (n, 6) start and way [m]. allowed: (ng,) 0 for geometries that are passed, or
        (0,). is_culled: whether segments leave geometries unnoticed.
        """
        count = len(segments)
        found, hit = np.empty(count, np.int64), np.empty((count, HIT_SIZE))
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
            found, hit = np.empty((room, 2), np.int64), np.empty((room, HIT_SIZE))
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
