"""Image encodings in sensor_msgs, from linear light."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import (
    Float32Cube,
    UInt8Cube,
    UInt8Matrix,
    UInt8Vector,
    UInt16Matrix,
)
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel

# OpenCV's weights for grey from encoded red, green and blue (ITU-R BT.601)
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114


@entry
def fill_colors(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    tone: UInt8Vector,
    red: int,
    color_out: UInt8Cube,
):
    """
    Fill some rows with colours: rgb8, bgr8, rgba8, bgra8.

    light: (height, width, 3) linear. tone: sRGB values for evenly spaced linear ones. red: column
    for red, 0 or 2. color_out: (height, width, 3), or 4 with opacity 255.
    """
    for v in range(first_row, end_row):
        for u in range(color_out.shape[1]):
            for k in range(3):
                color_out[v, u, k] = _encoded(light, tone, v, u, abs(red - k))
            if color_out.shape[2] > 3:
                color_out[v, u, 3] = 255


@entry
def fill_mono8(
    first_row: int, end_row: int, light: Float32Cube, tone: UInt8Vector, grey_out: UInt8Matrix
):
    """Fill some rows with grey, encoding mono8; otherwise as `fill_colors`."""
    for v in range(first_row, end_row):
        for u in range(grey_out.shape[1]):
            grey_out[v, u] = math.floor(_grey(light, tone, v, u) + 0.5)


@entry
def fill_mono16(
    first_row: int, end_row: int, light: Float32Cube, tone: UInt8Vector, grey_out: UInt16Matrix
):
    """Fill some rows with grey, encoding mono16: 257 times mono8's value, unrounded."""
    for v in range(first_row, end_row):
        for u in range(grey_out.shape[1]):
            grey_out[v, u] = math.floor(257.0 * _grey(light, tone, v, u) + 0.5)


@entry
def fill_bayer(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    tone: UInt8Vector,
    red_row: int,
    red_column: int,
    color_out: UInt8Matrix,
):
    """
    Fill some rows with one colour for each pixel, encodings bayer_*8.

    red_row, red_column: red's place in each square with four pixels; blue is opposite.
    """
    for v in range(first_row, end_row):
        for u in range(color_out.shape[1]):
            is_red_row, is_red_column = (v & 1) == red_row, (u & 1) == red_column
            channel = 1
            if is_red_row == is_red_column:
                channel = 0 if is_red_row else 2
            color_out[v, u] = _encoded(light, tone, v, u, channel)


@kernel
def _encoded(light, tone, v, u, channel):
    """Return a pixel's 8-bit sRGB value."""
    top = float(tone.shape[0] - 1)
    share = min(max(light[v, u, channel], 0.0), 1.0)
    return tone[math.floor(share * top + 0.5)]


@kernel
def _grey(light, tone, v, u):
    red, green = _encoded(light, tone, v, u, 0), _encoded(light, tone, v, u, 1)
    return _RED * red + _GREEN * green + _BLUE * _encoded(light, tone, v, u, 2)
