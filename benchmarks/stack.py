"""Towers standing for a minute: ten boxes on each other, a heavy box on a light one."""

from __future__ import annotations

import numpy as np

from benchmarks.contest import add_rows, best, finish, OURS, present, race, say, TIME, value
from benchmarks.overlap import deepest
from benchmarks.peers import build_scene, ContactPeer
from benchmarks.report import Report, Target
from benchmarks.scene import Scene
from benchmarks.scenes import stack, unequal_pair

ENGINES = (
    OURS,
    'MuJoCo',
    'MuJoCo implicitfast',
    'MuJoCo CG',
    'MuJoCo noslip',
    'MuJoCo stiff',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
)
MUJOCO, ODE = 'MuJoCo', 'ODE dWorldStep'

DURATION = 60.0
SETTLE = 5.0  # settling time before steps at rest are timed [s]
# fall height of each box onto the one below [m]
GAP = 0.02
# largest sinking or shifting of a standing tower [m]
_STANDS = 0.05

STOOD = 'stood [s]'
SHIFT, SINKING, DEEPEST = 'shift [m]', 'sinking [m]', 'deepest [m]'
SPEED = 'speed [m/s]'
FALLING = 'falling [us]'
AIMS = {TIME: 0.4, FALLING: 1.5}  # relative to MuJoCo's time


def run(duration_scale: float = 1.0, engines: tuple[str, ...] = ENGINES) -> Report:
    """Let both towers stand in all engines; `duration_scale` shortens the motion."""
    report = Report('stack')
    names, targets = present(engines), []
    for scene in (stack(), unequal_pair()):
        say(scene.name)
        rows = {
            name: stand(build_scene(name, scene), scene, DURATION * duration_scale)
            for name in names
        }
        settle = max(1, round(SETTLE * duration_scale / scene.time_step))
        times = race(scene, names, 2.0 * duration_scale, 20, lambda peer, n=settle: peer.step(n))
        for name, row in rows.items():
            row[TIME] = 1e6 * float(np.median(times[name]))
        if len(scene.solids) > 2:
            falling = race(stack(gap=GAP), names, 0.4 * duration_scale, 20)
            for name, row in rows.items():
                row[FALLING] = 1e6 * float(falling[name].mean())
        add_rows(
            report,
            f'{scene.name}: at rest for {DURATION:g} s at 1 ms',
            rows,
            notes='Shift, sinking and depth: the greatest of all boxes, at the end.',
        )
        targets += _targets(scene, rows, DURATION * duration_scale)
    report.add_targets(targets)
    return finish(report)


def stand(peer: ContactPeer, scene: Scene, duration: float) -> dict[str, float]:
    """
    Leave a tower alone and check it every half second.

    Returns the time for which it stood, and its final state: sideways and downward displacements,
    overlap depth and remaining speed of the boxes.
    """
    start, step, stood = scene.start(), scene.time_step, 0.0
    motion = start
    for _ in range(max(1, round(duration / 0.5))):
        peer.step(max(1, round(min(0.5, duration) / step)))
        motion = peer.motion()
        moved = motion.com - start.com
        if not np.abs(moved).max() < _STANDS:  # also ends on nan
            break
        stood += min(0.5, duration)
    return {
        STOOD: stood,
        SHIFT: float(np.linalg.norm(moved[:, :2], axis=1).max()),
        SINKING: float(-moved[:, 2].min()),
        DEEPEST: deepest(scene, motion),
        SPEED: float(np.abs(motion.velocity).max()),
    }


def _targets(scene, rows, duration):
    tower = scene.name
    targets = [
        Target(
            f'{tower}: seconds short of {duration:g}', duration - value(rows, OURS, STOOD), 0.0
        ),
        Target(
            f'{tower}: depth [m], best of the others',
            value(rows, OURS, DEEPEST),
            best(rows, DEEPEST),
        ),
    ]
    if len(scene.solids) > 2:
        for key in (TIME, FALLING):
            ours = value(rows, OURS, key)
            targets += [
                Target(f'{tower}: {key} / MuJoCo', ours / value(rows, MUJOCO, key), AIMS[key]),
                Target(f'{tower}: {key} / ODE dWorldStep', ours / value(rows, ODE, key), 0.2),
            ]
    return targets
