"""Time that the simulation thread spends on a live page, and its fraction of a core."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time

import viser

from benchmarks.report import Report, Target
import sim_bridge as sb

_FRAMES = 60.0  # each second
_BALLS, _SIDE = 200, 15
_URDF = Path(__file__).parent.parent / 'urdf'
_NOTES = """Processor time of the simulation thread, with a page reading along in another
process; least of {rounds} rounds. Per frame: all copies, 60 times a second. Per step:
the page's hooks, for each simulated step at speed 1."""


def run(rounds: int = 30) -> Report:
    """Measure one robot and 200 bodies."""
    report, rows, targets = Report('view'), [], []
    for name, make, limit in (('arm', _arm, 0.5), ('200 balls', _balls, 2.0)):
        world = make()
        world.step(200)
        with world.view(speed=0.0, browser=False) as viewer:
            frame = _least(viewer.sync, 20, rounds)
            step = _least(viewer.stepped, 200, rounds)
            contacts = len(world.contacts)
        share = 100.0 * (frame * _FRAMES + step / world.time_step)
        rows.append(
            [
                name,
                str(contacts),
                f'{frame * 1e6:.1f}',
                f'{step * 1e6:.2f}',
                f'{100.0 * frame * _FRAMES:.2f}',
                f'{share:.2f}',
            ]
        )
        targets += [Target(f'{name}: simulation thread [% of a core]', share, limit)]
        report.data[name] = {'frame': frame, 'step': step}
    report.add_table(
        'A live page',
        ['world', 'contacts', 'frame [us]', 'step [us]', 'frames [%]', 'with steps [%]'],
        rows,
        _NOTES.format(rounds=rounds),
    )
    report.add_targets(targets)
    report.add_versions({'viser': viser.__version__})
    return report


def _arm() -> sb.World:
    world = sb.World(1e-3)
    world.load_urdf(_URDF / 'arm.urdf', base='fixed')
    return world


def _balls() -> sb.World:
    world = sb.World(1e-3, sleep=False)
    world.add_ground()
    for k in range(_BALLS):
        world.add_body(
            sb.Sphere(0.1),
            name=f'ball_{k}',
            position=(0.25 * (k % _SIDE), 0.25 * (k // _SIDE), 0.1),
        )
    return world


def _least(call: Callable[[], object], count: int, rounds: int) -> float:
    """Return the least mean time per call [s]."""
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(count):
            call()
        times.append((time.thread_time() - start) / count)
    return min(times)
