"""A lens's views: pixel rays, computed once per camera."""

from __future__ import annotations

import math

from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.lens import Lens
from sim_bridge.engine.data.picture import View, X_HIGH, X_LOW, Y_HIGH, Y_LOW
from sim_bridge.engine.image.lens import nearest_pixel
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.vec3 import load3

_CELLS = 32
"""Cells per side in the search for the greatest curvature of the pixel coordinates."""
_SAFETY = 1.5
UNKNOWN_BEND = 1e300
"""Bend of the view against the optical axis, where the pixel coordinates are not smooth."""


@entry
def find_bend(lens: Lens, view: View):
    """
    Return an upper bound for `View.bend`.

    Within a triangle, a function differs from its linear interpolation by at most 1/6 times its
    greatest second derivative times the longest side squared. The second derivatives are taken
    from differences on a grid over the domain, with a factor for peaks between.
    """
    greatest = 0.0
    low_x, low_y = view.domain[X_LOW], view.domain[Y_LOW]
    dx = (view.domain[X_HIGH] - low_x) / _CELLS
    dy = (view.domain[Y_HIGH] - low_y) / _CELLS
    if dx <= 0.0 or dy <= 0.0:
        # a single pixel row or column
        return UNKNOWN_BEND
    for row in range(1, _CELLS):
        for column in range(1, _CELLS):
            x, y = low_x + column * dx, low_y + row * dy
            greatest = max(greatest, _curvature(lens, view, x, y, dx, dy))
    return _SAFETY * greatest / 6.0


@kernel
def _curvature(lens, view, x, y, dx, dy):
    """Return a bound on the second derivatives at a place, from differences."""
    middle = _pixel_at(lens, view, x, y)
    left, right = _pixel_at(lens, view, x - dx, y), _pixel_at(lens, view, x + dx, y)
    above, below = _pixel_at(lens, view, x, y - dy), _pixel_at(lens, view, x, y + dy)
    near, far = _pixel_at(lens, view, x - dx, y - dy), _pixel_at(lens, view, x + dx, y + dy)
    up, down = _pixel_at(lens, view, x + dx, y - dy), _pixel_at(lens, view, x - dx, y + dy)
    most = 0.0
    for k in range(2):
        xx = (left[k] + right[k] - 2.0 * middle[k]) / (dx * dx)
        yy = (above[k] + below[k] - 2.0 * middle[k]) / (dy * dy)
        xy = (near[k] + far[k] - up[k] - down[k]) / (4.0 * dx * dy)
        most = max(most, xx * xx + 2.0 * xy * xy + yy * yy)
    return math.sqrt(most)


@kernel
def _pixel_at(lens, view, x, y):
    turn = (load3(view.turn, 0, 0), load3(view.turn, 1, 0), load3(view.turn, 2, 0))
    return nearest_pixel(lens, mul_tv(turn, (x, y, 1.0)))
