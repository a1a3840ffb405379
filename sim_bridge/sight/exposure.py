"""Gain, noise and time for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sim_bridge.description.cameras import CameraNoise
from sim_bridge.engine.data.noise import PixelNoise

_QUANTILES = 4096
_NORMAL = np.array([NormalDist().inv_cdf((k + 0.5) / _QUANTILES) for k in range(_QUANTILES)])
_NORMAL /= _NORMAL.std()
_WHITE = 255.0
_DEPTH_SALT = 0x5851F42D4C957F2D


@dataclass(frozen=True)
class Exposure:
    """
    Gain, noise and times for a camera.

    gain: factor for the light. image: noise in encoded values, 1 for white. depth: noise in depths
    [m]. time: each row's exposure [s]. blur_samples: instants in this time whose light is
    averaged. readout: from the first row's exposure to the last one's [s]; 0: all at once.
    """

    gain: float = 1.0
    image: CameraNoise = CameraNoise()
    depth: CameraNoise = CameraNoise()
    time: float = 0.0
    blur_samples: int = 1
    readout: float = 0.0

    def image_noise(self, draw: int) -> PixelNoise:
        """Return an image's noise; draw: from `draw_of`."""
        mean, stddev = _WHITE * self.image.mean, _WHITE * self.image.stddev
        return PixelNoise(draw, mean, stddev, 0.0, _NORMAL)

    def depth_noise(self, draw: int) -> PixelNoise:
        """Return the noise of depths; draw: from `draw_of`."""
        each = self.depth
        return PixelNoise(
            draw_of(draw, _DEPTH_SALT), each.mean, each.stddev, each.per_square, _NORMAL
        )


def draw_of(key: int, number: int) -> int:
    """
    Return the number from which a picture's noise is drawn, a signed 64-bit integer.

    key: of the camera in its world. number: of the picture. SplitMix64 of both.
    """
    mask = (1 << 64) - 1
    found = key & mask
    for value in (0, number & mask):
        found = (found + value + 0x9E3779B97F4A7C15) & mask
        found = ((found ^ (found >> 30)) * 0xBF58476D1CE4E5B9) & mask
        found = ((found ^ (found >> 27)) * 0x94D049BB133111EB) & mask
        found ^= found >> 31
    return found - (1 << 64) if found >> 63 else found
