"""Visuals as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.description.labels import MOST_LABEL
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.data.lighting import Appearance
from sim_bridge.foreign.appearance import Color
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.srgb import linear_from_srgb
from sim_bridge.sight.cones import cones_of
from sim_bridge.sight.normals import corner_normals
from sim_bridge.sight.paint import paint_of
from sim_bridge.sight.roles import boxes_of, roles_of
from sim_bridge.sight.visual import Visual


class Scenery:
    """
    Visuals in fixed order, with their arrays; cameras and threads share one scenery.

    geometry, appearance, paint: engine's arrays; geometry k is visual k. label, instance: (n,) by
    visual. bodies: rows that a pose array needs. roles, boxes, cones: see
    `roles` and `cones`.
    """

    def __init__(self, visuals: Sequence[Visual]):
        """Make the arrays; raises InvalidValueError for a label that is out of range."""
        self.visuals = tuple(visuals)
        for each in self.visuals:
            if not 0 <= each.label <= MOST_LABEL:
                raise InvalidValueError(
                    'label', each.label, f'an integer from 0 to {MOST_LABEL}', each.name
                )
        records = [each.record for each in self.visuals]
        self.geometry = build_geometry(records)
        self.label = np.array([each.label for each in self.visuals], np.int64)
        self.instance = np.array([each.instance for each in self.visuals], np.int64)
        self.appearance = Appearance(
            base=_linear([each.base_color for each in self.visuals]),
            opacity=np.array([each.base_color[3] for each in self.visuals], float),
            emissive=np.array([each.emissive for each in self.visuals], float).reshape(-1, 3),
            checker=_checkers(self.visuals),
            corner_normal=corner_normals(self.geometry),
        )
        surfaces, meshes = [each.surface for each in self.visuals], [r.surface for r in records]
        self.paint = paint_of(surfaces, meshes, self.geometry)
        self.roles = roles_of(self.geometry, self.appearance.opacity, surfaces)
        self.boxes, self.cones = boxes_of(self.geometry), cones_of(self.geometry)
        self.bodies = 1 + max((each.body for each in self.visuals), default=-1)

    def __repr__(self) -> str:
        """Show how many visuals and triangles there are."""
        return f'<Scenery: {len(self.visuals)} visuals, {len(self.geometry.triangle)} triangles>'


def _linear(colors: Sequence[Color]) -> FloatArray:
    """Return linear red, green, blue for sRGB colours with opacity."""
    return linear_from_srgb(np.array(colors, float).reshape(-1, 4)[:, :3].copy())


def _checkers(visuals: Sequence[Visual]) -> FloatArray:
    """Return `Appearance.checker`."""
    rows = np.zeros((len(visuals), 4))
    for row, each in zip(rows, visuals, strict=True):
        if each.checker is not None:
            row[0], row[1:] = each.checker[0], _linear([each.checker[1]])[0]
    return rows
