"""Triangle surfaces for drawing shapes."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.outlines import arc, box, revolved, Surface
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


def tessellated(shape: Shape, sides: int = 32) -> Surface:
    """
    Return a shape's surface in its frame. sides: facets about z, for round shapes.

    Raises InvalidValueError for a plane: it is infinite.
    """
    if isinstance(shape, Box):
        return box(shape.half_extents)
    if isinstance(shape, (Sphere, Ellipsoid)):
        ball = revolved(arc(-0.5 * np.pi, 0.5 * np.pi, sides), sides)
        return Surface(ball.vertices * shape.half_extents, ball.triangles)
    if isinstance(shape, (Capsule, Cylinder, Cone)):
        r, end = shape.radius, 0.5 * shape.length
        if isinstance(shape, Capsule):
            cap = r * arc(0.0, 0.5 * np.pi, sides // 2)
            both = np.concatenate([cap[::-1] * (1, -1) - (0, end), cap + (0, end)])
            return revolved(both, sides)
        top = shape.top_radius if isinstance(shape, Cone) else r
        rim = [(top, end)] if top > 0.0 else []
        return revolved(np.array([(0.0, -end), (r, -end), *rim, (0.0, end)]), sides)
    if isinstance(shape, (HollowCone, HollowCylinder)):
        bottom, half, upper = shape.engine_size
        low, high = shape.bore
        return revolved(
            np.array([(low, -half), (bottom, -half), (upper, half), (high, half), (low, -half)]),
            sides,
        )
    if isinstance(shape, HeightField):
        return _terrain(*field_surface(shape), shape.bottom)
    if isinstance(shape, TriangleMesh):
        return _terrain(shape.vertices, shape.triangles, shape.bottom)
    if isinstance(shape, ConvexHull):
        return Surface(shape.vertices, shape.triangles)
    raise InvalidValueError('shape', shape, 'a shape with a finite surface')


def _terrain(vertices: FloatArray, triangles: IntArray, bottom: float | None) -> Surface:
    """Return a surface, closed down to the bottom if it has one."""
    if bottom is None:
        return Surface(vertices, triangles)
    return Surface(*closed_down(vertices, triangles, bottom))
