"""Triangles for boxes and round surfaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray

_CORNERS = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0], indexing='ij'), -1)
_FACES = np.array(
    [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ],
    np.int64,
)


class Surface(NamedTuple):
    """vertices: (n, 3) [m]. triangles: (m, 3) corners, counterclockwise seen from outside."""

    vertices: FloatArray
    triangles: IntArray


def box(half_extents: FloatArray | tuple[float, float, float]) -> Surface:
    """Return a box surface. half_extents: (3,) [m]."""
    return Surface(_CORNERS.reshape(-1, 3) * half_extents, _FACES)


def revolved(profile: FloatArray, sides: int) -> Surface:
    """Return the surface of revolution of a profile (k, 2) about z: radius and z, upwards [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    turned = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    ring = profile[:, None, :1] * turned
    height = np.broadcast_to(profile[:, None, 1:], (len(profile), sides, 1))
    k, i = (each.ravel() for each in np.indices((len(profile) - 1, sides)))
    low, high = sides * k, sides * (k + 1)
    following = (i + 1) % sides
    first = np.stack([low + i, low + following, high + following], axis=1)[profile[k, 0] > 0.0]
    second = np.stack([low + i, high + following, high + i], axis=1)[profile[k + 1, 0] > 0.0]
    return Surface(
        np.concatenate([ring, height], axis=-1).reshape(-1, 3), np.concatenate([first, second])
    )


def arc(start: float, end: float, count: int) -> FloatArray:
    """Return (count + 1, 2) radius and z on a unit circle between two elevation angles [rad]."""
    angles = np.linspace(start, end, count + 1)
    radii = np.cos(angles)
    # a pole must be a single point
    return np.stack([np.where(radii < 1e-12, 0.0, radii), np.sin(angles)], axis=1)
