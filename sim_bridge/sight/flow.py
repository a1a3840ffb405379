"""Optical flow: the way of each pixel's surface in the image since earlier poses."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.picture import Picture
from sim_bridge.engine.image.lens import project_points
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sight.bands import Band
from sim_bridge.sight.optics import Optics

_AT_REST = np.append(np.eye(3).ravel(), np.zeros(3))


def flow_of(
    geometry: Geometry,
    optics: Optics,
    picture: Picture,
    now: tuple[FloatArray, FloatArray],
    before: tuple[FloatArray, FloatArray],
    rows: Band,
) -> np.ndarray:
    """
    Return (height, width, 2) float32 pixels right and down since the earlier poses.

    nan for pixels without a surface, and where the lens did not map the surface's earlier place.
    now: poses of the picture: camera (12,) and bodies (n, 12), rotation by rows and origin.
    before: the same at the earlier instant. rows: the only ones without nan.
    """
    is_seen = picture.item >= 0
    is_seen[: rows[0]] = is_seen[rows[1] :] = False
    camera, poses = now
    earlier_camera, earlier_poses = before
    points = optics.rays[is_seen] * picture.distance[is_seen, None]
    points = points @ camera[:9].reshape(3, 3).T + camera[9:]
    # the last row is for visuals at rest, body -1
    bodies = geometry.body[picture.item[is_seen]]
    poses, earlier_poses = (np.vstack([each, _AT_REST])[bodies] for each in (poses, earlier_poses))
    points = np.einsum('kji,kj->ki', poses[:, :9].reshape(-1, 3, 3), points - poses[:, 9:])
    points = np.einsum('kij,kj->ki', earlier_poses[:, :9].reshape(-1, 3, 3), points)
    points = (points + earlier_poses[:, 9:] - earlier_camera[9:]) @ earlier_camera[:9].reshape(
        3, 3
    )
    pixels = np.empty((len(points), 2))
    project_points(optics.lens, np.ascontiguousarray(points), pixels)
    found = np.full((optics.height, optics.width, 2), np.nan, np.float32)
    v, u = np.nonzero(is_seen)
    found[is_seen] = np.column_stack([u, v]) - pixels
    return found
