"""
How sure fitted parameters are, and which combinations of them the motion tells.

Two covariances are computed: that of the least squares, with the variance of what is left, and one
that is clustered by window, which holds where what is left within a window goes together, as
errors of a model do (H. White 1984; K.-Y. Liang and S. Zeger 1986). Of both the greater counts.

Where motion tells only sums, as M. Gautier's base parameters (1991), single parameters are marked
as not told, and the sums are named, with their errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
import warnings

import numpy as np
from scipy.linalg import qr
from scipy.stats import t as student

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.identification.fit import Solution
from sim_bridge.identification.parameters import PRIOR, Quantity

LEVEL = 0.95
# of what was believed before, above which an error means that nothing was told
_TOLD = 0.1
# how much less is believed to see what data alone tell, and by how much errors may grow then
_WIDE, _FREELY = 10.0, 1.1
# of a combination, below which a share of a parameter is rounding
_SHARE = 1e-3


class Estimate(NamedTuple):
    """
    A parameter with its error.

    name: such as 'joint_1.friction'. before: the value in the file. error: standard error. low,
    high: limits of the confidence interval of LEVEL. is_identifiable: whether the motion tells it;
    if not, the value is the nearest to the file's that fits.
    """

    name: str
    unit: str
    before: float
    value: float
    error: float
    low: float
    high: float
    is_identifiable: bool

    @property
    def is_told(self) -> bool:
        """Deprecated name of `is_identifiable`."""
        warnings.warn('is_told is now called is_identifiable', DeprecationWarning, stacklevel=2)
        return self.is_identifiable


class Combination(NamedTuple):
    """A sum of parameters that is told where its terms are not; terms: factor and name."""

    terms: tuple[tuple[float, str], ...]
    unit: str
    value: float
    error: float

    def __str__(self) -> str:
        """Return the sum as text."""
        first, *others = self.terms
        text = first[1]
        for factor, name in others:
            text += f' {"-" if factor < 0.0 else "+"} {abs(factor):.4g} {name}'
        return f'{text} = {self.value:.5g} ± {self.error:.2g} {self.unit}'


class Covariances(NamedTuple):
    """
    (P, P) each, of z: by the variance of the residuals, and by windows. windows: how many.

    wide: as plain, had much less been believed before.
    """

    plain: FloatArray
    clustered: FloatArray
    wide: FloatArray
    windows: int

    def is_identifiable(self, gradient: FloatArray) -> bool:
        """Return whether data, and not what was believed before, tell something (P,)."""
        error = float(np.sqrt(gradient @ self.plain @ gradient))
        freely = float(np.sqrt(gradient @ self.wide @ gradient))
        return freely < _FREELY * error and error < _TOLD * PRIOR * float(np.linalg.norm(gradient))

    def error(self, gradient: FloatArray) -> float:
        """Return the standard error of something with a gradient (P,)."""
        return float(
            np.sqrt(max(gradient @ self.plain @ gradient, gradient @ self.clustered @ gradient))
        )

    @property
    def reach(self) -> float:
        """How many standard errors the confidence interval reaches to either side."""
        return float(student.ppf(0.5 + 0.5 * LEVEL, max(self.windows - 1, 1)))


def covariances(solution: Solution, measured: int) -> Covariances:
    """Return the covariances of what was fitted; measured: how many residuals there are."""
    windows, _, count = solution.slopes.shape
    rows = solution.slopes.reshape(-1, count)
    free = max(measured - windows * solution.starts.shape[1] - count, 1)
    variance = max(float(np.sum(solution.residuals**2)) / free, 1e-12)
    told = rows.T @ rows / variance
    inverse, wide = (
        np.linalg.inv(told + np.eye(count) / believed**2) for believed in (PRIOR, _WIDE * PRIOR)
    )
    scores = np.einsum('wrp,wr->wp', solution.slopes, solution.residuals) / variance
    spread = scores.T @ scores * (windows / max(windows - 1, 1))
    return Covariances(inverse, inverse @ spread @ inverse, wide, windows)


def untold(solution: Solution, measured: int) -> FloatArray:
    """Return (P, k) orthonormal directions of z that motion does not tell."""
    values, vectors = np.linalg.eigh(covariances(solution, measured).plain)
    found: FloatArray = vectors[:, np.sqrt(np.maximum(values, 0.0)) > _TOLD * PRIOR]
    return found


def estimates(quantities: Sequence[Quantity], spread: Covariances) -> list[Estimate]:
    """Return what is known of each quantity."""
    found = []
    for each in quantities:
        error = spread.error(each.gradient)
        low, high = each.value - spread.reach * error, each.value + spread.reach * error
        found.append(
            Estimate(
                each.name,
                each.unit,
                each.before,
                each.value,
                error,
                low,
                high,
                spread.is_identifiable(each.gradient),
            )
        )
    return found


def combinations(
    quantities: Sequence[Quantity], known: Sequence[Estimate], spread: Covariances
) -> list[Combination]:
    """Return sums that are told of those quantities that are not told themselves."""
    left = [
        each
        for each, estimate in zip(quantities, known, strict=True)
        if not estimate.is_identifiable
    ]
    if len(left) < 2:
        return []
    gradients = np.array([each.gradient for each in left])
    sizes = PRIOR * np.linalg.norm(gradients, axis=1)
    scaled = gradients / sizes[:, np.newaxis]
    values, vectors = np.linalg.eigh(scaled @ spread.plain @ scaled.T)
    told = vectors[:, np.sqrt(np.maximum(values, 0.0)) < _TOLD / np.sqrt(len(left))].T
    if not len(told):
        return []
    pivots = qr(told, mode='r', pivoting=True)[1][: len(told)]
    sums = np.linalg.solve(told[:, pivots], told)
    found = []
    for row, pivot in zip(sums, pivots, strict=True):
        kept = [k for k in np.argsort(-np.abs(row)) if abs(row[k]) > _SHARE and k != pivot]
        if not kept:
            continue
        factors = row / sizes * sizes[pivot]
        terms = [(1.0, left[pivot].name), *((float(factors[k]), left[k].name) for k in kept)]
        whole = [pivot, *kept]
        found.append(
            Combination(
                tuple(terms),
                left[pivot].unit,
                float(sum(factors[k] * left[k].value for k in whole)),
                spread.error(np.sum([factors[k] * gradients[k] for k in whole], axis=0)),
            )
        )
    return found
