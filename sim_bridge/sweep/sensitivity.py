"""Sensitivity: Sobol indices, or rank correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kruskal, rankdata, sobol_indices, spearmanr

from sim_bridge.foundation.arrays import FloatArray

_LEAST_ROWS = 5


class Share(NamedTuple):
    """
    Sobol indices for an input: its own effect (first), and with all interactions (total).

    used: sample count.
    """

    first: float
    total: float
    used: int


def sobol(values: FloatArray, inputs: int) -> list[Share] | None:
    """
    Return a measure's Sobol indices for each input in a saltelli design.

    values: (samples (inputs + 2),) by run, NaN for a run without value. Samples with a value that
    is not finite are left out; the greatest power of 2 remaining is used. None if the measure
    does not vary, or fewer than 2 samples are left. Saltelli et al., Computer Physics
    Communications 181, 2010, as in scipy.
    """
    table = values.reshape(-1, inputs + 2)
    whole = table[np.isfinite(table).all(axis=1)]
    count = 1 << (len(whole).bit_length() - 1) if len(whole) else 0
    used = whole[:count]
    if count < 2 or np.ptp(used[:, :2]) == 0.0:
        return None
    found = sobol_indices(
        func={'f_A': used[None, :, 0], 'f_B': used[None, :, 1], 'f_AB': used[:, 2:].T[:, None, :]},
        n=count,
    )
    return [
        Share(float(first), float(total), count)
        for first, total in zip(
            np.ravel(found.first_order), np.ravel(found.total_order), strict=True
        )
    ]


class Correlation(NamedTuple):
    """
    Rank correlation between a measure and an input.

    value: for numbers, Spearman's correlation, -1 to 1. For other inputs, the root of the relative
    rank variance explained by the input, 0 to 1 (Kruskal and Wallis's epsilon squared). p:
    probability, by chance, for a value at least as far from 0. used: row count.
    """

    value: float
    p: float
    used: int


def correlation(inputs: Sequence[Any], values: FloatArray) -> Correlation | None:
    """
    Return the correlation between measure and input; None if one is constant or rows are few.

    inputs: n values, numbers or others. values: (n,); NaN is left out, infinities have ranks.
    """
    kept = ~np.isnan(values)
    own = [each for each, is_kept in zip(inputs, kept, strict=True) if is_kept]
    found = values[kept]
    if len(own) < _LEAST_ROWS or len(set(map(repr, own))) < 2 or len(np.unique(found)) < 2:
        return None
    if all(isinstance(each, (bool, int, float)) for each in own):
        result = spearmanr(rankdata(np.array(own, float)), rankdata(found))
        return Correlation(float(result.statistic), float(result.pvalue), len(own))
    groups: dict[str, list[float]] = {}
    for each, rank in zip(own, rankdata(found), strict=True):
        groups.setdefault(repr(each), []).append(float(rank))
    result = kruskal(*groups.values())
    return Correlation(
        float(np.sqrt(min(result.statistic / (len(own) - 1), 1.0))), float(result.pvalue), len(own)
    )


def correlations(
    inputs: Mapping[str, Sequence[Any]], measures: Mapping[str, FloatArray]
) -> dict[tuple[str, str], Correlation | None]:
    """Return the correlations between all inputs and measures, by name."""
    return {
        (name, measure): correlation(own, values)
        for measure, values in measures.items()
        for name, own in inputs.items()
    }
