"""Pictures showing a world's geometries, and the same by ray casts."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.geometry import Geometry, MESH, SOLID
from sim_bridge.engine.data.picture import NOTHING
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.image.cover import clear, cover, finish
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.make_view import make_corners, make_picture, make_views
from sim_bridge.sight.cones import cones_of
from sim_bridge.sight.exposure import Exposure

ALL = np.zeros(0, np.int64)
FAR = 1e4
QUIET = Exposure().depth_noise(0)


def looking(eye, target):
    """Return the pose for a camera at `eye`, upright, with z towards `target`, (1, 12)."""
    ahead = np.subtract(target, eye).astype(float)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    turned = np.stack([right, np.cross(ahead, right), ahead], axis=-1)
    return np.concatenate([turned.ravel(), eye]).astype(float)[None]


def scene_of(world):
    """Return the geometry part and the body poses at the world's state."""
    world.raycasts(np.zeros((1, 3)), np.ones((1, 3)))
    handle = world.simulation.cache.handles.rays.handle
    return handle.part(Geometry), handle.part(Workspace).pose


def picture_of(scene, camera, lens, size, rows=(), seen=ALL, far=FAR):
    """Return the picture; size: (width, height). rows: where bands after the first begin."""
    geometry, pose = scene
    cones = cones_of(geometry)
    width, height = size
    picture, corners = make_picture(width, height), make_corners(geometry)
    views = make_views(lens, width, height)
    for band in zip([0, *rows], [*rows, height], strict=True):
        clear(*band, far, picture)
        for view in views:
            cover(geometry, pose, camera, seen, cones, lens, view, *band, picture, corners)
        for view in views:
            finish(*band, lens, view, picture)
    return picture


def cast_picture(world, camera, lens, size):
    """Return distances and geometries by ray casts, closed shapes from outside only."""
    width, height = size
    rays = np.zeros((height, width, 3))
    fill_rays(lens, rays)
    rays = rays.reshape(-1, 3)
    is_ray = ~np.isnan(rays[:, 0])
    rotation, eye = camera[0, :9].reshape(3, 3), camera[0, 9:]
    ways = np.where(is_ray[:, None], rays, 0.0) @ rotation.T * FAR
    share, item = cast_lines(world, np.broadcast_to(eye, ways.shape), eye + ways)
    with np.errstate(invalid='ignore'):
        distance = share / np.linalg.norm(rays, axis=1)
    item = np.where(is_ray, item, NOTHING)
    distance = np.where(item == NOTHING, np.inf, distance)
    return distance.reshape(height, width), item.reshape(height, width)


def cast_lines(world, starts, ends):
    """Return distances and geometries on lines (n, 3), closed shapes from outside only."""
    starts = np.ascontiguousarray(starts)
    geometry, _ = scene_of(world)
    is_open = (geometry.shape > MESH) | (geometry.flags & SOLID == 0) & (geometry.shape == MESH)
    search, share, item = world.simulation.cache.handles.rays, np.inf, np.array(NOTHING)
    for allowed, options in ((~is_open, 1), (is_open, 0)):
        found = search.nearest(
            starts, ends, len(ends), np.ascontiguousarray(allowed, np.int64), options
        )
        here = np.where(found.geometries >= 0, found.distances, np.inf)
        item = np.where(here < share, found.geometries, item)
        share = np.minimum(here, share)
    return share, item
