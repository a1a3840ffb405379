"""Sweep report data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.sweep.design import SALTELLI
from sim_bridge.sweep.rows import DONE, Row
from sim_bridge.sweep.sensitivity import Correlation, correlations, Share, sobol
from sim_bridge.sweep.study import Study

SUCCESS = 'success'
REPLAYS = 'replays'
"""Folder of replay bags and pages, inside the results folder."""


@dataclass(frozen=True)
class Distribution:
    """
    A measure's distribution over runs.

    values: (n,) finite values. runs: (n,) their run numbers. never: how many runs have an infinite
    value or NaN.
    """

    values: FloatArray
    runs: np.ndarray
    never: int

    def quantile(self, share: float) -> float:
        """Return a quantile; NaN without values."""
        return float(np.quantile(self.values, share)) if len(self.values) else math.nan


@dataclass(frozen=True)
class SweepFindings:
    """
    Row statistics for a study.

    share: success ratio, with the bounds of its 95 % interval (Wilson); None without criteria.
    reasons: for runs not done, most frequent first: reason, count, first run. indices:
    Sobol indices for each input, by measure. correlations: by input and measure. worst: rows, the
    worst first.
    """

    study: Study
    rows: Sequence[Row]
    statuses: Mapping[str, int]
    share: tuple[float, float, float] | None
    failing: Mapping[str, int]
    reasons: Sequence[tuple[str, int, int]]
    measures: Mapping[str, Distribution]
    indices: Mapping[str, list[Share]]
    correlations: Mapping[tuple[str, str], Correlation | None]
    worst: Sequence[Row]
    by: str


def find(study: Study, rows: Sequence[Row], by: str = '', count: int = 10) -> SweepFindings:
    """
    Return row statistics.

    by: measure for ranking, greatest value worst; with a leading minus, least value worst; '' for
    the first measure. count: how many worst cases. Raises UnknownNameError.
    """
    by = by or next(iter(study.measures))
    if by.lstrip('-') not in study.measures:
        raise UnknownNameError('measure', by.lstrip('-'), study.measures, str(study.source))
    measures = {name: _values(rows, name) for name in study.measures}
    ranked = dict(measures)
    if study.criteria:
        ranked[SUCCESS] = np.array([float(bool(row.success)) for row in rows])
    reasons: dict[str, list[int]] = {}
    for row in rows:
        if row.status != DONE:
            reasons.setdefault(f'{row.status}: {row.reason}', []).append(row.run)
    return SweepFindings(
        study,
        rows,
        Counter(row.status for row in rows),
        _share(study, rows),
        {name: sum(row.criteria.get(name) is False for row in rows) for name in study.criteria},
        sorted(
            ((text, len(runs), runs[0]) for text, runs in reasons.items()),
            key=lambda each: -each[1],
        ),
        {name: _distribution(values, rows) for name, values in measures.items()},
        _indices(study, rows),
        correlations({name: [row.inputs[name] for row in rows] for name in study.inputs}, ranked),
        _worst(rows, by, count),
        by,
    )


def replay_page(folder: Path, run: int) -> Path:
    """Return the path to a run's replay page, existing or not."""
    return folder / REPLAYS / f'run_{run:06}.html'


def replay_bag(folder: Path, run: int) -> Path:
    """Return the path to a run's bag folder, existing or not."""
    return folder / REPLAYS / f'run_{run:06}'


def _values(rows: Sequence[Row], name: str) -> FloatArray:
    return np.array([row.measures.get(name, math.nan) for row in rows], float)


def _distribution(values: FloatArray, rows: Sequence[Row]) -> Distribution:
    is_there = np.array([bool(row.measures) for row in rows], bool)
    kept = np.isfinite(values)
    return Distribution(
        values[kept], np.array([row.run for row in rows], int)[kept], int((is_there & ~kept).sum())
    )


def _share(study: Study, rows: Sequence[Row]) -> tuple[float, float, float] | None:
    if not study.criteria or not rows:
        return None
    good = sum(bool(row.success) for row in rows)
    interval = binomtest(good, len(rows)).proportion_ci(0.95, method='wilson')
    return good / len(rows), float(interval.low), float(interval.high)


def _indices(study: Study, rows: Sequence[Row]) -> dict[str, list[Share]]:
    if study.design.kind != SALTELLI:
        return {}
    found = {}
    for name in study.measures:
        values = np.full(study.design.count, math.nan)
        for row in rows:
            values[row.run] = row.measures.get(name, math.nan)
        shares = sobol(values, len(study.inputs))
        if shares is not None:
            found[name] = shares
    return found


def _worst(rows: Sequence[Row], by: str, count: int) -> list[Row]:
    """Return rows by rank: runs not done, then unsuccessful ones, each by the measure."""
    sign, name = (-1.0, by[1:]) if by.startswith('-') else (1.0, by)

    def badness(row: Row) -> tuple[bool, bool, float]:
        value = row.measures.get(name, math.nan)
        return (
            row.status != DONE,
            row.success is False,
            math.inf if math.isnan(value) else sign * value,
        )

    return sorted(rows, key=badness, reverse=True)[:count]
