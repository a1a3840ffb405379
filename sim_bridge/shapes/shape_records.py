"""Engine records for shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.engine.collision.build import GeometryRecord
from sim_bridge.engine.data.geometry import ENABLED, LINE
from sim_bridge.shapes.line import Line
from sim_bridge.shapes.polyhedra import ConvexHull, HeightField, TriangleMesh
from sim_bridge.shapes.shapes import HollowCone, HollowCylinder, Shape


def shape_record(shape: Shape, **others: Any) -> GeometryRecord:
    """Return the engine's record for a shape; others: further record fields."""
    if isinstance(shape, Line):
        flags = others.pop('flags', ENABLED) | LINE
        return GeometryRecord(shape=shape.kind, vertices=shape.ends, flags=flags, **others)
    polyhedron = shape if isinstance(shape, (ConvexHull, TriangleMesh)) else None
    has_triangles = polyhedron is not None and len(polyhedron.triangles) > 0
    return GeometryRecord(
        shape=shape.kind,
        size=shape.engine_size,
        bore=shape.bore if isinstance(shape, (HollowCone, HollowCylinder)) else (0.0, 0.0),
        vertices=None if polyhedron is None else polyhedron.vertices,
        triangles=polyhedron.triangles if polyhedron is not None and has_triangles else None,
        polytope=shape.polytope if isinstance(shape, ConvexHull) else None,
        heights=shape.heights if isinstance(shape, HeightField) else None,
        bottom=shape.bottom if isinstance(shape, (HeightField, TriangleMesh)) else None,
        **others,
    )


def pose_row(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return a pose in the engine's layout: rotation by rows, then origin [m]."""
    return np.concatenate([np.ravel(rotation), position])
