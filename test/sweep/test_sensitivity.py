"""Sensitivity: Sobol indices and rank correlations, known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from sim_bridge.sweep.design import Design
from sim_bridge.sweep.distributions import Uniform
from sim_bridge.sweep.sensitivity import correlation, sobol

A, B = 7.0, 0.1
DESIGN = Design('saltelli', dict.fromkeys('xyz', Uniform(-math.pi, math.pi)), 5, 1024)
RUNS = [DESIGN.of(run) for run in range(DESIGN.count)]


def ishigami(x: float, y: float, z: float) -> float:
    """Return the Ishigami function, the usual test for Sobol indices."""
    return math.sin(x) + A * math.sin(y) ** 2 + B * z**4 * math.sin(x)


def test_sobol_indices_are_those_of_the_ishigami_function():
    """Approximate the indices known in closed form."""
    shares = sobol(np.array([ishigami(**run) for run in RUNS]), 3)
    variance = A**2 / 8 + B * math.pi**4 / 5 + B**2 * math.pi**8 / 18 + 0.5
    of_x = 0.5 * (1.0 + B * math.pi**4 / 5) ** 2
    of_xz = B**2 * math.pi**8 * 8 / 225
    assert [share.first for share in shares] == pytest.approx(
        [of_x / variance, A**2 / 8 / variance, 0.0], abs=0.03
    )
    assert [share.total for share in shares] == pytest.approx(
        [(of_x + of_xz) / variance, A**2 / 8 / variance, of_xz / variance], abs=0.03
    )
    assert {share.used for share in shares} == {1024}


def test_samples_with_failed_runs_are_left_out():
    """Use complete samples, their count a power of 2."""
    values = np.array([ishigami(**run) for run in RUNS])
    values[[7, 400, 1000]] = math.nan
    shares = sobol(values, 3)
    assert {share.used for share in shares} == {512}
    assert shares[1].first == pytest.approx(0.44, abs=0.06)
    assert sobol(np.ones(DESIGN.count), 3) is None
    assert sobol(np.full(DESIGN.count, math.nan), 3) is None


def test_rank_correlations_are_spearmans():
    """Find monotonic relations of any shape; infinities have ranks."""
    draw = np.random.default_rng(1)
    x, other = draw.random(200), draw.random(200)
    found = correlation(x.tolist(), np.exp(5.0 * x) + 0.1 * other)
    assert found.value == pytest.approx(spearmanr(x, np.exp(5.0 * x) + 0.1 * other).statistic)
    assert found.p < 1e-9 < correlation(other.tolist(), np.exp(5.0 * x)).p
    never = np.where(x > 0.9, math.inf, x)
    never[:10] = math.nan
    assert correlation(x.tolist(), never).value > 0.98
    assert correlation(x.tolist(), never).used == 190


def test_texts_explain_a_share_of_ranks():
    """Measure the variance explained by text inputs."""
    groups = ['a', 'b', 'c'] * 40
    draw = np.random.default_rng(2)
    values = np.array([{'a': 2.0, 'b': 0.0, 'c': 1.0}[each] for each in groups])
    assert correlation(groups, values + 0.1 * draw.random(120)).value == pytest.approx(
        math.sqrt(8 / 9), abs=0.01
    )
    assert correlation(groups, draw.random(120)).p > 0.05
    assert correlation(['a'] * 120, values) is None
