"""Ground grid, a reference for sizes and motions."""

from __future__ import annotations

import numpy as np
import viser

_ABOVE = 0.004  # above the ground, which would partly cover the grid [m]


def add_grid(server: viser.ViserServer, name: str) -> viser.GridHandle:
    """Add a grid at height 0, with cells 1 m wide."""
    return server.scene.add_grid(
        name,
        100.0,
        100.0,
        cell_size=1.0,
        section_size=5.0,
        cell_thickness=0.6,
        section_thickness=0.8,
        cell_color=(200, 204, 210),
        section_color=(165, 170, 178),
        fade_distance=60.0,
        shadow_opacity=0.0,
        position=(0.0, 0.0, _ABOVE),
    )


def fit_grid(grid: viser.GridHandle, size: float) -> None:
    """Set the cell size to a power of ten, at most the given size [m]."""
    cell = float(10.0 ** np.floor(np.log10(size)))
    grid.cell_size, grid.section_size = cell, 5.0 * cell
