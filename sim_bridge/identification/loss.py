"""Residual loss: the square, or less for outliers, such as an unmodelled touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_bridge.foundation.arrays import FloatArray

LOSSES = ('linear', 'soft_l1', 'huber', 'cauchy')
# residuals above this many times the noise count less
_SCALE = 3.0


@dataclass(frozen=True)
class Loss:
    """Loss by its name in scipy.optimize.least_squares; 'linear' is the square."""

    name: str = 'linear'

    def costs(self, residuals: FloatArray) -> FloatArray:
        """Return the residuals' costs, in the same units as their squares."""
        square = (residuals / _SCALE) ** 2
        if self.name == 'soft_l1':
            return np.asarray(_SCALE**2 * 2.0 * (np.sqrt(1.0 + square) - 1.0))
        if self.name == 'huber':
            return np.asarray(
                _SCALE**2 * np.where(square <= 1.0, square, 2.0 * np.sqrt(square) - 1.0)
            )
        if self.name == 'cauchy':
            return np.asarray(_SCALE**2 * np.log1p(square))
        return np.asarray(residuals**2)

    def shares(self, residuals: FloatArray) -> FloatArray:
        """Return factors for residuals whose squares then have the slope of the loss."""
        square = np.nan_to_num((residuals / _SCALE) ** 2)
        if self.name == 'soft_l1':
            return np.asarray((1.0 + square) ** -0.25)
        if self.name == 'huber':
            return np.asarray(np.maximum(square, 1.0) ** -0.25)
        if self.name == 'cauchy':
            return np.asarray((1.0 + square) ** -0.5)
        return np.ones_like(square)
