"""Boards with black squares, as robots: checkerboards and ArUco markers with exact edges."""

from __future__ import annotations

import cv2
import numpy as np

DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
_THICKNESS = 1e-4


def board(is_black: np.ndarray, side: float, margin: float, name: str = 'board') -> str:
    """
    Return a URDF: a white plate with black squares.

    is_black: (rows, columns). side: a square's [m]. margin: white border [m]. The squares are in
    the plane z = 0, seen from +z with the first row at the greatest y, their middle at the origin.
    """
    rows, columns = is_black.shape
    plate = columns * side + 2 * margin, rows * side + 2 * margin
    visuals = [_box(plate, (0.0, 0.0, -1.5 * _THICKNESS), 1)]
    for row, column in np.argwhere(is_black):
        center = (column + 0.5 - 0.5 * columns) * side, (0.5 * rows - row - 0.5) * side
        visuals.append(_box((side, side), (*center, -0.5 * _THICKNESS), 0))
    return f'<robot name="{name}"><link name="{name}">{"".join(visuals)}</link></robot>'


def checkerboard(rows: int, columns: int) -> np.ndarray:
    """Return a checkerboard with this many squares."""
    return (np.add.outer(np.arange(rows), np.arange(columns)) % 2).astype(bool)


def marker(number: int) -> np.ndarray:
    """Return a marker in DICTIONARY as cells, with its black border."""
    return cv2.aruco.generateImageMarker(DICTIONARY, number, 6) == 0


def _box(size: tuple[float, float], center: tuple[float, float, float], white: int) -> str:
    x, y, z = center
    return (
        f'<visual><origin xyz="{x:.17g} {y:.17g} {z:.17g}"/><geometry>'
        f'<box size="{size[0]:.17g} {size[1]:.17g} {_THICKNESS}"/></geometry>'
        f'<material name="m{white}"><color rgba="{white} {white} {white} 1"/></material></visual>'
    )
