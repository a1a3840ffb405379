"""
Colours from textures and vertex colours.

Textures are filtered in linear light: bilinear within a level, and blended between two levels by
the pixel's footprint. Long footprints take several samples along their longer axis, as OpenGL's
EXT_texture_filter_anisotropic.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.paint import FIRST, HEIGHT, NO_PAINT, WIDTH
from sim_bridge.engine.math.vec3 import cross, dot, sub

_MOST_SAMPLES = 4
"""Samples along a long footprint."""
WHITE = (1.0, 1.0, 1.0, 1.0)


@kernel
def weights_at(corners, x):
    """Return the weights of a triangle's corners at a point in its plane; nan without area."""
    a, b, c = corners
    area = cross(sub(b, a), sub(c, a))
    square = dot(area, area)
    wb = dot(cross(sub(x, a), sub(c, a)), area) / square
    wc = dot(cross(sub(b, a), sub(x, a)), area) / square
    return 1.0 - wb - wc, wb, wc


@kernel
def is_painted(paint, g):
    """Return whether a geometry has a texture or vertex colours."""
    return paint.texture[g] != NO_PAINT or paint.is_colored[g] != 0


@kernel
def paint_at(paint, g, face, weights, beside, below):
    """
    Return linear red, green, blue, and opacity at a point on a painted mesh.

    weights: corner weights at the point. beside, below: at the points one pixel right and down.
    """
    color = WHITE
    if math.isnan(weights[0]):
        return color
    if paint.is_colored[g] != 0:
        color = _vertex_color(paint, face + paint.color_offset[g], weights)
    if paint.texture[g] != NO_PAINT:
        row = face + paint.place_offset[g]
        place = _place(paint, row, weights)
        u, v = _place(paint, row, beside)
        across = (u - place[0], v - place[1])
        u, v = _place(paint, row, below)
        down = (u - place[0], v - place[1])
        found = _texture_at(paint, paint.texture[g], place, across, down)
        color = (
            color[0] * found[0],
            color[1] * found[1],
            color[2] * found[2],
            color[3] * found[3],
        )
    return color


@kernel
def _vertex_color(paint, row, weights):
    """Return the corner colours' mean, within the range of colours."""
    return (
        _corner_mean(paint, row, 0, weights),
        _corner_mean(paint, row, 1, weights),
        _corner_mean(paint, row, 2, weights),
        _corner_mean(paint, row, 3, weights),
    )


@kernel
def _corner_mean(paint, row, k, weights):
    a, b = paint.corner_color[row, k], paint.corner_color[row, 4 + k]
    c = paint.corner_color[row, 8 + k]
    return min(max(weights[0] * a + weights[1] * b + weights[2] * c, 0.0), 1.0)


@kernel
def _place(paint, row, weights):
    """Return the texture coordinates at a point."""
    a, b, c = weights
    u = a * paint.corner_place[row, 0] + b * paint.corner_place[row, 2]
    v = a * paint.corner_place[row, 1] + b * paint.corner_place[row, 3]
    return u + c * paint.corner_place[row, 4], v + c * paint.corner_place[row, 5]


@subroutine
def _texture_at(paint, k, place, across, down):
    """Return a texture's colour and opacity over a footprint; across, down: its sides (u, v)."""
    first, end = paint.level_range[k, 0], paint.level_range[k, 1]
    wide, high = float(paint.level[first, WIDTH]), float(paint.level[first, HEIGHT])
    long_axis = across
    major = _length(across, wide, high)
    minor = _length(down, wide, high)
    if minor > major:
        long_axis, major, minor = down, minor, major
    count = 1
    if major > 1.0:
        count = min(max(math.ceil(major / max(minor, 1.0)), 1), _MOST_SAMPLES)
    width = max(minor, major / float(count))
    level = first
    while level + 1 < end and width >= 2.0:
        width = 0.5 * width
        level += 1
    share = min(max(width - 1.0, 0.0), 1.0) if level + 1 < end else 0.0
    total = (0.0, 0.0, 0.0, 0.0)
    for n in range(count):
        step = (float(n) + 0.5) / float(count) - 0.5
        u, v = place[0] + step * long_axis[0], place[1] + step * long_axis[1]
        total = _plus(total, 1.0 - share, _filtered(paint, level, u, v))
        if share > 0.0:
            total = _plus(total, share, _filtered(paint, level + 1, u, v))
    gain = 1.0 / total[3] if total[3] > 0.0 else 0.0
    return gain * total[0], gain * total[1], gain * total[2], total[3] / float(count)


@kernel
def _plus(a, share, b):
    """Return a + share b, for colour and opacity."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2], a[3] + share * b[3]


@kernel
def _length(axis, wide, high):
    """Return the length of a footprint's side in pixels of the full size; 0 for nan."""
    x, y = wide * axis[0], high * axis[1]
    return max(0.0, math.sqrt(x * x + y * y))


@subroutine
def _filtered(paint, level, u, v):
    """Return colour times opacity, and opacity, between the four pixels around a place."""
    wide, high = paint.level[level, WIDTH], paint.level[level, HEIGHT]
    x, y = u * float(wide) - 0.5, (1.0 - v) * float(high) - 0.5
    left, top = math.floor(x), math.floor(y)
    right_share, low_share = x - float(left), y - float(top)
    red, green, blue, opacity = 0.0, 0.0, 0.0, 0.0
    for row in range(2):
        down = low_share if row == 1 else 1.0 - low_share
        start = paint.level[level, FIRST] + ((top + row) % high) * wide
        for column in range(2):
            weight = down * (right_share if column == 1 else 1.0 - right_share)
            k = start + (left + column) % wide
            weight = weight * (float(paint.texel[k, 3]) / 255.0)
            red += weight * paint.tone[paint.texel[k, 0]]
            green += weight * paint.tone[paint.texel[k, 1]]
            blue += weight * paint.tone[paint.texel[k, 2]]
            opacity += weight
    return red, green, blue, opacity
