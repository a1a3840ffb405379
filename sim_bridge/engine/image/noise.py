"""Random numbers for pixels: hashes, so that no number depends on the others drawn."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel

_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
"""Constants of SplitMix64 (Steele, Lea and Flood 2014), as signed integers."""
_INDEX = 4095
_HALF = math.sqrt(0.5)


@kernel
def mixed(x):
    """Return SplitMix64's hash of an integer."""
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND
    return x ^ ((x >> 31) & ((1 << 33) - 1))


@kernel
def is_noisy(noise):
    """Return whether there is noise."""
    return noise.stddev > 0.0 or noise.per_square > 0.0 or noise.mean != 0.0


@kernel
def noise_at(noise, number, value):
    """Return the noise for a value; number: of the pixel and channel."""
    draw = mixed(noise.key + number * _STEP)
    # the sum of two numbers from the table has tails beyond the table's
    normal = _HALF * (noise.normal[draw & _INDEX] + noise.normal[(draw >> 12) & _INDEX])
    return noise.mean + (noise.stddev + noise.per_square * (value * value)) * normal
