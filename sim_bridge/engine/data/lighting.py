"""Geometries' appearance, and lamps, as arrays; colours are linear, relative to white."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import Float32Matrix, FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.parts import Dims

(DIRECTIONAL, POINT, SPOT) = range(3)
"""Lamp kinds."""

# columns in Lighting.place, attenuation and cone
POSITION, DIRECTION = 0, 3
RANGE, CONSTANT, LINEAR, QUADRATIC = range(4)
INNER, OUTER, FALLOFF = range(3)
# rows in Lighting.sky
AMBIENT, HORIZON, ZENITH = range(3)
# columns in Appearance.checker
SIDE, SECOND = 0, 1


class Appearance(NamedTuple):
    """Colours and normals; rows as in `Geometry`."""

    base: Annotated[FloatMatrix, Dims('ng', 3)]
    """Share of light reflected: red, green, blue."""
    opacity: Annotated[FloatVector, Dims('ng')]
    """Opacity, 0 to 1; `Paint` multiplies it."""
    emissive: Annotated[FloatMatrix, Dims('ng', 3)]
    """Emitted light."""
    checker: Annotated[FloatMatrix, Dims('ng', 4, unit='m; 1')]
    """Side of a plane's checker squares, 0 for none, and the second colour."""
    corner_normal: Annotated[Float32Matrix, Dims('triangles', 9, unit='1')]
    """Unit normal at each corner, geometry frame."""


class Lighting(NamedTuple):
    """Lamps and sky."""

    kind: Annotated[IntVector, Dims('lamps')]
    """DIRECTIONAL …"""
    place: Annotated[FloatMatrix, Dims('lamps', 6, unit='m; 1')]
    """Position, and unit direction of the light, world."""
    color: Annotated[FloatMatrix, Dims('lamps', 3)]
    """Light on a surface at right angles, before attenuation."""
    attenuation: Annotated[FloatMatrix, Dims('lamps', 4)]
    """RANGE [m], and 1 / (CONSTANT + LINEAR d + QUADRATIC d²) within it (POINT, SPOT)."""
    cone: Annotated[FloatMatrix, Dims('lamps', 3, unit='1')]
    """Cosines of the INNER and OUTER half angles, exponent FALLOFF between (SPOT)."""
    casts: Annotated[IntVector, Dims('lamps')]
    """Whether shadows are cast, 0 or 1."""
    sky: Annotated[FloatMatrix, Dims(3, 3)]
    """AMBIENT light, colours at HORIZON and ZENITH."""
