"""Pixels around the image of a triangle."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.lens import PINHOLE
from sim_bridge.engine.data.picture import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from sim_bridge.engine.image.lens import nearest_pixel
from sim_bridge.engine.image.outline import clip, NEAREST, size_of
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.vec3 import load3, store3

SLACK = 1e-7
"""Pixels by which the box around an image is enlarged against rounding."""


@kernel
def turn_of(view):
    """Return the rotation from the camera frame."""
    return load3(view.turn, 0, 0), load3(view.turn, 1, 0), load3(view.turn, 2, 0)


@kernel
def pixels_of(a, b, c, frustum, polygon_out):
    """Return first and end column, first and end row around a triangle's image."""
    lens, view, band, row_span = frustum
    if lens.model == PINHOLE:
        is_plain = min(a[2], b[2], c[2]) > NEAREST * max(size_of(a), size_of(b), size_of(c))
    else:
        is_plain = is_within(a, view.domain) and (
            is_within(b, view.domain) and is_within(c, view.domain)
        )
    if is_plain:
        store3(polygon_out, 0, 0, a)
        store3(polygon_out, 1, 0, b)
        store3(polygon_out, 2, 0, c)
        return _box_around(lens, view, row_span, 0, 3, polygon_out)
    first, count = clip(a, b, c, band, polygon_out)
    return _box_around(lens, view, row_span, first, count, polygon_out)


@kernel
def is_within(a, domain):
    """Return whether a point is in front of the origin and in a view's domain."""
    return (
        a[2] > 0.0
        and domain[X_LOW] * a[2] <= a[0] <= domain[X_HIGH] * a[2]
        and domain[Y_LOW] * a[2] <= a[1] <= domain[Y_HIGH] * a[2]
    )


@kernel
def _box_around(lens, view, row_span, first, count, polygon):
    """Return the pixels around a polygon in front, as `pixels_of`."""
    width = view.ray.shape[1]
    u_low, u_high, v_low, v_high = math.inf, -math.inf, math.inf, -math.inf
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for k in range(first, first + count):
        p = load3(polygon, k, 0)
        if not p[2] > NEAREST * size_of(p):
            # the origin itself is in the polygon's plane
            return 0, width, row_span[0], row_span[1]
        if lens.model == PINHOLE:
            share = 1.0 / p[2]
            x, y = share * p[0], share * p[1]
            u, v = lens.fx * x + float(lens.skew * y) + lens.cx, lens.fy * y + lens.cy
        else:
            x, y = p[0] / p[2], p[1] / p[2]
            u, v = nearest_pixel(lens, mul_tv(turn_of(view), p))
        u_low, u_high, v_low, v_high = min(u_low, u), max(u_high, u), min(v_low, v), max(v_high, v)
        x_low, x_high, y_low, y_high = min(x_low, x), max(x_high, x), min(y_low, y), max(y_high, y)
    room = room_around(view, x_high - x_low, y_high - y_low)
    frustum = (lens, view, (0.0, 0.0, 0.0, 0.0), row_span)
    return pixels_within(frustum, u_low - room, u_high + room, v_low - room, v_high + room)


@kernel
def room_around(view, wide, high):
    """Return the pixels by which a box is enlarged; wide, high: extent of the triangle."""
    return view.bend * (wide * wide + high * high) + SLACK


@kernel
def pixels_within(frustum, u_low, u_high, v_low, v_high):
    """Return the pixels between bounds, as `pixels_of`."""
    _, view, _, row_span = frustum
    # bounds far beyond the image have no integer
    width = view.ray.shape[1]
    u_low, u_high = max(u_low, -1.0), min(u_high, float(width))
    v_low, v_high = max(v_low, -1.0), min(v_high, float(view.ray.shape[0]))
    return (
        max(math.ceil(u_low), 0),
        min(math.floor(u_high) + 1, width),
        max(math.ceil(v_low), row_span[0]),
        min(math.floor(v_high) + 1, row_span[1]),
    )
