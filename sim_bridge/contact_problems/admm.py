"""Alternating direction method of multipliers (ADMM) for quadratic problems over convex sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

_RELAXATION = 1.6
_BALANCE = 10.0  # ratio between the residuals above which the penalty changes
_LEAST = 1e-6  # least eigenvalue used for the penalty, relative to the greatest
_EVERY = 25  # iterations between penalty changes


class Found(NamedTuple):
    """
    Minimisation result. x: (n,) in the set. gap: greatest |x - z|, z satisfies E z = e.

    iterations: how many were needed.
    """

    x: np.ndarray
    gap: float
    iterations: int


def minimise(
    H: np.ndarray,
    c: np.ndarray,
    project: Callable[[np.ndarray], np.ndarray],
    equations: tuple[np.ndarray, np.ndarray] | None = None,
    correction: Callable[[np.ndarray], np.ndarray] | None = None,
    tolerance: float = 1e-11,
    most: int = 20000,
) -> Found:
    """
    Minimise ½ xᵀ H x + cᵀ x over a convex set, under E x = e.

    project: returns the nearest point in the set. equations: E, e; they must have a solution.
    correction: returns the term added to the gradient H x + c, its argument: de Saxcé's term.
    tolerance: for both residuals, absolute. most: iteration limit.
    """
    size = len(c)
    start, directions = np.zeros(size), np.eye(size)
    if equations is not None and len(equations[0]):
        start = np.linalg.lstsq(*equations, rcond=1e-12)[0]
        directions = linalg.null_space(equations[0], rcond=1e-12)
    values, vectors = linalg.eigh(directions.T @ H @ directions)
    basis = directions @ vectors
    fixed = H @ start + c
    least, greatest = values.min(initial=1.0), values.max(initial=1.0)
    penalty = float(np.sqrt(greatest * max(least, _LEAST * greatest)))
    y, scaled = project(start), np.zeros(size)
    extra = np.zeros(size)
    x, gap = y, np.inf
    for iteration in range(1, most + 1):
        pull = penalty * (y - scaled - start) - fixed - extra
        x = start + basis @ ((basis.T @ pull) / (values + penalty))
        if correction is not None:
            extra = correction(H @ x + c)
        relaxed = _RELAXATION * x + (1.0 - _RELAXATION) * y
        before, y = y, project(relaxed + scaled)
        scaled = scaled + relaxed - y
        gap = float(np.abs(x - y).max(initial=0.0))
        change = penalty * float(np.abs(y - before).max(initial=0.0))
        if max(gap, change) < tolerance:
            return Found(y, gap, iteration)
        if iteration % _EVERY == 0:
            ratio = 1.0
            if gap > _BALANCE * change:
                ratio = 2.0
            elif change > _BALANCE * gap:
                ratio = 0.5
            penalty *= ratio
            scaled /= ratio
    return Found(y, gap, most)
