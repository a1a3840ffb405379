"""Loop benchmark: its mechanisms are closed, its engines do the same work."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import loops
from benchmarks.chains import tower, tower_state
from benchmarks.mechanism import energy, gap, motion_of
from benchmarks.peers import build, find_missing


@pytest.mark.parametrize('hinges', [False, True])
def test_towers_are_closed_at_the_start(hinges):
    """Find every pair of points together at any angle, and the promised number of joints."""
    mechanism = tower(12, 2, hinges)
    assert len(mechanism.bodies) + len(mechanism.closures) == 50
    for angle in (0.0, 0.3, -0.7):
        assert gap(mechanism, motion_of(mechanism, tower_state(mechanism, angle))) < 1e-14
    open_state = tower_state(mechanism)
    open_state.q[1] += 0.1
    assert gap(mechanism, motion_of(mechanism, open_state)) > 0.01


@pytest.mark.parametrize('name', ['MuJoCo Euler', 'ODE dWorldStep'])
@pytest.mark.parametrize('hinges', [False, True])
def test_engines_move_a_tower_alike(name, hinges):
    """Match our end state, ODE better at shorter steps; MuJoCo is slightly compliant."""
    mechanism = tower(2, 1, hinges)
    state, ends = tower_state(mechanism), {}
    for engine, time_step in (('sim_bridge', 2.5e-4), (name, 1e-3), (name, 2.5e-4)):
        peer = build(engine, mechanism, time_step, loops.GRAVITY)
        peer.reset(state)
        peer.step(round(0.3 / time_step))
        ends[engine, time_step] = peer.motion().com
    moved = np.abs(ends['sim_bridge', 2.5e-4] - motion_of(mechanism, state).com).max()
    apart = [
        np.abs(ends[name, time_step] - ends['sim_bridge', 2.5e-4]).max()
        for time_step in (1e-3, 2.5e-4)
    ]
    assert moved > 0.1
    assert max(apart) < 5e-3
    if name.startswith('ODE'):
        assert apart[1] < 0.5 * apart[0]


def test_our_towers_stay_closed_and_keep_their_energy():
    """Stay closed to rounding for a second, and keep the energy to 1e-4."""
    mechanism = tower(3, 0, True)
    peer = build('sim_bridge', mechanism, 1e-3, loops.GRAVITY)
    peer.reset(tower_state(mechanism))
    start = energy(mechanism, peer.motion(), loops.GRAVITY)
    for _ in range(20):
        peer.step(50)
        assert gap(mechanism, peer.motion()) < 1e-12
        assert energy(mechanism, peer.motion(), loops.GRAVITY) == pytest.approx(start, abs=1e-4)


def test_benchmark_fills_its_tables():
    """Time every installed engine, and judge only measured values."""
    label = next(iter(loops.TOWERS))
    report = loops.run(rounds=1, towers=(label,))
    here = {name for name in loops.ENGINES if name not in find_missing()}
    (row,) = report.data['rows'].values()
    assert all(set(row[what]) == here for what in ('time', 'gap', 'energy'))
    assert all(seconds > 0.0 for seconds in row['time'].values())
    verdicts = [target['verdict'] for target in report.data['targets']]
    assert verdicts == ['not measured', 'met']
    json.dumps(report.data, allow_nan=False)
