"""Surfaces of shapes as triangles, to be drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.polyhedra import (
    closed_down,
    ConvexHull,
    field_surface,
    HeightField,
    TriangleMesh,
)
from sim_bridge.shapes.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HollowCone,
    HollowCylinder,
    Shape,
    Sphere,
)

_CORNERS = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0], indexing='ij'), -1)
_FACES = np.array([
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)], np.int64)


class Surface(NamedTuple):
    """vertices: (n, 3) [m]. triangles: (m, 3) corners, counterclockwise seen from outside."""

    vertices: FloatArray
    triangles: IntArray


def surface(shape: Shape, sides: int = 32) -> Surface:
    """
    Return the surface of a shape in its frame; round ones have so many sides about z.

    Raises InvalidValueError for a plane, which has no end.
    """
    if isinstance(shape, Box):
        return Surface(_CORNERS.reshape(-1, 3) * shape.half_extents, _FACES)
    if isinstance(shape, (Sphere, Ellipsoid)):
        ball = revolved(_arc(-0.5 * np.pi, 0.5 * np.pi, sides), sides)
        return Surface(ball.vertices * shape.half_extents, ball.triangles)
    if isinstance(shape, (Capsule, Cylinder, Cone)):
        r, end = shape.radius, 0.5 * shape.length
        if isinstance(shape, Capsule):
            cap = r * _arc(0.0, 0.5 * np.pi, sides // 2)
            both = np.concatenate([cap[::-1] * (1, -1) - (0, end), cap + (0, end)])
            return revolved(both, sides)
        top = shape.top_radius if isinstance(shape, Cone) else r
        rim = [(top, end)] if top > 0.0 else []
        return revolved(np.array([(0.0, -end), (r, -end), *rim, (0.0, end)]), sides)
    if isinstance(shape, (HollowCone, HollowCylinder)):
        bottom, half, upper = shape.engine_size
        low, high = shape.bore
        return revolved(np.array(
            [(low, -half), (bottom, -half), (upper, half), (high, half), (low, -half)]), sides)
    if isinstance(shape, HeightField):
        return _terrain(*field_surface(shape), shape.bottom)
    if isinstance(shape, TriangleMesh):
        return _terrain(shape.vertices, shape.triangles, shape.bottom)
    if isinstance(shape, ConvexHull):
        return Surface(shape.vertices, shape.triangles)
    raise InvalidValueError('shape', shape, 'a shape with a finite surface')


def revolved(profile: FloatArray, sides: int) -> Surface:
    """Return the surface that a profile (k, 2) of radius and z, from below, leaves about z [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    turned = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    ring = profile[:, None, :1] * turned
    height = np.broadcast_to(profile[:, None, 1:], (len(profile), sides, 1))
    k, i = (each.ravel() for each in np.indices((len(profile) - 1, sides)))
    low, high = sides * k, sides * (k + 1)
    following = (i + 1) % sides
    first = np.stack([low + i, low + following, high + following], axis=1)[profile[k, 0] > 0.0]
    second = np.stack([low + i, high + following, high + i], axis=1)[profile[k + 1, 0] > 0.0]
    return Surface(
        np.concatenate([ring, height], axis=-1).reshape(-1, 3), np.concatenate([first, second]))


def _arc(start: float, end: float, count: int) -> FloatArray:
    """Return (count + 1, 2) radius and z of a unit circle between two angles above the equator."""
    angles = np.linspace(start, end, count + 1)
    radii = np.cos(angles)
    # poles are single points
    return np.stack([np.where(radii < 1e-12, 0.0, radii), np.sin(angles)], axis=1)


def _terrain(vertices: FloatArray, triangles: IntArray, bottom: float | None) -> Surface:
    """Return a surface, closed down to the bottom where there is one."""
    if bottom is None:
        return Surface(vertices, triangles)
    return Surface(*closed_down(vertices, triangles, bottom))
