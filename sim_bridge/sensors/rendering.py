"""Pictures through one camera's lens: buffers, rays and views, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.engine.image.cover import clear, cover, finish, POLYGON_SIZE
from sim_bridge.engine.image.depth import fill_depth, fill_millimetres, fill_points
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.engine.image.make_view import make_picture, make_views
from sim_bridge.foundation.arrays import FloatArray

if TYPE_CHECKING:
    from sim_bridge.engine.data.geometry import Geometry

_EVERY = np.zeros(0, np.int64)


class Renderer:
    """
    A camera's lens and its last picture.

    rays: (height, width, 3) direction of each pixel in the optical frame, nan for none; z = 1 for
    lenses without an angle, else length 1.
    """

    def __init__(self, camera: CameraDescription):
        """Invert the lens."""
        model = camera.model
        *intrinsics, skew = camera.pixel_intrinsics
        width, height = camera.size
        self._lens = make_lens(
            model.model,
            intrinsics,
            camera.coefficients,
            skew=skew,
            function=model.function,
            cutoff=camera.cutoff,
        )
        self._near, self._far = camera.clip
        self._views = make_views(self._lens, width, height)
        self._picture = make_picture(width, height)
        self._polygon = np.zeros((POLYGON_SIZE, 3))
        self.rays = np.empty((height, width, 3))
        fill_rays(self._lens, self.rays)

    def draw(self, geometry: Geometry, pose: FloatArray, camera: FloatArray) -> None:
        """
        Find the surfaces seen by all pixels.

        pose: (nb, 12) body poses. camera: (12,) optical frame in the world: rotation, position.
        """
        height = len(self.rays)
        picture = self._picture
        clear(0, height, self._far, picture)
        for view in self._views:
            cover(
                geometry,
                pose,
                camera[None],
                _EVERY,
                self._lens,
                view,
                0,
                height,
                picture,
                self._polygon,
            )
        for view in self._views:
            finish(0, height, self._lens, view, picture)

    def fill_depth(self, depth: np.ndarray) -> None:
        """
        Fill an array with the picture's depths along the optical axis.

        depth: (height, width) float32 [m] or uint16 [mm].
        """
        fill = fill_millimetres if depth.dtype == np.uint16 else fill_depth
        fill(0, len(self.rays), self._picture, self.rays, self._near, depth)

    def fill_points(self, points: np.ndarray) -> None:
        """Fill an array (height, width, 3 or more) float32 with points, optical frame [m]."""
        fill_points(0, len(self.rays), self._picture, self.rays, self._near, points)
