"""A lens's views: pixel rays, computed once per camera."""

from __future__ import annotations

import math

import numpy as np

from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.lens import BROWN, Lens, PINHOLE
from sim_bridge.engine.data.picture import NOTHING, Picture, View, X_HIGH, X_LOW, Y_HIGH, Y_LOW
from sim_bridge.engine.image.lens import fill_rays, nearest_pixel
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.vec3 import load3

# rotations from the camera frame to view frames: along z, right, left, down, up, backwards
_FACES = np.array(
    [
        [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
        [(0, 0, -1), (0, 1, 0), (1, 0, 0)],
        [(0, 0, 1), (0, 1, 0), (-1, 0, 0)],
        [(1, 0, 0), (0, 0, -1), (0, 1, 0)],
        [(1, 0, 0), (0, 0, 1), (0, -1, 0)],
        [(-1, 0, 0), (0, 1, 0), (0, 0, -1)],
    ],
    float,
)
_AHEAD, _BACKWARDS = 0, 5
_CELLS = 32
"""Cells per side in the search for the greatest curvature of the pixel coordinates."""
_MARGIN = 0.1
"""Share by which a view's domain exceeds its rays, on each side."""
_SAFETY = 1.5
_UNKNOWN_BEND = 1e300
"""Bend of the view against the optical axis, where the pixel coordinates are not smooth."""


def make_views(lens: Lens, width: int, height: int) -> list[View]:
    """
    Return an image's views: one for PINHOLE and BROWN, else one for each cube face seen.

    Each pixel with a ray belongs to one view.
    """
    rays = np.empty((height, width, 3))
    fill_rays(lens, rays)
    if lens.model in (PINHOLE, BROWN):
        return [_make_view(lens, _FACES[_AHEAD], rays[..., :2].copy(), is_smooth=True)]
    face = _faces_of(rays)
    views = []
    for number in np.unique(face[face >= 0]).tolist():
        turned = rays @ _FACES[number].T
        ray = np.full((height, width, 2), np.nan)
        own = face == number
        ray[own] = turned[own][:, :2] / turned[own][:, 2:]
        views.append(_make_view(lens, _FACES[number], ray, is_smooth=number != _BACKWARDS))
    return views


def make_picture(width: int, height: int) -> Picture:
    """Return a picture without surfaces."""
    return Picture(
        np.full((height, width), np.inf),
        np.full((height, width), NOTHING, np.int32),
        np.zeros((height, width), np.int32),
    )


def _faces_of(rays: np.ndarray) -> np.ndarray:
    """Return the cube face passed by each ray, -1 for no ray."""
    ahead = np.stack([rays @ turn[2] for turn in _FACES])
    found = np.argmax(np.nan_to_num(ahead, nan=-np.inf), axis=0)
    return np.where(np.isnan(rays[..., 0]), -1, found)


def _make_view(lens: Lens, turn: np.ndarray, ray: np.ndarray, *, is_smooth: bool) -> View:
    is_seen = ~np.isnan(ray)
    low, high = np.where(is_seen, ray, np.inf), np.where(is_seen, ray, -np.inf)
    span = np.stack(
        [
            low.min(axis=1)[:, 0],
            high.max(axis=1)[:, 0],
            low.min(axis=1)[:, 1],
            high.max(axis=1)[:, 1],
        ],
        axis=-1,
    )
    bounds = np.array(
        [span[:, X_LOW].min(), span[:, X_HIGH].max(), span[:, Y_LOW].min(), span[:, Y_HIGH].max()]
    )
    room = _MARGIN * np.repeat(bounds[1::2] - bounds[::2], 2)
    domain = bounds + room * [-1.0, 1.0, -1.0, 1.0]
    view = View(np.ascontiguousarray(turn), np.ascontiguousarray(ray), span, domain, 0.0)
    if lens.model == PINHOLE or not np.isfinite(domain).all():
        return view
    return view._replace(bend=find_bend(lens, view) if is_smooth else _UNKNOWN_BEND)


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
        return _UNKNOWN_BEND
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
