"""
Samples at edges.

A pixel at an edge gets several directions on a grid. All of them form an image of their own, with
a block of rows for each pixel, and are seen and shaded as an image.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import (
    Float32Cube,
    FloatCube,
    Int32Matrix,
    Int32Vector,
    UInt8Matrix,
)
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.geometry import Geometry, PLANE
from sim_bridge.engine.data.lens import Lens
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.lens import ray_of
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, ZERO

_SHARP = 0.95
"""Cosine between neighbours' normals below which their border is an edge."""


@entry
def mark_edges(
    geometry: Geometry,
    first_row: int,
    end_row: int,
    picture: Picture,
    normal: Float32Cube,
    lit: Int32Matrix,
    edge_inout: UInt8Matrix,
):
    """
    Mark pixels whose neighbour shows another geometry, direction, or light and shadow, by 1.

    picture, normal, lit: whole image, after shading.
    """
    for v in range(first_row, end_row):
        for u in range(edge_inout.shape[1]):
            if edge_inout[v, u] == 0 and _is_edge(geometry, picture, normal, lit, v, u):
                edge_inout[v, u] = 1


@kernel
def _is_edge(geometry, picture, normal, lit, v, u):
    item = picture.item[v, u]
    # a plane has one normal
    has_normals = item != NOTHING and geometry.shape[max(item, 0)] != PLANE
    for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        row = min(max(v + down, 0), picture.item.shape[0] - 1)
        column = min(max(u + across, 0), picture.item.shape[1] - 1)
        if picture.item[row, column] != item or lit[row, column] != lit[v, u]:
            return True
        if has_normals and dot(load3(normal[row], column, 0), load3(normal[v], u, 0)) < _SHARP:
            return True
    return False


@entry
def list_edges(
    first_row: int, end_row: int, edge: UInt8Matrix, ray: FloatCube, pixel_out: Int32Vector
):
    """Write the numbers of the marked pixels with a ray; return their count."""
    count, width = 0, edge.shape[1]
    for v in range(first_row, end_row):
        for u in range(width):
            if edge[v, u] != 0 and not math.isnan(ray[v, u, 0]):
                pixel_out[count] = v * width + u
                count += 1
    return count


@entry
def make_samples(
    lens: Lens, pixel: Int32Vector, first: int, count: int, width: int, ray_out: FloatCube
):
    """
    Write the rays of all samples.

    pixel: from `list_edges`, `count` of them from `first`. width: of the image. ray_out: (count *
    side, side, 3), a square of side² directions for each pixel.
    """
    side = ray_out.shape[1]
    for k in range(count):
        v, u = pixel[first + k] // width, pixel[first + k] % width
        for row in range(side):
            down = (float(row) + 0.5) / float(side) - 0.5
            for column in range(side):
                across = (float(column) + 0.5) / float(side) - 0.5
                d = ray_of(lens, float(u) + across, float(v) + down)
                store3(ray_out[k * side + row], column, 0, d)


@entry
def average_samples(
    pixel: Int32Vector,
    first: int,
    count: int,
    ray: FloatCube,
    light: Float32Cube,
    light_out: Float32Cube,
):
    """Write the mean light of each pixel's samples with a ray; arguments as `make_samples`."""
    side, width = ray.shape[1], light_out.shape[1]
    for k in range(count):
        total, seen = ZERO, 0
        for row in range(k * side, (k + 1) * side):
            for column in range(side):
                if not math.isnan(ray[row, column, 0]):
                    total, seen = add(total, load3(light[row], column, 0)), seen + 1
        if seen > 0:
            v, u = pixel[first + k] // width, pixel[first + k] % width
            store3(light_out[v], u, 0, scale(1.0 / float(seen), total))
