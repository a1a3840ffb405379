"""
Robots on their feet: SimBenchmark's standing ANYmals, one and many, and the quadruped in urdf/.

SimBenchmark publishes only times. Once a robot has sagged, nothing should happen: feet
held by friction do not creep, and the trunk stays in place.
"""

from __future__ import annotations

import numpy as np

from benchmarks.chains import find_missing_robots
from benchmarks.contest import (
    add_rows,
    best,
    finish,
    OURS,
    OURS_ITERATIVE,
    OURS_SPLIT,
    present,
    race,
    say,
    TIME,
    value,
)
from benchmarks.overlap import deepest, spheres
from benchmarks.peers import build_scene, ContactPeer
from benchmarks.report import Report, Target
from benchmarks.scene import Scene
from benchmarks.scenes import anymals, quadruped

ENGINES = (
    OURS,
    OURS_ITERATIVE,
    OURS_SPLIT,
    'MuJoCo',
    'MuJoCo implicitfast',
    'MuJoCo noslip',
    'MuJoCo CG noslip',
    'MuJoCo PGS noslip',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
)
ROWS = (1, 2, 3, 5)

# time for a robot to settle on its springs, and the observation time afterwards [s]
_SETTLE, _WATCH = 15.0, 20.0
# steps per engine and turn, divided by the robot count: fewer steps would measure
# cold caches; SimBenchmark takes 50 000 in a row
_TURN, _LEAST_TURN = 1000, 100
_TURNS = 20
_AIM = 0.3  # relative to MuJoCo's time; RaiSim published 0.22 for one ANYmal, 0.29 for 25

CREEP, SINKING, DEEPEST = 'creep [m]', 'sinking [m]', 'deepest [m]'

# SimBenchmark: time for 50 000 steps with one and with 25 ANYmals [s], on another machine
_PUBLISHED = {
    1: {
        'RaiSim': 0.40,
        'MuJoCo PGS noslip': 1.70,
        'MuJoCo CG noslip': 1.68,
        'MuJoCo noslip': 1.81,
        'Bullet': 3.55,
        'DART': 5.67,
        'ODE': 22.4,
    },
    25: {'RaiSim': 14.6, 'MuJoCo': 50.0, 'Bullet': 93.0, 'DART': 122.0, 'ODE': 613.0},
}
_NOTES = """Creep: greatest foot displacement in the last {watch:g} of {total:g} s; \
sinking: the trunk's, in this time.
Bullet's time includes the spring torques, computed in Python."""


def run(
    duration_scale: float = 1.0, engines: tuple[str, ...] = ENGINES, rows: tuple[int, ...] = ROWS
) -> Report:
    """Let robots stand in all engines; `duration_scale` shortens the motion."""
    report, missing = Report('stand'), find_missing_robots()
    names, targets, many = present(engines), [], {}
    table = _watch(quadruped(), names, duration_scale)
    add_rows(report, 'Quadruped on its feet, at 1 ms', table, notes=_notes())
    targets += [_target_beside(table, 'quadruped', 'MuJoCo'), *_targets('quadruped', table)]
    for n in () if missing else rows:
        scene = anymals(n)
        if n == 1:
            table = _watch(scene, names, duration_scale)
        else:
            table = {name: {TIME: time} for name, time in _times(scene, names, duration_scale)}
        published = {
            name: {TIME: seconds / 50000 * 1e6}
            for name, seconds in _PUBLISHED.get(n * n, {}).items()
        }
        add_rows(
            report,
            f'{scene.name} on the feet, at 5 ms',
            table,
            published,
            _notes() if n == 1 else '',
        )
        if n == ROWS[0]:
            targets.append(_target_beside(table, scene.name, 'MuJoCo noslip'))
        elif n == ROWS[-1]:
            targets.append(_target_beside(table, scene.name, 'MuJoCo'))
        targets += _targets(scene.name, table)
        many[n * n] = {name: row[TIME] for name, row in table.items()}
    report.data['robots'] = many
    report.add_targets(targets)
    report = finish(report)
    report.add_missing({**report.data['missing'], **missing})
    return report


def hold(peer: ContactPeer, scene: Scene, settle: float, watch: float) -> dict[str, float]:
    """Let robots come to rest, then measure their remaining motion [m]."""
    peer.step(max(1, round(settle / scene.time_step)))
    before = peer.motion()
    peer.step(max(1, round(watch / scene.time_step)))
    after = peer.motion()
    feet = spheres(scene, after)[0] - spheres(scene, before)[0]
    return {
        CREEP: float(np.linalg.norm(feet[:, :2], axis=1).max()),
        SINKING: float(before.com[0, 2] - after.com[0, 2]),
        DEEPEST: deepest(scene, after),
    }


def _watch(scene, names, duration_scale):
    say(scene.name)
    rows = {
        name: hold(
            build_scene(name, scene), scene, _SETTLE * duration_scale, _WATCH * duration_scale
        )
        for name in names
    }
    return {
        name: {**rows[name], TIME: time} for name, time in _times(scene, names, duration_scale)
    }


def _times(scene, names, duration_scale):
    """Return engines and their times per step [us] for robots at rest."""
    settle = max(1, round(_SETTLE * duration_scale / scene.time_step))
    turn = max(_TURN // len(scene.machines), _LEAST_TURN)
    times = race(
        scene,
        names,
        _TURNS * turn * scene.time_step * duration_scale,
        _TURNS,
        lambda peer: peer.step(settle),
    )
    return [(name, 1e6 * float(np.median(times[name]))) for name in names]


def _notes():
    return _NOTES.format(watch=_WATCH, total=_SETTLE + _WATCH)


def _target_beside(rows, label, other):
    return Target(
        f'{label}: time / {other}', value(rows, OURS, TIME) / value(rows, other, TIME), _AIM
    )


def _targets(label, rows):
    targets = [
        Target(
            f'{label}: time [us], fastest of the others', value(rows, OURS, TIME), best(rows, TIME)
        )
    ]
    if any(CREEP in row for row in rows.values()):
        targets.append(
            Target(
                f'{label}: creep [m], best of the others',
                value(rows, OURS, CREEP),
                best(rows, CREEP),
            )
        )
    return targets
