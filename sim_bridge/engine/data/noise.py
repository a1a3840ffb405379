"""Noise of pixels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.engine.data.parts import Dims


class PixelNoise(NamedTuple):
    """
    Gaussian noise, drawn for each pixel by a hash of its number and the picture's key.

    mean, stddev: in the picture's unit. per_square: standard deviation over the square of the
    value.
    """

    key: int
    """Of the picture, from seed, sensor and picture number."""
    mean: float
    stddev: float
    per_square: float
    normal: Annotated[FloatVector, Dims(4096)]
    """Evenly spaced quantiles of the normal distribution, with the variance 1."""
