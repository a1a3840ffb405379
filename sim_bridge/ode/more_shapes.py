"""ODE geoms with many points: convex solids and height fields."""

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

# axes of a `HeightField` (heights along z) in the axes of ODE's height field (heights along y):
# its x axis is ODE's z axis
_UPRIGHT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


class GeomConvex(GeomObject):
    """Convex solid around points."""

    def __init__(
        self, space: Any = None, planes: Any = (), points: Any = (), polygons: Any = ()
    ) -> None:
        """Take points (n, 3) [m]; planes and polygons are ignored, since they follow from them."""
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
        """Return the engine's shape."""
        return self._hull

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m]."""
        corners = self._hull.vertices @ R.T
        low, high = corners.min(axis=0), corners.max(axis=0)
        return 0.5 * (low + high), 0.5 * (high - low)


class HeightfieldData:
    """Heights along y over a grid in x and z, centred at the origin."""

    def __init__(self) -> None:
        """Start without heights."""
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
        Set heights [m]: depthSamples rows with widthSamples numbers, the first at the least z.

        width, depth: grid lengths along x and z [m]. Heights are multiplied by scale, then offset
        is added. thickness: distance from the least height down to the bottom [m]; if above 0, a
        body may have the field. wrap: False.
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
        # transposed, the field's cells are cut as ODE's
        self.field = HeightField(grid.T, (depth, width), bottom)

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
        """Set heights by calling a function with the sample indices along x and z."""
        grid = [[callback(x, z) for x in range(widthSamples)] for z in range(depthSamples)]
        self.build(grid, width, depth, widthSamples, depthSamples, scale, offset, thickness, wrap)


class GeomHeightfield(GeomObject):
    """Height field; heights along its y axis."""

    def __init__(self, data: HeightfieldData, space: Any = None) -> None:
        """Take built data."""
        super().__init__(space)
        self.setHeightfieldData(data)

    def setHeightfieldData(self, data: HeightfieldData) -> None:
        """Set other data."""
        if not isinstance(data, HeightfieldData) or data.field is None:
            raise InvalidValueError(
                'data', data, 'a HeightfieldData after build', 'GeomHeightfield'
            )
        self._data, self._field = data, data.field
        self.changed()

    def getHeightfieldData(self) -> HeightfieldData:
        """Return the data."""
        return self._data

    def _inside(self) -> Place:
        return _UPRIGHT, np.zeros(3)

    def shape(self) -> Shape:
        """Return the engine's shape."""
        return self._field

    def half_extents(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centre offset and half extents [m], including the thickness below."""
        (z, x), heights = self._field.size, self._field.heights
        low, high = heights.min() - self._data.thickness, heights.max()
        return (
            R @ np.array((0.0, 0.5 * (low + high), 0.0)),
            np.abs(R) @ (0.5 * np.array((x, high - low, z))),
        )
