"""Processor cost for arms on the ROS graph at 1 kHz: compared with a minimal bridge, and alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import contextlib
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile

import numpy as np
import yaml

from benchmarks.contest import say
from benchmarks.report import Report, Target

_ROOT = Path(__file__).parent.parent
OURS, MINIMAL = 'sim_bridge', 'minimal bridge'
ARMS = (1, 2, 4)
# time limit for a process to end
_END_LIMIT_S = 10.0

_COLUMNS = {
    'cpu': ('CPU [%]', 100.0),
    'rate': ('ticks/s', 1.0),
    'cpu per tick': ('CPU/tick [us]', 1e6),
    'lateness p50': ('late p50 [us]', 1e6),
    'lateness p99': ('p99', 1e6),
    'lateness max': ('largest', 1e6),
    'received': ('received [%]', 100.0),
}
# per tick, since a bridge that skips deadlines does less work in a second
_COMPARED = ('cpu per tick', 'lateness p50', 'lateness p99', 'lateness max')
# loads beside the node while its physics thread is measured; each includes the previous ones
ALONE, HEARD, ANSWERED, HEARD_IN_PYTHON = LOADS = (
    'nobody listens',
    'five topics heard',
    'a controller answers',
    'a listener in Python',
)
_AIMS = {ALONE: 80e-6, HEARD: 200e-6, ANSWERED: 250e-6}
_LEAST_TICKS = 0.99
_THREAD_COLUMNS = {
    'cpu per tick': ('thread/tick [us]', 1e6),
    'rate': ('ticks/s', 1.0),
    'lateness p50': ('late p50 [us]', 1e6),
    'lateness p99': ('p99', 1e6),
    'duration p50': ('tick p50 [us]', 1e6),
}
_THREAD_NOTES = (
    'thread/tick: processor time of the physics thread alone, from /proc/PID/task/*/schedstat. '
    'Caches are\ncold when a tick begins, as in real use. Medians of the rounds.'
)
_NOTES = (
    'CPU: processor time of the process per second. ticks/s: both bridges drop missed '
    'deadlines.\nlate: from deadline to tick. received: by one listener. Medians of the '
    'rounds.'
)


def run(
    rounds: int = 5, seconds: float = 4.0, arms: Sequence[int] = ARMS, loads: Sequence[str] = LOADS
) -> Report:
    """
    Measure both bridges in turns, then our physics thread.

    rounds: number for each bridge. seconds: measured time per round. arms: arm counts.
    loads: loads beside the physics thread, from LOADS.
    """
    report = Report('bridge', data={'rounds': rounds, 'seconds': seconds, 'rows': {}})
    targets = []
    for count in arms:
        samples: dict[str, list[dict[str, float]]] = {OURS: [], MINIMAL: []}
        for number in range(rounds):
            for name, found in samples.items():
                say(f'{name}, arms: {count}, round {number + 1} of {rounds}')
                found.append(measure(name, count, seconds))
        rows = {
            name: {key: float(np.median([sample[key] for sample in found])) for key in _COLUMNS}
            for name, found in samples.items()
        }
        report.data['rows'][str(count)] = {'medians': rows, 'samples': samples}
        ratios = {key: rows[OURS][key] / rows[MINIMAL][key] for key in _COLUMNS}
        report.add_table(
            f'{count} arm{"s" if count > 1 else ""} with five topics each, 1 kHz in real time',
            ['', *(title for title, _ in _COLUMNS.values())],
            [
                *(
                    [name, *(f'{row[key] * scale:.4g}' for key, (_, scale) in _COLUMNS.items())]
                    for name, row in rows.items()
                ),
                ['ours / minimal', *(f'{ratio:.2f}' for ratio in ratios.values())],
            ],
            _NOTES,
        )
        targets += [
            Target(f'{key}, arms: {count}, ours / minimal', ratios[key], 1.0) for key in _COMPARED
        ]
    report.add_targets(targets + _report_thread(report, rounds, seconds, loads))
    return report


def _report_thread(
    report: Report, rounds: int, seconds: float, loads: Sequence[str]
) -> list[Target]:
    """Measure the physics thread; return its targets."""
    samples: dict[str, list[dict[str, float]]] = {load: [] for load in loads}
    for number in range(rounds):
        for load, found in samples.items():
            say(f'physics thread, {load}, round {number + 1} of {rounds}')
            found.append(measure_thread(load, seconds))
    rows = {
        load: {key: float(np.median([sample[key] for sample in found])) for key in _THREAD_COLUMNS}
        for load, found in samples.items()
    }
    report.data['thread'] = {'medians': rows, 'samples': samples}
    report.add_table(
        'The physics thread of one arm, 1 kHz in real time',
        ['', *(title for title, _ in _THREAD_COLUMNS.values())],
        [
            [load, *(f'{row[key] * scale:.4g}' for key, (_, scale) in _THREAD_COLUMNS.items())]
            for load, row in rows.items()
        ],
        _THREAD_NOTES,
    )
    targets = [
        Target(f'physics thread per tick, {load} [s]', rows[load]['cpu per tick'], aim)
        for load, aim in _AIMS.items()
        if load in rows
    ]
    if HEARD_IN_PYTHON in rows:
        missed = 1.0 - rows[HEARD_IN_PYTHON]['rate'] / 1000.0
        targets.append(Target('share of ticks missed, all listening', missed, 1.0 - _LEAST_TICKS))
    return targets


def measure_thread(load: str, seconds: float) -> dict[str, float]:
    """
    Run our node with a load, and observe its physics thread for some seconds.

    Returns its processor time per tick [s], ticks per second, percentiles for lateness and tick
    duration [s].
    """
    beside = [
        (HEARD, module('bridge_load', 'drain')),
        (
            ANSWERED,
            [
                sys.executable,
                '-m',
                'sim_bridge.control.pd_controller',
                '--ros-args',
                '--log-level',
                'warn',
                '-r',
                '__ns:=/arm_1',
                '-p',
                'gravity:=[0.0, 0.0, 0.0]',
            ],
        ),
        (HEARD_IN_PYTHON, module('bridge_load', 'hear')),
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        bridge = stack.enter_context(process(_start_ours(1, seconds, Path(folder))))
        for least, command in beside:
            if LOADS.index(load) >= LOADS.index(least):
                stack.enter_context(process(command))
        done = subprocess.run(
            module('bridge_load', 'watch', '--process', bridge.pid),
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def measure(name: str, arms: int, seconds: float) -> dict[str, float]:
    """
    Run a bridge with a commander and a listener for some seconds.

    Returns its processor time per second and per tick [s], ticks per second, lateness
    percentiles [s], and the fraction of messages received.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        start = {OURS: _start_ours, MINIMAL: _start_minimal}[name]
        bridge = stack.enter_context(process(start(arms, seconds, Path(folder))))
        stack.enter_context(process(module('bridge_load', 'command', '--arms', arms)))
        done = subprocess.run(
            module('bridge_load', 'listen', '--arms', arms, '--process', bridge.pid),
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def _start_ours(arms: int, seconds: float, folder: Path) -> list[str]:
    """Return the command for this package's node, with only the necessary settings."""
    robots = {
        f'arm_{number + 1}': {
            'urdf': 'arm',
            'position': [0.0, 2.0 * number, 0.0],
            'collisions': 'none',
        }
        for number in range(arms)
    }
    scene = folder / 'arms.yaml'
    scene.write_text(yaml.safe_dump({'world': {'gravity': [0, 0, 0], 'robots': robots}}))
    parameters = {
        'world': scene,
        'diagnostics_rate': 1.0 / seconds,
        # equal scheduling for both: real-time priority depends on the machine
        'realtime_priority': 0,
    }
    given = [item for key, value in parameters.items() for item in ('-p', f'{key}:={value}')]
    return [
        sys.executable,
        '-m',
        'sim_bridge',
        'node',
        '--ros-args',
        '--log-level',
        'warn',
        *given,
    ]


def _start_minimal(arms: int, seconds: float, folder: Path) -> list[str]:
    return module('minimal_bridge', '--arms', arms, '--report-period', seconds)


def module(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a benchmark module."""
    return [sys.executable, '-m', f'benchmarks.{name}', *map(str, arguments)]


@contextlib.contextmanager
def process(command: Sequence[str]) -> Iterator[subprocess.Popen]:
    """Run a process while the context lasts."""
    started = subprocess.Popen(command, env=environment())
    try:
        yield started
    finally:
        started.send_signal(signal.SIGINT)
        try:
            started.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def environment() -> dict[str, str]:
    """Return the environment for all processes: this checkout, and no other machine."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get('PYTHONPATH')]))
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', **os.environ, 'PYTHONPATH': path}
