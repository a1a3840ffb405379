"""Studies for sweep tests, and the requested results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sim_bridge.sweep.local import LocalExecutor
from sim_bridge.sweep.result_table import rows_of
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.store import Store
from sim_bridge.sweep.study import read_study, Study
from sim_bridge.sweep.sweep import sweep

BENT = [0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0]
PUSHED: dict[str, Any] = {
    'seed': 1,
    'design': 'random',
    'samples': 6,
    'vary': {
        'frequency': {'path': 'controller.natural_frequency', 'log_uniform': [20.0, 80.0]},
        'friction': {'path': 'changes.arm.joints.joint_2.friction', 'uniform': [0.0, 2.0]},
        'push': {'path': 'disturbances.push.force[1]', 'normal': [0.0, 30.0]},
    },
    'run': {
        'robot': 'arm',
        'duration': 0.2,
        'parameters': {'rate': 200.0, 'initial_positions': BENT},
        'controller': {'kind': 'pd'},
        'disturbances': {
            'push': {
                'kind': 'push',
                'at': 0.05,
                'duration': 0.05,
                'link': 'tool_flange',
                'force': [0.0, 0.0, 0.0],
            }
        },
    },
    'measure': {
        'worst': 'max(abs(joint_states.position[joint_1]))',
        'sag': 'last(joint_states.position[joint_2]) - 0.6',
    },
    'succeed': {'holds': 'worst < 0.01 and friction < 3'},
}
"""An arm that is held and pushed."""


def write_study(folder: Path, content: dict[str, Any], name: str = 'study.yaml') -> Study:
    """Write a study to a file, and read it."""
    file = folder / name
    file.write_text(yaml.safe_dump({'study': content}, sort_keys=False))
    return read_study(file)


def with_controller(controller: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a study of the arm under a controller; more: keys of the study."""
    return {
        'design': 'list',
        'vary': {'number': {'path': 'controller.number', 'values': [0, 1, 2]}},
        'run': {**PUSHED['run'], 'disturbances': {}, 'controller': controller},
        'measure': {'sag': PUSHED['measure']['sag']},
        **more,
    }


def swept(study: Study, folder: Path, processes: int = 2, timeout_s: float = 120.0) -> list[Row]:
    """Make a study's missing runs; return all rows, by run."""
    with Store(study, folder) as store:
        sweep(store, LocalExecutor(processes, timeout_s), lambda progress: None, keeps_going=True)
        return rows_of(store.table(), study)
