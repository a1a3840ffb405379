"""Boxes around labelled objects in a picture, and in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.collision.broad.place import half_extents
from sim_bridge.engine.data.geometry import PLANE
from sim_bridge.engine.data.pencil import IGNORED, WHOLE
from sim_bridge.engine.image.cover import clear, cover, finish
from sim_bridge.engine.image.make_view import make_corners, make_picture
from sim_bridge.engine.image.place import place_visuals
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.scenery import Scenery

Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom edge [px]; pixel centres are whole numbers."""


class ObjectBox(NamedTuple):
    """
    An object's parts with one label, seen in at least one pixel.

    name: of the robot or body. label: from 1. instance: number in `CameraSensor.instances`.
    visible: rectangle around the visible pixels, outer edges. full: the same without the objects
    before it, cut off by the picture's edges. position: (3,) centre of the box in space, in the
    optical frame [m]. orientation: its axes there, those of the object's first part, quaternion
    x y z w. size: (3,) its sides [m]. Position and size of an endless plane are nan and inf.
    """

    name: str
    label: int
    instance: int
    visible: Rectangle
    full: Rectangle
    position: FloatArray
    orientation: FloatArray
    size: FloatArray


class BoxFinder:
    """Finds the boxes for one scenery in one camera's pictures."""

    def __init__(self, scenery: Scenery, optics: Optics):
        """Group the visuals by object and label."""
        self._scenery, self._optics = scenery, optics
        keys = np.stack([scenery.instance, scenery.label], 1)
        is_seen = (scenery.label > 0) & (scenery.roles.casters != IGNORED)
        self._groups, at = np.unique(keys[is_seen], axis=0, return_inverse=True)
        # from 1, as `find_objects` needs it; the last row is for pixels without a visual
        self._group = np.zeros(len(keys) + 1, np.int32)
        self._group[:-1][is_seen] = at.ravel() + 1
        self._picture = make_picture(optics.width, optics.height)
        self._corners = make_corners(scenery.geometry)
        self._placed = np.zeros((len(keys), 12))

    def find(
        self,
        visual: np.ndarray,
        camera: FloatArray,
        poses: FloatArray,
        names: Sequence[str],
        *,
        is_full: bool = True,
    ) -> tuple[ObjectBox, ...]:
        """
        Return the boxes, by instance and label.

        visual: (height, width), from `Renderer.visual`. camera: (12,) optical frame. poses: (n,
        12) bodies. names: of the instances, from 1. is_full: whether `full` is computed; else it
        equals `visible`.
        """
        from scipy.ndimage import find_objects

        if not len(self._groups):
            return ()
        camera = np.ascontiguousarray(camera, float).reshape(1, 12)
        poses = np.ascontiguousarray(poses, float)
        place_visuals(self._scenery.geometry, poses, self._placed)
        found = []
        for number, part in enumerate(find_objects(self._group[visual], len(self._groups))):
            if part is None:
                continue
            instance, label = map(int, self._groups[number])
            visible = _rectangle(part[0].start, part[0].stop, part[1].start, part[1].stop)
            full = self._full(number, camera, poses) if is_full else visible
            found.append(
                ObjectBox(
                    names[instance - 1] if 0 < instance <= len(names) else '',
                    label,
                    instance,
                    visible,
                    full,
                    *self._in_space(number, camera[0]),
                )
            )
        return tuple(found)

    def _members(self, number: int) -> np.ndarray:
        """Return whether each visual belongs to a group."""
        return self._group[:-1] == number + 1

    def _full(self, number: int, camera: FloatArray, poses: FloatArray) -> Rectangle:
        """Return the rectangle in a picture with this object alone."""
        optics, picture, rows = self._optics, self._picture, (0, self._optics.height)
        alone = np.where(self._members(number), WHOLE, IGNORED)
        scenery = self._scenery
        clear(*rows, optics.far, picture)
        for view in optics.views:
            cover(
                scenery.geometry,
                poses,
                camera,
                alone,
                scenery.cones,
                optics.lens,
                view,
                *rows,
                picture,
                self._corners,
            )
        for view in optics.views:
            finish(*rows, optics.lens, view, picture)
        is_seen = picture.item >= 0
        (down,), (across,) = (np.nonzero(is_seen.any(axis)) for axis in (1, 0))
        return _rectangle(down[0], down[-1] + 1, across[0], across[-1] + 1)

    def _in_space(
        self, number: int, camera: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return centre, orientation and size in the first body's axes."""
        (members,) = np.nonzero(self._members(number))
        axes = self._axes(int(members[0]))
        ends = [self._ends(int(each), axes) for each in members]
        low = np.min([each[0] for each in ends], axis=0)
        high = np.max([each[1] for each in ends], axis=0)
        turn, eye = camera[:9].reshape(3, 3), camera[9:]
        size = high - low
        if np.isfinite(size).all():
            middle = (axes @ (0.5 * (low + high)) - eye) @ turn
        else:
            middle, size = np.full(3, np.nan), np.full(3, np.inf)
        return middle, quaternion_from_matrix(turn.T @ axes), size

    def _axes(self, visual: int) -> FloatArray:
        """Return the axes (3, 3) of a visual's body in the world."""
        geometry = self._scenery.geometry
        placed = self._placed[visual, :9].reshape(3, 3)
        return placed @ geometry.frame[visual, :9].reshape(3, 3).T

    def _ends(self, visual: int, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a visual's least and greatest coordinates along axes (3, 3)."""
        geometry = self._scenery.geometry
        turn = axes.T @ self._placed[visual, :9].reshape(3, 3)
        origin = axes.T @ self._placed[visual, 9:]
        if geometry.shape[visual] == PLANE:
            return np.full(3, -np.inf), np.full(3, np.inf)
        first, end = geometry.vertex_range[visual]
        if end > first:
            corners = geometry.vertex[first:end] @ turn.T + origin
            return corners.min(axis=0), corners.max(axis=0)
        middle, half = geometry.bounds[visual, :3], geometry.bounds[visual, 3:]
        reach = np.array(
            half_extents(int(geometry.shape[visual]), geometry.size[visual], half, turn)
        )
        return turn @ middle + origin - reach, turn @ middle + origin + reach


def _rectangle(top: int, bottom: int, left: int, right: int) -> Rectangle:
    """Return the outer edges of rows from top and columns from left; ends are behind the last."""
    return float(left) - 0.5, float(top) - 0.5, float(right) - 0.5, float(bottom) - 0.5
