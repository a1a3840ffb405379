"""
Confidence in fitted parameters, and their identifiable combinations.

Two covariances are computed: the least-squares covariance, with the residual variance, and one
clustered by window, valid if residuals within a window are correlated, as model errors are
(H. White 1984; K.-Y. Liang and S. Zeger 1986). The greater one counts.

If the motion determines only sums, like M. Gautier's base parameters (1991), single parameters are
marked as not identifiable, and the sums are listed with their errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.stats import t as student

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.identification.fit import Solution
from sim_bridge.identification.parameters import PRIOR, Quantity

LEVEL = 0.95
# largest relative error (to the prior) of an identifiable parameter
_TOLD = 0.1
# factor for a wider prior that isolates the data's information; allowed growth of errors with it
_WIDE, _FREELY = 10.0, 1.1
# smallest relative factor in a combination; smaller ones are rounding
_SHARE = 1e-3


class Estimate(NamedTuple):
    """
    Fitted parameter with its error.

    name: such as 'joint_1.friction'. before: value in the file. error: standard error. low, high:
    confidence interval for LEVEL. is_identifiable: whether the motion determines the parameter; if
    not, value is the fitting value nearest to the file's.
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
        warn_renamed('is_told', 'is_identifiable')
        return self.is_identifiable


class Combination(NamedTuple):
    """Identifiable sum whose terms are not identifiable alone; terms: factor and name."""

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
    Covariances of z, (P, P) each: plain by residual variance, clustered by window.

    wide: like plain, with a much wider prior. windows: window count.
    """

    plain: FloatArray
    clustered: FloatArray
    wide: FloatArray
    windows: int

    def is_identifiable(self, gradient: FloatArray) -> bool:
        """Return whether data, not the prior, determine a quantity with gradient (P,)."""
        error = float(np.sqrt(gradient @ self.plain @ gradient))
        freely = float(np.sqrt(gradient @ self.wide @ gradient))
        return freely < _FREELY * error and error < _TOLD * PRIOR * float(np.linalg.norm(gradient))

    def error(self, gradient: FloatArray) -> float:
        """Return a quantity's standard error from its gradient (P,)."""
        return float(
            np.sqrt(max(gradient @ self.plain @ gradient, gradient @ self.clustered @ gradient))
        )

    @property
    def reach(self) -> float:
        """Half width of the confidence interval, in standard errors."""
        return float(student.ppf(0.5 + 0.5 * LEVEL, max(self.windows - 1, 1)))


def covariances(solution: Solution, measured: int) -> Covariances:
    """Return the fitted parameters' covariances; measured: residual count."""
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
    """Return (P, k) orthonormal directions of z not identifiable from the motion."""
    values, vectors = np.linalg.eigh(covariances(solution, measured).plain)
    found: FloatArray = vectors[:, np.sqrt(np.maximum(values, 0.0)) > _TOLD * PRIOR]
    return found


def estimates(quantities: Sequence[Quantity], spread: Covariances) -> list[Estimate]:
    """Return an estimate for each quantity."""
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
    """Return identifiable sums whose terms are not identifiable alone."""
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
