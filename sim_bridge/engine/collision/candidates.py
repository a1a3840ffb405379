"""Collision stages that a set of geometries can ever need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.collision.broad.filters import is_closed, is_watched
from sim_bridge.engine.data.geometry import BOX, Geometry, HEIGHT_FIELD, MESH, PLANE, STATIC

_MANY = 3000  # geometries for which nothing is looked up: a matrix of their pairs would be large
_CLOSED = np.array([[is_closed(a, b) for b in range(HEIGHT_FIELD + 1)]
                    for a in range(HEIGHT_FIELD + 1)])


class Needs(NamedTuple):
    """
    Kinds of pairs that may collide now, or once they are enabled or regrouped.

    Whether static ones are sensors counts as it is now.
    """

    any: bool
    convex: bool
    """Pairs of convex shapes without a closed form."""
    surface: bool
    """Pairs with a mesh or a height field."""


def find_needs(geometry: Geometry) -> Needs:
    """Find the needs of all pairs of geometries of different bodies that are not excluded."""
    shape = geometry.shape
    if len(shape) > _MANY:
        surface, convex = shape >= MESH, (shape > BOX) & (shape < MESH)
        return Needs(True, bool(convex.any()), bool(surface.any()))
    body, moves = geometry.body, (geometry.flags & STATIC) == 0
    watched = is_watched(np.bitwise_or.outer(geometry.flags, geometry.flags))
    key = (np.minimum.outer(body, body) + 1 << 32) | (np.maximum.outer(body, body) + 1)
    high = np.maximum.outer(shape, shape)
    may = (np.not_equal.outer(body, body) & (np.logical_or.outer(moves, moves) | watched)
           & (high > PLANE) & ~np.isin(key, geometry.excluded))
    surface = high >= MESH
    kinds = may, may & ~surface & ~_CLOSED[shape[:, None], shape], may & surface
    return Needs(*(bool(kind.any()) for kind in kinds))
