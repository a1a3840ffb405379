"""The rows of the engine's geometries that can be changed while a simulation runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.geometry import Geometry

# column of Geometry.track
SPEED = 3


class GeometrySettings(NamedTuple):
    """Views of rows of the arrays of the engine's Geometry."""

    flags: np.ndarray
    material: np.ndarray
    belt: np.ndarray
    track: np.ndarray


def settings_in(geometry: Geometry, rows: slice) -> GeometrySettings:
    """Return the settings in some rows, which stay up to date."""
    return GeometrySettings(
        *(getattr(geometry, field)[rows] for field in GeometrySettings._fields))
