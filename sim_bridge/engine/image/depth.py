"""Depth images and points, as ROS messages hold them (REP 117, REP 118)."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import Float32Cube, Float32Matrix, FloatCube, UInt16Matrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.noise import PixelNoise
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.noise import is_noisy, noise_at
from sim_bridge.engine.math.vec3 import load3, scale, store3

MOST_MILLIMETRES = 65535


@entry
def fill_depth(
    first_row: int,
    end_row: int,
    picture: Picture,
    ray: FloatCube,
    near: float,
    noise: PixelNoise,
    depth_out: Float32Matrix,
):
    """
    Fill some rows with depths along the optical axis [m], encoding 32FC1.

    ray: (height, width, 3) from `lens.fill_rays`. near: near plane [m]. noise: of depths [m]; no
    depth gets below `near`. depth_out: (height, width) -inf before the near plane, inf where
    nothing is seen.
    """
    for v in range(first_row, end_row):
        for u in range(depth_out.shape[1]):
            depth_out[v, u] = _depth(picture, ray, near, noise, v, u)


@entry
def fill_millimetres(
    first_row: int,
    end_row: int,
    picture: Picture,
    ray: FloatCube,
    near: float,
    noise: PixelNoise,
    depth_out: UInt16Matrix,
):
    """
    Fill some rows with depths in whole millimetres, encoding 16UC1; otherwise as `fill_depth`.

    depth_out: 0 before the near plane, where nothing is seen, and beyond 65.535 m.
    """
    for v in range(first_row, end_row):
        for u in range(depth_out.shape[1]):
            depth = _depth(picture, ray, near, noise, v, u)
            rounded = math.floor(1000.0 * depth + 0.5)
            is_told = depth >= near and rounded <= MOST_MILLIMETRES
            depth_out[v, u] = rounded if is_told else 0


@entry
def fill_points(
    first_row: int,
    end_row: int,
    picture: Picture,
    ray: FloatCube,
    near: float,
    noise: PixelNoise,
    point_out: Float32Cube,
):
    """
    Fill some rows with the points seen, in the camera frame [m]; otherwise as `fill_depth`.

    point_out: (height, width, 3) or wider; nan where `fill_depth` is infinite.
    """
    for v in range(first_row, end_row):
        for u in range(point_out.shape[1]):
            point = (math.nan, math.nan, math.nan)
            depth = _depth(picture, ray, near, noise, v, u)
            if near <= depth < math.inf:
                point = scale(picture.distance[v, u], load3(ray[v], u, 0))
                if is_noisy(noise):
                    point = scale(depth / point[2], point)
            store3(point_out[v], u, 0, point)


@kernel
def _depth(picture, ray, near, noise, v, u):
    """Return a pixel's depth along the optical axis, as `fill_depth`."""
    distance = picture.distance[v, u]
    # without a view, `finish` has not set the distance
    if not distance < math.inf or picture.item[v, u] == NOTHING:
        return math.inf
    depth = distance * ray[v, u, 2]
    if depth < near:
        return -math.inf
    if is_noisy(noise):
        depth = max(depth + noise_at(noise, v * ray.shape[1] + u, depth), near)
    return depth
