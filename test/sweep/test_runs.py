"""Runs: the same on any process; failures, crashes and timeouts are rows."""

from __future__ import annotations

import copy
from pathlib import Path
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from studies import BENT, PUSHED, swept, with_controller, write_study

from sim_bridge.ros.bag.expressions import Expression
from sim_bridge.ros.bag.fields import read_series
from sim_bridge.ros.bag.replay import replay
from sim_bridge.sweep.host import run_apart
from sim_bridge.sweep.reductions import MEASURING

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

PYTHON_CONTROLLERS = '''
import os, signal, time
import numpy as np

def fragile(joints, number, log):
    """Hold the arm in run 0; kill the process in run 1, and hang in run 2."""
    with open(log, 'a') as file:
        file.write(f'{number}\\n')

    def answer(time_s, q, dq):
        if time_s > 0.05 and number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if time_s > 0.05 and number == 2:
            time.sleep(1000.0)
        return -30.0 * dq
    return answer

def wrong(joints, number):
    """Return too few efforts in run 0, no numbers in run 1, a text in run 3; raise in run 2."""
    def answer(time_s, q, dq):
        if number == 2:
            raise KeyError('gain')
        if number == 3:
            return 'stay'
        return np.zeros(3) if number == 0 else np.full(len(joints), np.nan)
    return answer

def hold(joints, number, gain, goal):
    """A PD law of its own."""
    def answer(time_s, q, dq):
        return gain * (np.array(goal) - q) - 0.1 * gain * dq
    return answer
'''


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder with controllers in Python."""
    (tmp_path / 'controllers.py').write_text(PYTHON_CONTROLLERS)
    return tmp_path


def test_rows_do_not_depend_on_processes(tmp_path):
    """Make the same rows and hashes with one process and with two, and measure the motion."""
    study = write_study(tmp_path, PUSHED)
    one, two = (swept(study, tmp_path / f'by_{n}', n) for n in (1, 2))
    assert [row.run for row in one] == list(range(6))
    assert [row.same() for row in one] == [row.same() for row in two]
    assert {row.status for row in one} == {'done'}
    assert len({row.state_hash for row in one}) == 6
    # the harder the push, the farther the arm moves
    order = np.argsort([abs(row.inputs['push']) for row in one])
    assert one[order[-1]].measures['worst'] > 5.0 * one[order[0]].measures['worst']
    assert [row.success for row in one] == [row.measures['worst'] < 0.01 for row in one]
    assert {row.success for row in one} == {True, False}


def test_a_bag_of_a_run_has_its_bits(tmp_path):
    """Record a run again: same hash, the bag replays, and its curves give the measures."""
    study = write_study(tmp_path, PUSHED)
    row = run_apart(study, 3, 120.0)
    again = run_apart(study, 3, 120.0, str(tmp_path / 'bag'))
    assert again.same() == row.same()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same and verdict.state_hash == row.state_hash
    for name, text in study.measures.items():
        expression = Expression(text, MEASURING)
        data, _ = read_series(tmp_path / 'bag', expression.references, lambda time: None)
        assert expression.number(data) == row.measures[name]


def test_failures_are_rows(folder):
    """Give a crash, a timeout and errors a row with the reason; the others continue."""
    log = str(folder / 'log')
    study = write_study(
        folder,
        with_controller(
            {'kind': 'function', 'call': 'controllers.py:fragile', 'number': 0, 'log': log}
        ),
    )
    good, crashed, hung = swept(study, folder / 'results', 1, timeout_s=5.0)
    assert good.status == 'done' and good.measures['sag'] > 0.0
    assert (crashed.status, crashed.attempts) == ('crashed', 2)
    assert 'SIGKILL' in crashed.reason and crashed.measures == {}
    assert crashed.inputs == {'number': 1}
    assert (hung.status, hung.success) == ('hung', None)
    assert 'longer than 5 s' in hung.reason
    assert sorted((folder / 'log').read_text().split()) == ['0', '1', '1', '2']


def test_errors_of_a_run_are_its_reason(folder):
    """Report the controller's error, and its place."""
    study = write_study(
        folder,
        with_controller(
            {'kind': 'function', 'call': 'controllers.py:wrong', 'number': 0},
            vary={'number': {'path': 'controller.number', 'values': [0, 1, 2, 3]}},
        ),
    )
    few, nan, raised, text = swept(study, folder / 'results', 1)
    assert {row.status for row in (few, nan, raised, text)} == {'failed'}
    assert "result of controllers.py:wrong = 'stay': expected 7 finite" in text.reason
    assert '7 finite numbers, one for each of joint_1' in few.reason
    assert 'finite numbers' in nan.reason and few.steps == nan.steps == 0
    assert 'KeyError' in raised.reason and 'controllers.py:' in raised.reason


@pytest.mark.parametrize(
    ('measure', 'told'),
    [
        ('max(/joint_state.position[joint_1])', "Did you mean '/joint_states'?"),
        ('max(joint_states.positions)', "Did you mean 'position'?"),
        ('last(joint_states.position[joint_9])', "Did you mean 'joint_7'?"),
        ('last(joint_states.position)', 'Name one in brackets'),
    ],
)
def test_a_measure_of_a_missing_topic_is_reported(tmp_path, measure, told):
    """Name the existing topics, fields or items instead."""
    study = write_study(tmp_path, {**PUSHED, 'measure': {'worst': measure}, 'samples': 1})
    (row,) = swept(study, tmp_path / 'results', 1)
    assert row.status == 'failed' and told in row.reason
    assert row.reason.startswith(f'measure worst ({measure}): ')
    assert row.state_hash and row.steps == 40


def test_functions_and_nodes_are_controllers_as_the_laws_are(folder, ros_environment):
    """Move an arm by the law, by its node in lockstep, and by a user's node, alike."""
    pose = {'positions': BENT, 'natural_frequency': 40.0}
    (folder / 'mine.py').write_text(
        'from sim_bridge.control.pd_controller import main\nraise SystemExit(main())\n'
    )
    study = write_study(
        folder,
        {
            'design': 'list',
            'noise': 'same',
            'vary': {
                'who': {
                    'path': 'controller',
                    'values': [
                        {'kind': 'pd', **pose},
                        {'kind': 'node', 'command': 'pd', 'parameters': pose},
                        {
                            'kind': 'node',
                            'command': [sys.executable, 'mine.py'],
                            'parameters': pose,
                        },
                        {
                            'kind': 'function',
                            'call': 'controllers.py:hold',
                            'number': 0,
                            'gain': 400.0,
                            'goal': BENT,
                        },
                        {'kind': 'none'},
                    ],
                }
            },
            'run': {**PUSHED['run'], 'disturbances': {}},
            'measure': {'sag': PUSHED['measure']['sag']},
        },
    )
    law, node, mine, function, nobody = swept(study, folder / 'results', 1)
    assert [row.reason for row in (law, node, mine, function, nobody)] == [''] * 5
    assert law.state_hash == node.state_hash == mine.state_hash
    assert law.measures == node.measures
    assert law.measures['sag'] > function.measures['sag'] > 0.001
    assert nobody.measures['sag'] == 0.0, 'joints lock until the first command'
    # its bag contains the node's commands
    again = run_apart(study, 1, 120.0, str(folder / 'bag'))
    assert again.same() == node.same()
    assert replay(folder / 'bag').is_same


def test_a_node_that_ends_or_dies_ends_no_sweep(folder, ros_environment):
    """Report a failing node; continue the run after a planned death."""
    study = write_study(
        folder,
        {
            'design': 'list',
            'vary': {
                'who': {
                    'path': 'controller',
                    'values': [
                        {'kind': 'node', 'command': [sys.executable, '-c', 'raise SystemExit(3)']},
                        {'kind': 'node', 'command': ['no-such-program']},
                        {'kind': 'node', 'command': 'pd'},
                        {
                            'kind': 'node',
                            'command': 'pd',
                            'parameters': {'natural_frequncy': 30.0},
                        },
                    ],
                }
            },
            'run': {**PUSHED['run'], 'disturbances': {'end': {'kind': 'death', 'at': 0.1}}},
            'measure': {'commanded': 'max(abs(between(joint_states.effort[joint_2], 0.02, 0.1)))'},
        },
    )
    ended, unknown, killed, mistyped = swept(study, folder / 'results', 1)
    assert 'ended with exit code 3' in ended.reason
    assert 'exit code 127; it said: no-such-program cannot be started' in unknown.reason
    assert "Did you mean 'natural_frequency'?" in mistyped.reason
    assert killed.status == 'done' and killed.steps == 40
    assert killed.measures['commanded'] > 1.0


def effort_after(faults: dict[str, Any], folder: Path) -> Any:
    """Return joint efforts [N m], without and with faults."""
    study = write_study(
        folder,
        {
            'design': 'list',
            'noise': 'same',
            'vary': {'faults': {'path': 'disturbances', 'values': [{}, faults]}},
            'run': {
                **PUSHED['run'],
                'controller': {
                    'kind': 'pd',
                    'amplitude': [0.3],
                    'frequency': [2.0],
                    'ramp_time': 0.1,
                },
            },
            'measure': {
                f'at_{k}': f'at(joint_states.position[joint_2], {k / 200})'
                for k in range(4, 40, 2)
            },
        },
    )
    clean, faulty = swept(study, folder / f'results_{next(iter(faults))}', 1)
    assert faulty.status == clean.status == 'done', faulty.reason
    return (np.array([*clean.measures.values()]), np.array([*faulty.measures.values()]))


@pytest.mark.parametrize(
    'fault',
    [
        {'silence': {'kind': 'silence', 'at': 0.1, 'duration': 0.05}},
        {'freeze': {'kind': 'freeze', 'at': 0.1, 'duration': 0.05}},
        {'delay': {'kind': 'delay', 'at': 0.1, 'steps': 3}},
        {'loss': {'kind': 'loss', 'at': 0.1, 'probability': 0.7}},
        {'death': {'kind': 'death', 'at': 0.1}},
        {
            'push': {
                'kind': 'push',
                'at': 0.1,
                'duration': 0.02,
                'force': [0, 0, 300],
                'link': 'tool_flange',
            }
        },
        {
            'change': {
                'kind': 'change',
                'at': 0.1,
                'changes': {'arm': {'joints': {'joint_2': {'friction': 20.0}}}},
            }
        },
        {'settings': {'kind': 'settings', 'at': 0.1, 'gravity': [0, 0, 5.0]}},
        {
            'force_fields': {
                'kind': 'force_fields',
                'at': 0.1,
                'force_fields': {'wind': {'type': 'uniform', 'acceleration': [0, 0, 30.0]}},
            }
        },
    ],
    ids=lambda fault: next(iter(fault)),
)
def test_disturbances_and_faults_act_from_their_time_on(tmp_path, fault):
    """Change nothing before the begin, and something after it."""
    clean, faulty = effort_after(fault, tmp_path)
    # measures at 0.02, 0.03 …: eight of them before 0.09
    assert np.array_equal(clean[:8], faulty[:8])
    assert not np.array_equal(clean[9:], faulty[9:])


def test_scenes_differ_by_values_of_their_files(tmp_path):
    """Override values from a scene file, without changing it; move entities."""
    (tmp_path / 'hall.yaml').write_text(
        'world:\n  ground: true\n  objects:\n'
        '    ball: {sphere: 0.1, mass: 1.0, position: [0, 0, 0.5]}\n'
    )
    study = write_study(
        tmp_path,
        {
            'design': 'list',
            'vary': {
                'height': {'path': 'world.objects.ball.position[2]', 'values': [0.5, 1.0, 2.0]},
                'speed': {
                    'path': 'disturbances.kick.linear_velocity[0]',
                    'values': [0.0, 0.0, 3.0],
                },
            },
            'run': {
                'scene': 'hall.yaml',
                'duration': 0.2,
                'parameters': {'object_state_rate': 0.0},
                'disturbances': {
                    'kick': {
                        'kind': 'move',
                        'robot': 'ball',
                        'at': 0.1,
                        'linear_velocity': [0.0, 0.0, 0.0],
                    }
                },
            },
            'measure': {
                'top': 'first(object_states.transforms[0].translation.z)',
                'at_kick': 'at(object_states.transforms[0].translation.z, 0.1)',
                'far': 'last(object_states.transforms[0].translation.x)',
            },
        },
    )
    rows = swept(study, tmp_path / 'results', 1)
    assert [row.reason for row in rows] == [''] * 3
    assert [row.measures['top'] for row in rows] == pytest.approx([0.5, 1.0, 2.0], abs=1e-4)
    assert rows[1].measures['at_kick'] == pytest.approx(1.0 - 0.5 * 9.81 * 0.01, abs=1e-4)
    assert rows[2].measures['far'] == pytest.approx(0.3, abs=0.01)
    assert 'hall.yaml' in rows[0].files
    again = run_apart(study, 2, 120.0, str(tmp_path / 'bag'))
    assert again.same() == rows[2].same()
    assert replay(tmp_path / 'bag').is_same


def test_an_impossible_disturbance_is_reported(tmp_path):
    """Name the disturbance, and the accepted values."""
    run = copy.deepcopy(PUSHED['run'])
    run['disturbances']['push']['link'] = 'tool_flnge'
    (row,) = swept(write_study(tmp_path, {**PUSHED, 'run': run, 'samples': 1}), tmp_path / 'r', 1)
    assert row.reason.startswith("disturbance push: unknown link 'tool_flnge'")
    assert "Did you mean 'tool_flange'?" in row.reason


def test_a_crash_tells_where_it_was(folder):
    """Keep the crash location in the reason, without the module list."""
    (folder / 'aborting.py').write_text(
        'import os\n\ndef stop(joints, number):\n    return lambda t, q, dq: os.abort()\n'
    )
    study = write_study(
        folder, with_controller({'kind': 'function', 'call': 'aborting.py:stop', 'number': 0})
    )
    reason = run_apart(study, 0, 120.0).reason
    assert 'SIGABRT' in reason and 'aborting.py' in reason and 'modules' not in reason


def test_a_worker_ends_with_who_started_it(tmp_path):
    """Leave no process behind after the parent is killed."""
    study = write_study(tmp_path, {**PUSHED, 'run': {**PUSHED['run'], 'duration': 10_000.0}})
    program = (
        'import sys, time\nfrom sim_bridge.sweep.host import Host, Job\n'
        'from sim_bridge.sweep.study import read_study\n'
        f'host = Host(read_study({str(study.source)!r}), 600.0)\nhost.begin(Job(0))\n'
        'print(host.pid, flush=True)\ntime.sleep(600.0)\n'
    )
    process = subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE, text=True)
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    subprocess.run(['tail', f'--pid={pid}', '-f', '/dev/null'], check=True, timeout=60)
