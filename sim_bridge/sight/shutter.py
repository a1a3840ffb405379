"""Exposure instants, and the poses there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sight.bands import Band
from sim_bridge.sight.exposure import Exposure

_ROWS = 8
"""Rows with one instant in a rolling shutter."""


class Motion(NamedTuple):
    """Velocities in world axes: angular [rad/s], then linear at the origin [m/s]."""

    camera: FloatArray
    """(6,)"""
    bodies: FloatArray
    """(n, 6)"""


class Shutter:
    """
    Exposure times by row [s], from the picture's stamp.

    rows: bands, each with its middle instant. samples: instants averaged by motion blur, from the
    rows' own.
    """

    def __init__(self, exposure: Exposure, height: int) -> None:
        """Divide the picture, and the time."""
        step = _ROWS if exposure.readout > 0.0 else height
        bands: list[Band] = [
            (first, min(first + step, height)) for first in range(0, height, step)
        ]
        self.rows = tuple(
            (band, exposure.readout * (0.5 * sum(band) / height - 0.5)) for band in bands
        )
        count = exposure.blur_samples if exposure.time > 0.0 else 1
        self.samples = tuple(
            exposure.time * ((number + 0.5) / count - 0.5) for number in range(count)
        )

    @property
    def has_one_instant(self) -> bool:
        """Whether a picture does not depend on the motion."""
        return len(self.rows) == len(self.samples) == 1


def moved(poses: FloatArray, velocities: FloatArray, time: float) -> FloatArray:
    """
    Return poses after a time at constant velocities.

    poses: (n, 12) rotation by rows, origin. velocities: (n, 6) as in `Motion`. time [s].
    """
    turn = time * velocities[:, :3]
    angle = np.linalg.norm(turn, axis=1)[:, None, None]
    K = np.zeros((len(poses), 3, 3))
    K[:, [2, 0, 1], [1, 2, 0]] = turn
    K[:, [1, 2, 0], [2, 0, 1]] = -turn
    # sinc(x) is sin(pi x) / (pi x)
    half = np.sinc(0.5 * angle / np.pi)
    # Rodrigues: exp(K) for any length
    rotation = np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * half * half * (K @ K)
    found = np.empty_like(poses)
    found[:, :9] = (rotation @ poses[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    found[:, 9:] = poses[:, 9:] + time * velocities[:, 3:]
    return found
