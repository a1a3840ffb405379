"""sRGB values from linear ones and back (IEC 61966-2-1)."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray


def linear_from_srgb(values: FloatArray) -> FloatArray:
    """Return linear values for sRGB values, 0 to 1."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def srgb_from_linear(values: FloatArray) -> FloatArray:
    """Return sRGB values for linear values, 0 to 1."""
    return np.where(values <= 0.0031308, 12.92 * values, 1.055 * values ** (1.0 / 2.4) - 0.055)
