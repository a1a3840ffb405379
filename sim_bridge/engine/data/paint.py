"""Textures and vertex colours."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import (
    Float32Matrix,
    FloatVector,
    IntMatrix,
    IntVector,
    UInt8Matrix,
)
from sim_bridge.engine.data.parts import Dims

NO_PAINT = -1
"""Texture of a geometry without one."""
# columns in Paint.level
FIRST, HEIGHT, WIDTH = range(3)


class Paint(NamedTuple):
    """
    Colours that vary over meshes.

    A triangle of a painted geometry has its rows at the triangle's number plus the geometry's
    offset.
    """

    texture: Annotated[IntVector, Dims('ng', points_at='textures')]
    """Texture of each geometry, or NO_PAINT."""
    place_offset: Annotated[IntVector, Dims('ng')]
    """From a triangle's number to its row in `corner_place`."""
    corner_place: Annotated[Float32Matrix, Dims('textured', 6, unit='1')]
    """Texture coordinates u, v at each corner, from the lower left; the texture is repeated."""
    is_colored: Annotated[IntVector, Dims('ng')]
    """Whether the geometry has vertex colours, 0 or 1."""
    color_offset: Annotated[IntVector, Dims('ng')]
    """From a triangle's number to its row in `corner_color`."""
    corner_color: Annotated[Float32Matrix, Dims('colored', 12)]
    """Linear red, green, blue, and opacity at each corner."""
    level_range: Annotated[IntMatrix, Dims('textures', 2, points_at='levels')]
    """Rows in `level`: the full size first, then each half the one before."""
    level: Annotated[IntMatrix, Dims('levels', 3)]
    """FIRST row in `texel`, HEIGHT and WIDTH; rows of pixels from the top."""
    texel: Annotated[UInt8Matrix, Dims('texels', 4)]
    """sRGB red, green, blue, and opacity."""
    tone: Annotated[FloatVector, Dims(256)]
    """Linear values of sRGB values."""
