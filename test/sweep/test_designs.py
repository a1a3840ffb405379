"""Designs: run inputs depend on the study alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, loguniform, norm, qmc, truncnorm

from sim_bridge.sweep.design import Design
from sim_bridge.sweep.distributions import Integers, Normal, Uniform, Values

INPUTS = {'a': Uniform(0.0, 1.0), 'b': Normal(2.0, 0.5), 'c': Values(('x', 'y', 'z'))}


@pytest.mark.parametrize(
    ('own', 'other'),
    [
        (Uniform(0.1, 10.0, is_log=True), loguniform(0.1, 10.0)),
        (Normal(2.0, 0.5), norm(2.0, 0.5)),
        (Normal(2.0, 0.5, 1.8, 3.0), truncnorm(-0.4, 2.0, 2.0, 0.5)),
    ],
)
def test_distributions_are_those_of_scipy(own, other):
    """Match SciPy's quantiles."""
    shares = np.linspace(0.001, 0.999, 50)
    assert [own.quantile(u) for u in shares] == pytest.approx(other.ppf(shares), rel=1e-9)


def test_whole_numbers_and_values_are_equally_likely():
    """Give each of n values the same probability."""
    shares = (np.arange(600) + 0.5) / 600
    counts = np.bincount([Integers(3, 8).quantile(u) for u in shares])
    assert counts.tolist() == [0, 0, 0, 100, 100, 100, 100, 100, 100]
    assert Values(('x', 'y', 'z')).quantile(0.999999) == 'z'
    assert Normal(0.0, 1.0).quantile(0.0) > -10.0


def test_random_runs_follow_their_distributions():
    """Draw independent samples; a run has the same ones in any order."""
    design = Design('random', INPUTS, 7, 2000)
    runs = [design.of(run) for run in range(2000)]
    assert kstest([run['a'] for run in runs], 'uniform').pvalue > 0.01
    assert kstest([run['b'] for run in runs], norm(2.0, 0.5).cdf).pvalue > 0.01
    assert abs(np.corrcoef([run['a'] for run in runs], [run['b'] for run in runs])[0, 1]) < 0.06
    assert Design('random', INPUTS, 7, 5000).of(1234) == runs[1234]
    assert Design('random', INPUTS, 8, 2000).of(1234) != runs[1234]


def test_grids_have_every_combination():
    """Vary the last input fastest, repeat each point, and draw inputs without a list."""
    design = Design(
        'grid',
        {'a': Values((1, 2)), 'u': Uniform(0.0, 1.0), 'c': Values(('x', 'y'))},
        1,
        repeats=2,
    )
    runs = [design.of(run) for run in range(design.count)]
    assert [(run['a'], run['c']) for run in runs] == [
        (1, 'x'),
        (1, 'x'),
        (1, 'y'),
        (1, 'y'),
        (2, 'x'),
        (2, 'x'),
        (2, 'y'),
        (2, 'y'),
    ]
    assert len({run['u'] for run in runs}) == 8


def test_lists_are_read_side_by_side():
    """Take the k-th value from each list."""
    design = Design('list', {'a': Values((1, 2, 3)), 'b': Values((0.5, 1, 2))}, 1)
    assert [design.of(run) for run in range(design.count)] == [
        {'a': 1, 'b': 0.5},
        {'a': 2, 'b': 1.0},
        {'a': 3, 'b': 2.0},
    ]


def test_sobol_points_are_spread_better_than_random_ones():
    """Have less than a tenth of random points' discrepancy."""

    def discrepancy(kind: str) -> float:
        design = Design(kind, {'a': Uniform(0.0, 1.0), 'b': Uniform(0.0, 1.0)}, 3, 256)
        return qmc.discrepancy([list(design.of(run).values()) for run in range(256)])

    assert discrepancy('sobol') < 0.1 * discrepancy('random')


def test_saltelli_runs_mix_two_points():
    """Make for each sample the runs A, B, and A with each input from B."""
    design = Design('saltelli', {'a': Uniform(0.0, 1.0), 'b': Uniform(2.0, 3.0)}, 3, 8)
    assert design.count == 32
    a, b, first, second = (design.of(run) for run in range(4, 8))
    assert first == {'a': b['a'], 'b': a['b']}
    assert second == {'a': a['a'], 'b': b['b']}


def test_noise_is_each_runs_own_unless_it_is_to_be_the_same():
    """Give runs separate seeds, whatever the run count."""
    own = [Design('random', INPUTS, 1, 10).noise_seed(run) for run in range(10)]
    assert len(set(own)) == 10
    same = Design('random', INPUTS, 1, 10, is_noise_same=True)
    assert {same.noise_seed(run) for run in range(10)} == {own[0]}
