"""Studies: read, checked, shown, and their first runs made in this process."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from studies import PUSHED
import yaml

from fuzzing.damage import damaged_data, damaged_lines, HUGE_INTEGER
from sim_bridge.cli.study_overview import study_data, study_text
from sim_bridge.sweep.one_run import make_run
from sim_bridge.sweep.plan import NODE, Plan
from sim_bridge.sweep.rows import DONE
from sim_bridge.sweep.run_parameters import simulator_parameters
from sim_bridge.sweep.study import read_study, Study
from sim_bridge.sweep.study_files import check_files

_FUNCTION = """
def hold(joints, gain=10.0):
    return lambda time_s, q, dq: -gain * q - dq
"""
_MOST_STEPS = 200
_RUNS = 2

_SMALL: dict[str, Any] = {
    'seed': 1,
    'design': 'list',
    'vary': {
        'friction': {'path': 'changes.double_pendulum.joints.elbow.friction', 'values': [0, 0.5]},
        'push': {'path': 'disturbances.push.force[1]', 'values': [1, 30.0]},
        'gain': {'path': ['controller.gain', 'parameters.gravity[2]'], 'values': [3.0, 4.0]},
    },
    'run': {
        'robot': 'double_pendulum',
        'duration': 0.02,
        'parameters': {
            'rate': 500,
            'collisions': 'none',
            'gravity': [0, 0, -9.81],
            'sensors': {'imu': {'type': 'imu', 'link': 'lower_rod'}},
        },
        'changes': {'double_pendulum': {'joints': {'elbow': {'friction': 0.0}}}},
        'controller': {'kind': 'function', 'call': 'law.py:hold', 'gain': 2.0},
        'disturbances': {
            'push': {
                'kind': 'push',
                'at': 0.004,
                'duration': 0.004,
                'link': 'lower_rod',
                'force': [0, 0, 0],
            },
            'late': {'kind': 'delay', 'at': 0.0, 'steps': 1},
            'moved': {'kind': 'move', 'at': 0.01, 'position': [0, 0, 1]},
            'wind': {'kind': 'force_fields', 'at': 0.0, 'force_fields': {}},
        },
    },
    'measure': {
        'most': 'max(abs(joint_states.position[elbow]))',
        'turn': 'last(imu.angular_velocity.y)',
    },
    'succeed': {'calm': 'most < 3 and push > 0'},
}
_PD = {**PUSHED, 'samples': 2, 'run': {**PUSHED['run'], 'duration': 0.02}}


def make(rng: Random) -> bytes:
    """Return a study with damaged keys, values or lines."""
    content = {'study': rng.choice((_SMALL, _SMALL, _PD))}
    text = yaml.dump(damaged_data(rng, content) if rng.randrange(4) else content).encode()
    text = text.replace(HUGE_INTEGER.encode(), b'9' * 5000)
    return damaged_lines(rng, text) if rng.randrange(3) == 0 else text


def run(case: bytes, folder: Path) -> None:
    """Read and check the study; make its first runs if they are short and without processes."""
    (folder / 'law.py').write_text(_FUNCTION)
    path = folder / 'study.yaml'
    path.write_bytes(case)
    study = read_study(path)
    check_files(study)
    study_text(study_data(study))
    assert study.digest
    for number in range(min(_RUNS, study.design.count)):
        plan = study.plan(study.design.of(number))
        if _is_short(plan, study):
            row = make_run(study, number)
            assert row.status == DONE or row.reason, row
            assert not _is_unexpected(row.reason), row.reason


def _is_short(plan: Plan, study: Study) -> bool:
    """Return whether a run takes few steps and starts no process."""
    if any(each.kind == NODE for each in plan.controllers.values()):
        return False
    parameters = simulator_parameters(plan, study.folder)
    return plan.duration * 1e9 / parameters.time_step_ns <= _MOST_STEPS


def _is_unexpected(reason: str) -> bool:
    """Return whether a row's reason is an exception of this package's code, not of law.py."""
    kind = reason.partition(':')[0]
    return kind.endswith(('Error', 'Exception', 'Warning')) and 'law.py:' not in reason
