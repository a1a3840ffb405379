"""Visuals as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sight.visual import Visual

MOST_LABEL = 65535


class Scenery:
    """
    Visuals in fixed order, with their arrays; cameras and threads share one scenery.

    geometry: engine's arrays; geometry k is visual k. label, instance: (n,) by visual.
    bodies: rows that a pose array needs.
    """

    def __init__(self, visuals: Sequence[Visual]):
        """Make the arrays; raises InvalidValueError for a label that is out of range."""
        self.visuals = tuple(visuals)
        for each in self.visuals:
            if not 0 <= each.label <= MOST_LABEL:
                raise InvalidValueError(
                    'label', each.label, f'an integer from 0 to {MOST_LABEL}', each.name
                )
        self.geometry = build_geometry([each.record for each in self.visuals])
        self.label = np.array([each.label for each in self.visuals], np.int64)
        self.instance = np.array([each.instance for each in self.visuals], np.int64)
        self.bodies = 1 + max((each.body for each in self.visuals), default=-1)

    def __repr__(self) -> str:
        """Show how many visuals and triangles there are."""
        return f'<Scenery: {len(self.visuals)} visuals, {len(self.geometry.triangle)} triangles>'
