"""Line segments against a world's geometries between steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
import struct
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.collision.ray.cast import (
    cast_all,
    cast_nearest,
    CULLED,
    FARTHEST,
    FIRST_Q,
    HIT_SIZE,
    KEPT_SIZE,
    NORMAL,
    POINT,
    SENSORS,
    SHARE,
)
from sim_bridge.engine.data.collision_scratch import make_collision_scratch
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.foundation.arrays import FloatArray, IntArray

# argument places in `cast_nearest`
_START, _END, _ALLOWED, _OPTIONS = 1, 2, 3, 4
_RESULTS = 7
_EACH = 4
"""Initial room for geometries on a segment."""
_NONE = np.zeros(0, np.int64)

# a single segment's numbers: its ends, then the hit's point, normal and lengths
_ENDS, _LENGTHS = struct.Struct('=6d'), struct.Struct('=2d')
_HIT_POINT, _HIT_NORMAL, _HIT_LENGTHS, _SINGLE_SIZE = 6, 9, 12, 14


class Struck(NamedTuple):
    """
    Segment hits, row by row. rays: (m,) segment numbers. geometries: (m,), -1 for none.

    points: (m, 3) [m], normals: (m, 3), world. distances, depths: (m,) from the start and to the
    end [m]. Floats are nan without a hit.
    """

    rays: IntArray
    geometries: IntArray
    points: FloatArray
    normals: FloatArray
    distances: FloatArray
    depths: FloatArray

    def taken(self, rows: slice) -> Struck:
        """Return some rows."""
        return Struck(
            self.rays[rows],
            self.geometries[rows],
            self.points[rows],
            self.normals[rows],
            self.distances[rows],
            self.depths[rows],
        )


class SingleCast:
    """One segment to cast: the call, and its number block."""

    def __init__(self, search: RaySearch):
        """Prepare the call."""
        self._block = bytearray(8 * _SINGLE_SIZE)
        numbers, self._found = np.frombuffer(self._block), np.zeros(1, np.int64)
        self._point = numbers[_HIT_POINT:_HIT_NORMAL]
        self._normal = numbers[_HIT_NORMAL:_HIT_LENGTHS]
        self._allowed = _NONE
        self._call = search.prepare(
            numbers[:3].reshape(1, 3),
            numbers[3:6].reshape(1, 3),
            self._found,
            self._point.reshape(1, 3),
            self._normal.reshape(1, 3),
            numbers[12:13],
            numbers[13:14],
        )
        self._options_at = self._call.word_of(_OPTIONS)

    def cast(
        self, p0: Sequence[float], p1: Sequence[float], allowed: IntArray, options: int
    ) -> tuple[int, FloatArray, FloatArray, float, float] | None:
        """Find one segment's first hit; a row from `RaySearch.nearest`."""
        try:
            _ENDS.pack_into(self._block, 0, *p0, *p1)
        except struct.error:
            # an int, not a float
            return None
        if allowed is not self._allowed:
            self._call.replace(_ALLOWED, allowed)
            self._allowed = allowed
        self._call.words[self._options_at] = options
        if not self._call():
            return None
        distance, depth = _LENGTHS.unpack_from(self._block, 8 * _HIT_LENGTHS)
        return self._found.item(), self._point.copy(), self._normal.copy(), distance, depth


class RaySearch:
    """
    Segment casts at a handle's geometries, in the present state, with separate scratch.

    The geometries are placed and sorted again if q has changed since the last call, and after
    `forget`. allowed: (ng,) 0 for passed geometries, or (0,). options: from `options_of`.
    """

    def __init__(self, probe: Handle):
        """Search among the geometries in a handle; its arrays are used in place."""
        self._probe = probe
        self._kept = np.zeros(KEPT_SIZE, np.int64)
        self._place = np.zeros(FIRST_Q + len(probe.part(State).q))

    def forget(self) -> None:
        """Let the next cast place and sort geometries again: parameters or frames changed."""
        self._kept[:] = 0

    @cached_property
    def single(self) -> SingleCast:
        """The cast for one segment, at less cost than `nearest`."""
        return SingleCast(self)

    def nearest(
        self, starts: FloatArray, ends: FloatArray, count: int, allowed: IntArray, options: int
    ) -> Struck | None:
        """
        Find the first hit for each segment among `count`.

        starts, ends: (count, 3) or (1, 3) [m]. Returns None if a point is farther away than
        `ray.cast.FARTHEST`.
        """
        results = (
            np.empty(count, np.int64),
            np.empty((count, 3)),
            np.empty((count, 3)),
            np.empty(count),
            np.empty(count),
        )
        call = self._many
        for number, array in (
            (_START, starts),
            (_END, ends),
            (_ALLOWED, allowed),
            *enumerate(results, _RESULTS),
        ):
            call.replace(number, array)
        call.words[call.word_of(_OPTIONS)] = options
        return Struck(np.arange(count), *results) if call() else None

    @cached_property
    def _many(self) -> Call:
        points, lengths = np.zeros((0, 3)), np.zeros(0)
        return self.prepare(points, points, _NONE, points, points, lengths, lengths)

    def prepare(
        self,
        starts: FloatArray,
        ends: FloatArray,
        struck: IntArray,
        points: FloatArray,
        normals: FloatArray,
        distances: FloatArray,
        depths: FloatArray,
    ) -> Call:
        """Prepare a call to `ray.cast.cast_nearest`."""
        return cast_nearest.prepare(
            self.handle,
            starts,
            ends,
            _NONE,
            0,
            self._kept,
            self._place,
            struck,
            points,
            normals,
            distances,
            depths,
        )

    def every(
        self, starts: FloatArray, ends: FloatArray, count: int, allowed: IntArray, options: int
    ) -> Struck | None:
        """Find all hits for each segment, in order along it; as `nearest`."""
        if not (_are_near(starts) and _are_near(ends)):
            return None
        segments = np.empty((count, 6))
        segments[:, :3], ways = starts, segments[:, 3:]
        np.subtract(ends, starts, out=ways)
        room = _EACH * count
        while True:
            found, hit = np.zeros((room, 2), np.int64), np.zeros((room, HIT_SIZE))
            total = cast_all(
                self.handle, segments, allowed, options, self._kept, self._place, found, hit
            )
            if total <= room:
                break
            room = total
        found, hit = found[:total], hit[:total]
        order = np.lexsort((found[:, 1], hit[:, SHARE], found[:, 0]))
        found, hit = found[order], hit[order]
        x, y, z = ways[found[:, 0]].T
        # in the same addition order as `nearest`, for the same bits
        shares, lengths = hit[:, SHARE], np.sqrt(x * x + y * y + z * z)
        return Struck(
            found[:, 0].copy(),
            found[:, 1].copy(),
            hit[:, POINT:NORMAL].copy(),
            hit[:, NORMAL:].copy(),
            shares * lengths,
            (1.0 - shares) * lengths,
        )

    @cached_property
    def handle(self) -> Handle:
        """The handle with own scratch."""
        model, geometry = self._probe.part(Model), self._probe.part(Geometry)
        return self._probe.replaced(make_workspace(model), make_collision_scratch(geometry, 0, 0))


def options_of(is_culled: bool, sees_sensors: bool) -> int:
    """Return cast options: whether segments leave geometries unnoticed, see sensors."""
    return is_culled * CULLED | sees_sensors * SENSORS


def _are_near(points: FloatArray) -> bool:
    return bool((np.abs(points) <= FARTHEST).all())
