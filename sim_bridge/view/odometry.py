"""Odometry signals on the page: robot base orientation and twist."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_bridge.engine.pipeline.observe import SITE_V, SITE_W
from sim_bridge.foundation.arrays import FloatArray

_NAMES = (
    'roll [rad]',
    'pitch [rad]',
    'yaw [rad]',
    'linear velocity x [m/s]',
    'linear velocity y [m/s]',
    'linear velocity z [m/s]',
    'angular velocity x [rad/s]',
    'angular velocity y [rad/s]',
    'angular velocity z [rad/s]',
)


class Odometry:
    """
    Orientations and twists for all bases that can move.

    names: one for each number, in order. values: numbers of the last `look`. Angles are URDF's,
    about fixed axes; velocities are in base axes, as on `odom` (REP 105).
    """

    def __init__(self, bases: Mapping[str, int]):
        """Start with zeros. bases: rows in `look`, by robot name."""
        self._rows = np.array(list(bases.values()), int)
        self.names = tuple(f'{robot} base {name}' for robot in bases for name in _NAMES)
        self.values: FloatArray = np.zeros(len(self.names))
        self._table = self.values.reshape(-1, len(_NAMES))

    def look(self, sites: FloatArray) -> None:
        """Update the numbers. sites: rows of `Simulation.observed_sites` for all links."""
        if not len(self._rows):
            return
        rows, table = sites[self._rows], self._table
        turns = rows[:, :9].reshape(-1, 3, 3)
        table[:, 0] = np.arctan2(turns[:, 2, 1], turns[:, 2, 2])
        table[:, 1] = np.arcsin(np.clip(-turns[:, 2, 0], -1.0, 1.0))
        table[:, 2] = np.arctan2(turns[:, 1, 0], turns[:, 0, 0])
        table[:, 3:6] = np.einsum('kji,kj->ki', turns, rows[:, SITE_V : SITE_V + 3])
        table[:, 6:9] = np.einsum('kji,kj->ki', turns, rows[:, SITE_W : SITE_W + 3])
