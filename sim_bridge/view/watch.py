"""Changes of what a world looks like that come without anything added or removed."""

from __future__ import annotations

import time

import numpy as np

from sim_bridge.world.world import World

_PERIOD = 0.25  # between two looks [s]


class Watch:
    """Places of shapes on their links, heights of height fields, and what moves robots."""

    def __init__(self, world: World):
        """Begin without a look."""
        self._world = world
        self._due = 0.0
        self._seen = self._look()

    def has_changed(self) -> bool:
        """Whether something has changed since it was last asked, up to some time ago."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + _PERIOD
        before, self._seen = self._seen, self._look()
        return before[0] != self._seen[0] or len(before[1]) != len(self._seen[1]) or not all(
            map(np.array_equal, before[1], self._seen[1]))

    def _look(self) -> tuple[object, list[np.ndarray]]:
        slots = self._world.simulation.slots.values()
        motions = [(slot.is_kinematic, len(slot.geometries)) for slot in slots]
        heights = [geometry.heights.copy() for slot in slots for geometry in slot.geometries
                   if geometry.heights is not None]
        geometry = self._world.simulation.geometry
        return motions, [geometry.frame.copy(), geometry.flags.copy(), *heights]
