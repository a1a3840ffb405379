"""Gains agree with closed forms; constraints bind; errors in files are named."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import yaml

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.tuning.measures import Constraint, Measure
from sim_bridge.tuning.tuning_file import read_tuning

# pendulum inertia about its pivot, and servo stiffness
INERTIA, P = 0.0833436 + 1.0 * 0.5**2, 50.0
RATE = math.sqrt(P / INERTIA)


def step_response(**changes: object) -> dict[str, object]:
    """Return a tuning for a mass on a spring and a damper: a target step."""
    return {
        'robot': 'pendulum',
        'gravity': [0.0, 0.0, 0.0],
        'duration': 1.5,
        'period': 0.005,
        'targets': {'pivot': 0.1},
        'gains': {'pivot': {'p': P}},
        'vary': {'pivot.d': [0.1, 100.0]},
        'minimise': 'integral(error[pivot] ** 2)',
        **changes,
    }


def test_damping_of_the_least_squared_error_is_one_half():
    """Find the damping ratio with the least integrated squared error."""
    # the integral is (4 zeta² + 1) / (4 zeta omega), least at 1/2
    found = sb.optimise(step_response())
    assert found.values['pivot.d'] == pytest.approx(2.0 * 0.5 * RATE * INERTIA, rel=0.02)
    assert found.cost == pytest.approx(0.1**2 * 1.0 / RATE, rel=0.01)
    assert found.is_converged
    assert not found.at_limit


def test_a_constraint_binds_where_it_must():
    """Damp exactly as much as an overshoot limit of 5 % requires."""
    # without the constraint less damping would be better
    found = sb.optimise(
        step_response(
            minimise='integral(abs(error[pivot]))',
            constraints=['max(position[pivot]) <= 0.101', 'peak(velocity[pivot]) >= 0.001'],
        )
    )
    log = math.log(0.01)
    ratio = -log / math.sqrt(math.pi**2 + log**2)
    assert found.values['pivot.d'] == pytest.approx(2.0 * ratio * RATE * INERTIA, rel=0.02)
    overshoot, moved = found.limits
    assert overshoot.holds
    assert overshoot.binds
    assert moved.holds
    assert not moved.binds


def test_two_gains_of_one_joint():
    """Find the stiffest servo within an effort limit, critically damped by its error."""
    found = sb.optimise(
        step_response(
            gains={},
            vary={'pivot.p': [1.0, 1000.0], 'pivot.d': [0.1, 100.0]},
            constraints=['peak(effort[pivot]) <= 4'],
        ),
        rounds=100,
    )
    # initially the whole error acts: p 0.1 = 4
    assert found.limits[0].binds
    assert found.values['pivot.p'] == pytest.approx(40.0, rel=0.1)
    gains = yaml.safe_load(found.parameters())['/**/sim_bridge']['ros__parameters']
    assert gains['control'] == {'pivot': 'servo'}
    assert gains['gains']['pivot'] == {'p': found.values['pivot.p'], 'd': found.values['pivot.d']}


def test_one_value_for_several_joints_and_a_course_of_targets():
    """Let an arm follow a path with equal gain ratios at all joints."""
    found = sb.optimise(
        {
            'robot': 'arm',
            'duration': 0.5,
            'time_step': 0.002,
            'start': {'joint_2': 0.3},
            'targets': {'joint_2': [[0.0, 0.3], [0.4, 0.5]], 'joint_4': -0.2},
            'gains': {f'joint_{k}': {'p': 500.0} for k in range(1, 8)},
            'vary': {'joint_*.d': [1.0, 200.0]},
            'minimise': 'rms(error[joint_2]) + rms(error[joint_4])',
        },
        rounds=3,
        population=6,
    )
    assert set(found.gains) == {f'joint_{k}' for k in range(1, 8)}
    assert len({each['d'] for each in found.gains.values()}) == 1
    assert math.isfinite(found.cost)


def test_the_same_seed_finds_the_same():
    """Repeat a search to the bit."""
    runs = [sb.optimise(step_response(duration=0.5), seed=5, rounds=3) for _ in range(2)]
    assert runs[0].values == runs[1].values
    assert runs[0].evaluations == runs[1].evaluations


def test_infeasible_constraints_are_named():
    """Name the unfulfilled constraint, and the nearest value."""
    with pytest.raises(sb.InfeasibleError, match=r'<= 0.001.*nearest'):
        sb.optimise(
            step_response(duration=0.2, constraints=['peak(effort[pivot]) <= 0.001']), rounds=3
        )


@pytest.mark.parametrize(
    ('change', 'error', 'text'),
    [
        ({'minimize': 'x'}, sb.UnknownNameError, "key 'minimize'.*minimise"),
        ({'vary': {}}, sb.InvalidValueError, 'at least one range'),
        ({'vary': {'pivot.d': [5.0, 1.0]}}, sb.InvalidValueError, 'the first below the second'),
        ({'vary': {'pivt.d': [1.0, 5.0]}}, sb.UnknownNameError, "joint 'pivt'.*'pivot'"),
        (
            {'vary': {'pivot.kd': [1.0, 5.0]}},
            sb.UnknownNameError,
            r"parameter 'pivot.kd'.*JOINT\.d",
        ),
        ({'targets': {'pivt': 1.0}}, sb.UnknownNameError, "joint 'pivt'"),
        (
            {'targets': {'pivot': [[1.0, 0.0], [0.5, 1.0]]}},
            sb.InvalidValueError,
            'in order of time',
        ),
        ({'gains': {'pivot': 5.0}}, sb.InvalidValueError, 'p: NUMBER'),
        ({'duration': 0.0}, sb.InvalidValueError, 'a time above 0'),
        ({'minimise': 'rms(eror[pivot])'}, sb.UnknownNameError, "signal 'eror'.*'error'"),
        ({'minimise': 'rmse(error[pivot])'}, sb.UnknownNameError, "function 'rmse'.*'rms'"),
        ({'minimise': 'rms(error[pivt])'}, sb.UnknownNameError, "joint 'pivt'"),
        ({'minimise': 'error[pivot]'}, sb.InvalidValueError, 'one number of a motion'),
        ({'minimise': 'rms(error)'}, sb.InvalidValueError, r'error\[JOINT\]'),
        ({'minimise': '__import__("os")'}, sb.UnknownNameError, 'function'),
        ({'minimise': 'rms(error[pivot]).real'}, sb.InvalidValueError, 'numbers, signals'),
        ({'minimise': 'rms(error[pivot]'}, sb.InvalidValueError, 'an expression'),
        ({'constraints': ['max(effort[pivot])']}, sb.InvalidValueError, 'a measure and a number'),
        ({'constraints': ['1 <= 2 <= 3']}, sb.InvalidValueError, 'a measure and a number'),
        ({'constraints': 'x'}, sb.InvalidValueError, 'a list'),
    ],
)
def test_wrong_files_are_named(change, error, text):
    """Name key, value, and known keys."""
    with pytest.raises(error, match=text):
        sb.optimise(step_response(**change), rounds=1)


@pytest.mark.parametrize(
    ('source', 'text'),
    [
        (None, 'tuning = None: expected the path of a tuning file, or a mapping'),
        ('/dev/zero', 'not a regular file'),
        ('a\0b', 'a file that can be read'),
        ('none.yaml', 'No such file'),
    ],
)
def test_tuning_files_that_cannot_be_read_are_named(source, text):
    """Refuse other types, devices, and missing files."""
    with pytest.raises(sb.InvalidValueError, match=text):
        sb.optimise(source)


def test_the_base_has_one_name():
    """Take `base`, and the old name with a warning."""
    assert read_tuning(step_response(base='fixed')).base == 'fixed'
    assert read_tuning(step_response(base='free')).base == 'free'
    assert read_tuning(step_response()).base == 'file'
    with pytest.warns(DeprecationWarning, match='fixed_base is now called base'):
        assert read_tuning(step_response(fixed_base=True)).base == 'fixed'
    with pytest.raises(InvalidValueError, match='one of file, auto, fixed, free'):
        read_tuning(step_response(base='loose'))


def test_measures_equal_closed_forms():
    """Measure known signals in two worlds."""
    times = np.linspace(0.0, 1.0, 101)
    position = np.stack([np.exp(-5.0 * times), np.cos(2.0 * np.pi * times)])
    signals = {
        'time': times,
        **{
            kind: {'a': position} for kind in ('position', 'velocity', 'effort', 'target', 'error')
        },
    }

    def of(text: str) -> np.ndarray:
        return Measure(text, 'here').of(signals)

    assert np.allclose(of('max(position[a])'), 1.0)
    assert np.allclose(of('min(position[a])'), [math.exp(-5.0), -1.0])
    assert np.allclose(of('final(position["a"])'), [math.exp(-5.0), 1.0])
    assert np.allclose(of('rms(position[a])')[1], math.sqrt(0.5), atol=0.01)
    assert np.allclose(of('integral(position[a])'), [0.2 * (1.0 - math.exp(-5.0)), 0.0], atol=1e-3)
    assert np.allclose(of('settling(position[a], 0.1)'), [math.log(10.0) / 5.0, 1.0], atol=0.011)
    assert np.allclose(of('2 * peak(position[a]) - 1 / 2'), 1.5)
    assert np.allclose(of('mean(time * position[a] / peak(position[a]))')[1], 0.0, atol=0.01)
    assert np.allclose(of('3'), 3.0)
    assert Constraint('min(position[a]) >= -2', 'here').bound == -2.0


def test_command_line(tmp_path):
    """Write node parameters, and show the result."""
    file, output = tmp_path / 'tuning.yaml', tmp_path / 'gains.yaml'
    file.write_text(yaml.safe_dump(step_response(duration=0.5)))
    command = [sys.executable, '-m', 'sim_bridge', 'optimise', str(file), '--rounds', '4']
    done = subprocess.run(
        [*command, '-o', str(output)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert 'pivot.d' in done.stdout
    assert 'cost' in done.stdout
    gains = yaml.safe_load(output.read_text())['/**/sim_bridge']['ros__parameters']['gains']
    assert gains['pivot']['p'] == P
    told = json.loads(
        subprocess.run([*command, '--json'], capture_output=True, text=True, check=False).stdout
    )
    assert told['gains'] == gains
    refused = subprocess.run(
        [*command, '-o', str(output)], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert '--force' in refused.stderr
    refused = subprocess.run(
        [*command, '-o', str(tmp_path / 'no' / 'gains.yaml')],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert 'a file in a folder that exists' in refused.stderr
