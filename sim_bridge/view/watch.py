"""Detection of visible changes to a world, other than added or removed parts."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from sim_bridge.simulation.slots import GeometrySlot
from sim_bridge.world.world import World

_PERIOD = 0.25  # between two looks [s]


class Changes(NamedTuple):
    """Visible changes. is_all: anything may have changed; else fields: changed height fields."""

    is_all: bool
    fields: tuple[GeometrySlot, ...]


_NONE = Changes(False, ())


class _Seen(NamedTuple):
    motions: list[tuple[bool, int]]
    frames: np.ndarray
    flags: np.ndarray
    belts: np.ndarray
    heights: dict[GeometrySlot, np.ndarray]


class Watch:
    """Watches shape poses on links, height fields, belts and robot motion types."""

    def __init__(self, world: World):
        """Store the present state."""
        self._world = world
        self._due = 0.0
        self._seen = self._look()

    def changes(self) -> Changes:
        """Return the changes since the last call; they are checked at intervals."""
        now = time.monotonic()
        if now < self._due:
            return _NONE
        self._due = now + _PERIOD
        before, self._seen = self._seen, self._look()
        seen = self._seen
        if (
            before.motions != seen.motions
            or before.heights.keys() != seen.heights.keys()
            or not np.array_equal(before.frames, seen.frames)
            or not np.array_equal(before.flags, seen.flags)
            or not np.array_equal(before.belts, seen.belts)
        ):
            return Changes(True, ())
        return Changes(
            False,
            tuple(
                slot
                for slot, heights in seen.heights.items()
                if not np.array_equal(before.heights[slot], heights)
            ),
        )

    def _look(self) -> _Seen:
        slots = self._world.simulation.registry.slots.values()
        geometry = self._world.simulation.cache.geometry
        return _Seen(
            [(slot.is_kinematic, len(slot.geometries)) for slot in slots],
            geometry.frame.copy(),
            geometry.flags.copy(),
            (geometry.belt != 0.0).sum(axis=1) > 0,
            {
                each: each.heights.copy()
                for slot in slots
                for each in slot.geometries
                if each.heights is not None
            },
        )
