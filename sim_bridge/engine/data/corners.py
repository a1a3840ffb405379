"""Scratch for surfaces that are walked: mesh vertices as seen, and a clipped polygon."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

# columns in Corners.seen
ACROSS_X, ACROSS_Y, U, V = range(4)


class Corners(NamedTuple):
    """
    The vertices of one mesh at a time, each computed when it is first needed.

    One object for each thread.
    """

    point: Annotated[FloatMatrix, Dims('vertices', 3, unit='m')]
    """Place in the frame of the view or pencil."""
    seen: Annotated[FloatMatrix, Dims('vertices', 4, unit='1; px')]
    """
    x and y across the view or pencil, and the pixel, for views.

    The first one needed is nan for a vertex that is not in front of the origin, or not in the
    view's domain.
    """
    stamp: Annotated[IntVector, Dims('vertices + 1')]
    """Number of the visit that has computed the vertex; behind them, the present number."""
    polygon: Annotated[FloatMatrix, Dims(16, 3, unit='m')]
    """Two polygons, see `outline.clip`."""
