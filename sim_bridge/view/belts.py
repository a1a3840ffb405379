"""Belts and tracks on the page: outlines along their moving surfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sim_bridge.engine.data.geometry import Geometry as GeometryArrays
from sim_bridge.engine.data.geometry import TRACK_SPEED
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.page.records import BeltRecord
from sim_bridge.robots.geometry import Geometry
from sim_bridge.shapes.shapes import Plane
from sim_bridge.shapes.tessellation import tessellated

_OUTSET = 1.005  # scale of the outline, so that it is visible above the surface


class Belts:
    """Geometries with a moving surface: crawlers, and geometries with a surface velocity."""

    def __init__(self, geometries: Iterable[Geometry], places: Mapping[int, int]):
        """Find the belts; places: record index for each link, by its site."""
        records: list[BeltRecord] = []
        numbers: list[int] = []
        directions: list[FloatArray] = []
        for geometry in geometries:
            if isinstance(geometry.shape, Plane):
                continue
            velocity, crawler = geometry.surface_velocity, geometry.link.crawler
            speed = float(np.linalg.norm(velocity))
            turned = matrix_from_quaternion(geometry.orientation)
            if crawler is not None:
                axis, direction = turned.T @ crawler.axis, np.zeros(3)
            elif speed:
                direction = velocity / speed
                # the outline runs along the velocity on the upper side
                up = geometry.R[2]
                axis = np.cross(up - (up @ direction) * direction, direction)
                if np.linalg.norm(axis) < 1e-6:
                    continue
                axis /= np.linalg.norm(axis)
            else:
                continue
            outline, half_width = _outline(tessellated(geometry.shape).vertices, axis)
            records.append(
                BeltRecord(
                    places[geometry.link.slot.site],
                    geometry.position + outline @ turned.T,
                    turned @ (half_width * axis),
                )
            )
            numbers.append(geometry.index)
            directions.append(direction)
        self.records = tuple(records)
        self._numbers = np.array(numbers, int)
        self._directions = np.array(directions).reshape(-1, 3)

    def speeds(self, arrays: GeometryArrays) -> FloatArray:
        """Return the speeds (n,) along the outlines [m/s]."""
        speeds: FloatArray = arrays.track[self._numbers, TRACK_SPEED] + np.einsum(
            'ij,ij->i', arrays.belt[self._numbers], self._directions
        )
        return speeds


def _outline(vertices: FloatArray, axis: FloatArray) -> tuple[FloatArray, float]:
    """Return the convex outline (m, 3) about an axis, counterclockwise, and half the width."""
    other = np.eye(3)[np.argmin(np.abs(axis))]
    first = np.cross(other, axis)
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    along = vertices @ axis
    flat = np.unique(np.round(vertices @ np.stack([first, second], 1), 9), axis=0)
    hull = _hull(flat)
    middle = hull.mean(axis=0)
    hull = middle + _OUTSET * (hull - middle)
    centre = 0.5 * (along.min() + along.max()) * axis
    return hull @ np.stack([first, second]) + centre, 0.5 * float(np.ptp(along))


def _hull(points: FloatArray) -> FloatArray:
    """Return the convex hull of sorted points (n, 2), counterclockwise (Andrew, 1979)."""

    def chain(order: FloatArray) -> list[FloatArray]:
        kept: list[FloatArray] = []
        for point in order:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-1] - kept[-2], point - kept[-2]
                if ax * by - ay * bx > 0.0:
                    break
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(points) + chain(points[::-1]))
