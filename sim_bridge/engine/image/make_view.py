"""Views of a lens, and empty pictures."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.corners import Corners
from sim_bridge.engine.data.geometry import Geometry, MESH
from sim_bridge.engine.data.lens import BROWN, Lens, PINHOLE
from sim_bridge.engine.data.picture import NOTHING, Picture, View, X_HIGH, X_LOW, Y_HIGH, Y_LOW
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.outline import POLYGON_SIZE
from sim_bridge.engine.image.view import find_bend, UNKNOWN_BEND

# rotations from the camera frame to view frames: along z, right, left, down, up, backwards
FACES = np.array(
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
_MARGIN = 0.1
"""Share by which a view's domain exceeds its rays, on each side."""


def make_views(lens: Lens, width: int, height: int) -> list[View]:
    """
    Return an image's views: one for PINHOLE and BROWN, else one for each cube face seen.

    Each pixel with a ray belongs to one view.
    """
    rays = np.empty((height, width, 3))
    fill_rays(lens, rays)
    if lens.model in (PINHOLE, BROWN):
        return [_make_view(lens, FACES[_AHEAD], rays[..., :2].copy(), is_smooth=True)]
    face = _faces_of(rays)
    views = []
    for number in np.unique(face[face >= 0]).tolist():
        turned = rays @ FACES[number].T
        ray = np.full((height, width, 2), np.nan)
        own = face == number
        ray[own] = turned[own][:, :2] / turned[own][:, 2:]
        views.append(_make_view(lens, FACES[number], ray, is_smooth=number != _BACKWARDS))
    return views


def make_picture(width: int, height: int) -> Picture:
    """Return a picture without surfaces."""
    return Picture(
        np.full((height, width), np.inf),
        np.full((height, width), NOTHING, np.int32),
        np.zeros((height, width), np.int32),
    )


def make_corners(geometry: Geometry) -> Corners:
    """Return scratch for one thread that walks these geometries."""
    ranges = geometry.vertex_range[geometry.shape == MESH]
    most = int((ranges[:, 1] - ranges[:, 0]).max(initial=0))
    return Corners(
        np.zeros((most, 3)),
        np.zeros((most, 4)),
        np.zeros(most + 1, np.int64),
        np.zeros((POLYGON_SIZE, 3)),
    )


def _faces_of(rays: np.ndarray) -> np.ndarray:
    """Return the cube face passed by each ray, -1 for no ray."""
    ahead = np.stack([rays @ turn[2] for turn in FACES])
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
    return view._replace(bend=find_bend(lens, view) if is_smooth else UNKNOWN_BEND)
