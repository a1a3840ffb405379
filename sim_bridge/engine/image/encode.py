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
from sim_bridge.engine.data.noise import PixelNoise
from sim_bridge.engine.image.noise import is_noisy, noise_at

# OpenCV's weights for grey from encoded red, green and blue (ITU-R BT.601)
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114


@entry
def fill_colors(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    gain: float,
    tone: UInt8Vector,
    noise: PixelNoise,
    red: int,
    color_out: UInt8Cube,
):
    """
    Fill some rows with colours: rgb8, bgr8, rgba8, bgra8.

    light: (height, width, 3) linear, multiplied by the gain. tone: sRGB values for evenly spaced
    linear ones. noise: of sRGB values, 0 to 255. red: column for red, 0 or 2. color_out: (height,
    width, 3), or 4 with opacity 255.
    """
    for v in range(first_row, end_row):
        for u in range(color_out.shape[1]):
            for k in range(3):
                channel = abs(red - k)
                value = _encoded(light, gain, tone, v, u, channel)
                if is_noisy(noise):
                    value = math.floor(_noisy(noise, light, v, u, channel, float(value)) + 0.5)
                color_out[v, u, k] = value
            if color_out.shape[2] > 3:
                color_out[v, u, 3] = 255


@entry
def fill_mono8(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    gain: float,
    tone: UInt8Vector,
    noise: PixelNoise,
    grey_out: UInt8Matrix,
):
    """Fill some rows with grey, encoding mono8; otherwise as `fill_colors`."""
    for v in range(first_row, end_row):
        for u in range(grey_out.shape[1]):
            grey_out[v, u] = math.floor(_grey(light, gain, tone, noise, v, u) + 0.5)


@entry
def fill_mono16(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    gain: float,
    tone: UInt8Vector,
    noise: PixelNoise,
    grey_out: UInt16Matrix,
):
    """Fill some rows with grey, encoding mono16: 257 times mono8's value, unrounded."""
    for v in range(first_row, end_row):
        for u in range(grey_out.shape[1]):
            grey_out[v, u] = math.floor(257.0 * _grey(light, gain, tone, noise, v, u) + 0.5)


@entry
def fill_bayer(
    first_row: int,
    end_row: int,
    light: Float32Cube,
    gain: float,
    tone: UInt8Vector,
    noise: PixelNoise,
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
            value = _encoded(light, gain, tone, v, u, channel)
            if is_noisy(noise):
                value = math.floor(_noisy(noise, light, v, u, channel, float(value)) + 0.5)
            color_out[v, u] = value


@kernel
def _encoded(light, gain, tone, v, u, channel):
    """Return a pixel's 8-bit sRGB value."""
    top = float(tone.shape[0] - 1)
    share = min(max(gain * light[v, u, channel], 0.0), 1.0)
    return tone[math.floor(share * top + 0.5)]


@kernel
def _noisy(noise, light, v, u, channel, value):
    """Return a value with noise; each channel has its own number, in all encodings."""
    number = (v * light.shape[1] + u) * 4 + channel
    return min(max(value + noise_at(noise, number, value), 0.0), 255.0)


@kernel
def _grey(light, gain, tone, noise, v, u):
    """Return a pixel's grey, unrounded; noise is added to it."""
    red, green = _encoded(light, gain, tone, v, u, 0), _encoded(light, gain, tone, v, u, 1)
    value = _RED * red + _GREEN * green + _BLUE * _encoded(light, gain, tone, v, u, 2)
    return _noisy(noise, light, v, u, 3, value) if is_noisy(noise) else value
