"""Surfaces, normals and light at each pixel of an image, or at samples."""

from __future__ import annotations

import threading

import numpy as np

from sim_bridge.engine.image.make_view import make_picture

MOST_LAYERS = 8
"""Translucent surfaces on a ray."""


class Canvas:
    """
    Arrays for an image.

    rays: (height, width, 3). block: rows that are neighbours in the image. picture: surfaces.
    flat, normal: unit normals. lit: a bit for each lamp. light: linear. opacity: of the surfaces,
    for layers only. layers: translucent surfaces before the picture's, the nearest first.
    """

    def __init__(self, rays: np.ndarray, block: int):
        """Make the arrays."""
        shape = rays.shape[:2]
        self.rays, self.block = rays, block
        self.picture = make_picture(shape[1], shape[0])
        self.flat, self.normal, self.light = (np.zeros((*shape, 3), np.float32) for _ in range(3))
        self.lit = np.zeros(shape, np.int32)
        self.opacity = np.zeros((0, 0), np.float32)
        self.layers: list[Canvas] = []
        self._making = threading.Lock()

    @property
    def rows(self) -> int:
        """Rows in the arrays."""
        return len(self.rays)

    @property
    def width(self) -> int:
        """Columns."""
        return self.rays.shape[1]

    def layer(self, number: int) -> Canvas:
        """Return a layer, made when it is first needed."""
        with self._making:
            while len(self.layers) <= number:
                made = Canvas(self.rays, self.block)
                made.opacity = np.zeros(self.rays.shape[:2], np.float32)
                self.layers.append(made)
        return self.layers[number]
