"""Poses and twists for the bases on moving robots and objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix


class BaseMotion:
    """
    Poses and twists for n root links.

    Free bases are read from the world's coordinates, bases hanging on joints from their links.
    """

    def __init__(self, world: sb.World, robots: Sequence[sb.Robot]) -> None:
        """Find the coordinates; valid until robots or joints are added or removed."""
        self._world = world
        is_free = np.array([robot.blueprint.mount is None for robot in robots], bool)
        self._hung = [(row, robots[row].root_link) for row in np.flatnonzero(~is_free).tolist()]
        self._free = None if is_free.all() else np.flatnonzero(is_free)
        free = [robots[row] for row in np.flatnonzero(is_free).tolist()]
        self._q, self._v = (
            np.add.outer(starts, np.arange(size)).astype(int)
            for starts, size in (
                ([robot.offsets.q for robot in free], 7),
                ([robot.offsets.v for robot in free], 6),
            )
        )

    def poses(self) -> np.ndarray:
        """Return (n, 7) positions [m] and quaternions x y z w, world."""
        poses = self._spread(self._world.state.q[self._q])
        for row, link in self._hung:
            poses[row] = *link.p, *quaternion_from_matrix(link.R)
        return poses

    def twists(self) -> np.ndarray:
        """Return (n, 6) origin velocities [m/s] and angular velocities [rad/s], world axes."""
        twists = self._spread(self._world.state.v[self._v])
        for row, link in self._hung:
            twists[row] = *link.v, *link.w
        return twists

    def _spread(self, free: np.ndarray) -> np.ndarray:
        """Return an array with a row for each base; only the rows of free bases are set."""
        if self._free is None:
            return free
        rows = np.empty((len(free) + len(self._hung), free.shape[1]))
        rows[self._free] = free
        return rows
