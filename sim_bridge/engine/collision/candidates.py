"""Collision stages that a set of geometries may ever need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.collision.broad.filters import is_closed, is_watched
from sim_bridge.engine.data.geometry import (
    BOX,
    Geometry,
    HEIGHT_FIELD,
    HOLLOW,
    LINE,
    MESH,
    PLANE,
    STATIC,
)

_MANY = 3000  # above this geometry count no pairs are examined: their matrix would be large
_CLOSED = np.array(
    [[is_closed(a, b) for b in range(HEIGHT_FIELD + 1)] for a in range(HEIGHT_FIELD + 1)]
)


class Needs(NamedTuple):
    """
    Pair classes that may collide now, or after geometries are enabled or regrouped.

    The SENSOR flag of static geometries counts as currently set.
    """

    any: bool
    convex: bool
    """Pairs of convex shapes without a closed form."""
    surface: bool
    """Pairs with a mesh or a height field, without hollow shape or line."""
    hollow: bool
    """Pairs with a hollow shape, without line."""
    line: bool
    """Pairs with a line."""


def find_needs(geometry: Geometry) -> Needs:
    """Find the needs over all pairs of geometries from different bodies, except excluded pairs."""
    shape, is_line = geometry.shape, (geometry.flags & LINE) != 0
    if len(shape) > _MANY:
        hollow, surface = shape == HOLLOW, (shape >= MESH) & (shape != HOLLOW)
        convex = (shape > BOX) & (shape < MESH) & ~is_line
        kinds = convex, surface, hollow, is_line
        return Needs(True, *(bool(kind.any()) for kind in kinds))
    body, moves = geometry.body, (geometry.flags & STATIC) == 0
    watched = is_watched(np.bitwise_or.outer(geometry.flags, geometry.flags))
    key = (np.minimum.outer(body, body) + 1 << 32) | (np.maximum.outer(body, body) + 1)
    high = np.maximum.outer(shape, shape)
    may = (
        np.not_equal.outer(body, body)
        & (np.logical_or.outer(moves, moves) | watched)
        & (high > PLANE)
        & ~np.isin(key, geometry.excluded)
    )
    if len(geometry.excluded) and geometry.excluded[0] < 0:
        number = np.arange(len(shape))
        pair = np.minimum.outer(number, number) + 1 << 32 | np.maximum.outer(number, number) + 1
        may &= ~np.isin(-pair, geometry.excluded)
    line = np.logical_or.outer(is_line, is_line)
    hollow = np.logical_or.outer(shape == HOLLOW, shape == HOLLOW) & ~line
    surface = (high >= MESH) & ~hollow & ~line
    convex = (high < MESH) & ~_CLOSED[shape[:, None], shape] & ~line
    kinds = may, may & convex, may & surface, may & hollow, may & line
    return Needs(*(bool(kind.any()) for kind in kinds))
