"""Time from a fresh process to a stepping robot, kernels compiled or from the cache."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

from benchmarks.report import Report, Target

_ROOT = Path(__file__).parent.parent
ROBOT = 'arm'

# prints the seconds since the start of Python's first line after each stage
_CHILD = """
import json, sys, time
start = time.perf_counter()
marks = {}
import sim_bridge as sb
marks['import sim_bridge'] = time.perf_counter() - start
world = sb.World()
world.load_urdf(sys.argv[1])
marks['load the robot'] = time.perf_counter() - start
world.warm_up()
marks['warm up'] = time.perf_counter() - start
world.step()
marks['first step'] = time.perf_counter() - start
print(json.dumps(marks))
"""


def run() -> Report:
    """Start twice with the same kernel cache, empty at first."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = start(cache), start(cache)
    report = Report('cold_start', data={'unit': 's', 'cold': cold, 'warm': warm})
    report.add_table(
        f'Start of {ROBOT}.urdf in a fresh process: seconds until done',
        ['', 'empty cache', 'warm cache'],
        [[stage, f'{cold[stage]:.2f}', f'{warm[stage]:.2f}'] for stage in cold],
    )
    report.add_targets(
        [
            Target('until the first step, empty cache [s]', cold['first step'], 10.0),
            Target('until the first step, warm cache [s]', warm['first step'], 1.5),
        ]
    )
    return report


def start(cache: str | None = None) -> dict[str, float]:
    """Start a fresh process on a kernel cache, by default the user's; return its times [s]."""
    environment = {**os.environ, 'PYTHONPATH': str(_ROOT)}
    if cache is not None:
        environment['SIM_BRIDGE_CACHE_DIR'] = cache
    done = subprocess.run(
        [sys.executable, '-c', _CHILD, str(_ROOT / 'urdf' / f'{ROBOT}.urdf')],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)
