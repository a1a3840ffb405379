"""Visual surfaces on bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_bridge.engine.collision.build import GeometryRecord
from sim_bridge.engine.collision.mesh.surface_mesh import surface_mesh
from sim_bridge.engine.data.geometry import MESH
from sim_bridge.foreign.appearance import Color, Piece
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.shapes.shape_records import shape_record
from sim_bridge.shapes.shapes import Shape

WORLD = -1
"""Body for visuals at rest."""
GREY: Color = (0.72, 0.73, 0.75, 1.0)
WHITE: Color = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Visual:
    """
    One surface with one appearance, fixed to a body.

    surface: a shape, or one piece of a mesh file. body: pose row, or WORLD. rotation,
    position: surface frame in the body frame, (3, 3) and (3,) [m]. scale: factors for a piece's
    vertices. color: sRGB and opacity, for surfaces without their own. emissive: emitted light,
    linear, relative to white. checker: side of a plane's squares [m], and their second colour.
    label: semantic label, 0 for background. instance: object number; an object's pieces share it.
    name: used in messages only.
    """

    surface: Shape | Piece
    body: int = WORLD
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))
    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    color: Color = GREY
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    checker: tuple[float, Color] | None = None
    label: int = 0
    instance: int = 0
    name: str = ''

    @property
    def base_color(self) -> Color:
        """Mesh file's colour if it has one, white below paint, else the visual's."""
        if isinstance(self.surface, Piece):
            if self.surface.color is not None:
                return self.surface.color
            if self.surface.is_painted:
                return WHITE
        return self.color

    @property
    def record(self) -> GeometryRecord:
        """Engine's record."""
        others: dict[str, Any] = {
            'body': self.body,
            'rotation': self.rotation,
            'position': tuple(self.position),
            'name': self.name,
        }
        if isinstance(self.surface, Shape):
            return shape_record(self.surface, **others)
        vertices = self.surface.vertices.astype(float) * self.scale
        triangles = self.surface.triangles.astype(np.int64)
        return GeometryRecord(
            MESH,
            vertices=vertices,
            triangles=triangles,
            surface=surface_mesh(vertices, triangles),
            **others,
        )
