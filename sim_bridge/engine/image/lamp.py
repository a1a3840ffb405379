"""Light of one lamp on a point."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.lighting import (
    CONSTANT,
    DIRECTION,
    DIRECTIONAL,
    FALLOFF,
    INNER,
    LINEAR,
    OUTER,
    POSITION,
    QUADRATIC,
    RANGE,
    SPOT,
)
from sim_bridge.engine.math.vec3 import dot, load3, norm, scale, sub


@kernel
def lamp_strength(lighting, lamp, point, n, flat):
    """
    Return a lamp's light on a point, over its colour and without shadows; 0 on the far side.

    n: unit normal for shading. flat: the surface's own.
    """
    direction, gain = load3(lighting.place, lamp, DIRECTION), 1.0
    if lighting.kind[lamp] != DIRECTIONAL:
        way = sub(point, load3(lighting.place, lamp, POSITION))
        distance = norm(way)
        if not 0.0 < distance <= lighting.attenuation[lamp, RANGE]:
            return 0.0
        along = scale(1.0 / distance, way)
        falloff = lighting.attenuation[lamp, CONSTANT] + distance * (
            lighting.attenuation[lamp, LINEAR] + distance * lighting.attenuation[lamp, QUADRATIC]
        )
        gain = 1.0 / falloff
        if lighting.kind[lamp] == SPOT:
            gain = gain * _cone_gain(lighting, lamp, dot(along, direction))
        direction = along
    cosine = -dot(n, direction)
    # smooth normals must not light a triangle's back
    return gain * cosine if cosine > 0.0 and dot(flat, direction) < 0.0 else 0.0


@kernel
def _cone_gain(lighting, lamp, cosine):
    """Return a spot's share at an angle from its axis."""
    inner, outer = lighting.cone[lamp, INNER], lighting.cone[lamp, OUTER]
    if cosine >= inner:
        return 1.0
    if cosine <= outer:
        return 0.0
    return math.pow((cosine - outer) / (inner - outer), lighting.cone[lamp, FALLOFF])
