"""Geoms of ODE of many points: convex solids and height fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, number_from, real_array
from sim_bridge.ode.geoms import GeomObject, Place
from sim_bridge.shapes.polyhedra import ConvexHull, HeightField
from sim_bridge.shapes.shapes import Shape

# axes of a `HeightField`, whose heights are along z, in those of ODE's, whose are along y
_UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


class GeomConvex(GeomObject):
    """The convex solid around points."""

    def __init__(
        self, space: Any = None, planes: Any = (), points: Any = (), polygons: Any = ()
    ) -> None:
        """Make that of (n, 3) points [m]; planes and polygons follow from them, do not count."""
        super().__init__(space)
        self.setConvex(planes, points, polygons)

    def setConvex(self, planes: Any, points: Any, polygons: Any = ()) -> None:
        """Set the points [m]."""
        expected = 'three numbers for each point [m]'
        values = real_array('points', points, expected, 'GeomConvex')
        if values.size % 3:
            raise InvalidValueError('points', f'{values.size} numbers', expected, 'GeomConvex')
        self._hull = ConvexHull(values.reshape(-1, 3))
        self.changed()

    def shape(self) -> Shape:
        """Return the engine's."""
        return self._hull

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents."""
        corners = self._hull.vertices @ R.T
        low, high = corners.min(axis=0), corners.max(axis=0)
        return 0.5 * (low + high), 0.5 * (high - low)


class HeightfieldData:
    """Heights along y over a grid in x and z, whose middle is the origin."""

    def __init__(self) -> None:
        """Begin without any."""
        self.field: HeightField | None = None
        self.thickness = 0.0

    def build(
        self,
        heights: Any,
        width: float,
        depth: float,
        widthSamples: int,
        depthSamples: int,
        scale: float = 1.0,
        offset: float = 0.0,
        thickness: float = 0.0,
        wrap: bool = False,
    ) -> None:
        """
        Take heights [m], widthSamples for each of depthSamples rows, the first at the least z.

        width, depth: along x and z [m]. Heights are times scale, plus offset. thickness: of what
        is below the least height [m]; with more than 0 it may be on a body. wrap: False.
        """
        place = 'HeightfieldData'
        if wrap:
            raise InvalidValueError('wrap', wrap, 'False: fields do not repeat', place)
        expected = f'{widthSamples} by {depthSamples} numbers'
        grid = real_array('heights', heights, expected, place)
        if grid.size != widthSamples * depthSamples:
            raise InvalidValueError('heights', f'{grid.size} numbers', expected, place)
        grid = finite_number('offset', offset, place) + finite_number('scale', scale, place) * (
            grid.reshape(depthSamples, widthSamples)
        )
        self.thickness = number_from(
            'thickness', thickness, 0.0, np.inf, place, 'a number of at least 0 [m]'
        )
        bottom = None if self.thickness == 0.0 else float(grid.min()) - self.thickness
        self.field = HeightField(grid[::-1], (width, depth), bottom)

    def buildCallback(
        self,
        callback: Callable[[int, int], float],
        width: float,
        depth: float,
        widthSamples: int,
        depthSamples: int,
        scale: float = 1.0,
        offset: float = 0.0,
        thickness: float = 0.0,
        wrap: bool = False,
    ) -> None:
        """Take the heights that a function of the sample along x and along z returns now."""
        grid = [[callback(x, z) for x in range(widthSamples)] for z in range(depthSamples)]
        self.build(grid, width, depth, widthSamples, depthSamples, scale, offset, thickness, wrap)


class GeomHeightfield(GeomObject):
    """A height field; its heights are along its y axis."""

    def __init__(self, data: HeightfieldData, space: Any = None) -> None:
        """Make one of data that were built."""
        super().__init__(space)
        self.setHeightfieldData(data)

    def setHeightfieldData(self, data: HeightfieldData) -> None:
        """Take other data."""
        if not isinstance(data, HeightfieldData) or data.field is None:
            raise InvalidValueError(
                'data', data, 'a HeightfieldData that was built', 'GeomHeightfield'
            )
        self._data, self._field = data, data.field
        self.changed()

    def getHeightfieldData(self) -> HeightfieldData:
        """Return the data."""
        return self._data

    def _inside(self) -> Place:
        return _UPRIGHT, np.zeros(3)

    def shape(self) -> Shape:
        """Return the engine's."""
        return self._field

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents: of the surface, and its thickness below."""
        (x, z), heights = self._field.size, self._field.heights
        low, high = heights.min() - self._data.thickness, heights.max()
        return (
            R @ np.array((0.0, 0.5 * (low + high), 0.0)),
            np.abs(R) @ (0.5 * np.array((x, high - low, z))),
        )
