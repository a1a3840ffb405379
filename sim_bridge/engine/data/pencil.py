"""
Pencils: lines from one point, or parallel lines.

In the pencil's frame, a line from the origin has the points (x z, y z, z), a parallel line the
points (x, y, z).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, Int32Vector, IntVector
from sim_bridge.engine.data.parts import Dims

# columns in Pencil.line and in given lines
X, Y, DEPTH, PAST_DEPTH, PAST_ITEM, PAST_FACE = range(6)
# columns in Pencil.span and Mask.span; a mask has the first six
LOW_X, HIGH_X, LOW_Y, HIGH_Y, PER_X, PER_Y, DEEPEST = range(7)
SPAN_SIZE = 7


class Pencil(NamedTuple):
    """Lines sorted into cells by x and y, and the nearest surface on each."""

    line: Annotated[FloatMatrix, Dims('lines', 6, unit='1; m')]
    """
    X, Y, and DEPTH up to the nearest surface so far; at first the line's end.

    Lines with six columns see only surfaces behind the one at PAST_DEPTH, PAST_ITEM, PAST_FACE.
    """
    source: Annotated[Int32Vector, Dims('lines')]
    """Row in the given order."""
    item: Annotated[Int32Vector, Dims('lines', points_at='ng')]
    """Geometry of the nearest surface, or NOTHING."""
    face: Annotated[Int32Vector, Dims('lines')]
    """Its triangle or face."""
    cell_start: Annotated[IntVector, Dims('cells + 2')]
    """First line in each cell; cells by rows. The last entry is scratch."""
    span: Annotated[FloatVector, Dims(7)]
    """Least and greatest x and y, cells per x and per y, greatest depth."""
    columns: int
    rows: int
    is_parallel: int
    """0 or 1."""
    across: float
    """Bound on |x| + |y|, which does not depend on the lines present."""


class Mask(NamedTuple):
    """Coarse picture of the boxes around surfaces: lines before them meet nothing."""

    depth: Annotated[FloatMatrix, Dims('mask_rows', 'mask_columns', unit='m')]
    """Least depth of the boxes in each cell, infinite for none."""
    span: Annotated[FloatVector, Dims(7)]
    """Bounds of all boxes, as in `Pencil`; no box is outside."""


(IGNORED, WHOLE, CUT) = range(3)
"""Roles of geometries: not seen, seen everywhere, seen where the opacity is at least a half."""
