"""
scpeters' boxes: errors of one thrown box, and the time for many boxes side by side.

Definitions and published figures: github.com/scpeters/benchmark (boxes). `energy` has the same
boxes among the mechanisms without contacts; here they are loose bodies in a scene.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.chains import box
from benchmarks.contest import add_rows, best, finish, OURS, present, race, say, value
from benchmarks.mechanism import angular_momentum
from benchmarks.peers import build_scene, ContactPeer
from benchmarks.reference import free_body_motion
from benchmarks.report import Report, Target
from benchmarks.scene import energy_of_solids, Scene
from benchmarks.scenes import tumbling_boxes

ENGINES = (OURS, 'MuJoCo', 'MuJoCo implicitfast', 'ODE dWorldStep', 'Bullet', 'Bullet multibody')
COUNTS = (1, 10, 50, 105)
DURATION = 10.0
_SAMPLE = 10

POSITION, VELOCITY, ANGLE = 'position [m]', 'velocity [m/s]', 'angle [rad]'
MOMENTUM, ENERGY = 'ang. momentum', 'energy'
_COLUMNS = (POSITION, VELOCITY, ANGLE, MOMENTUM, ENERGY)

# largest errors at 1 ms; relative errors for angular momentum and energy
_PUBLISHED = {
    'simple': {'ODE': {ANGLE: 1.04e-7}},
    'complex': {
        'ODE': {POSITION: 0.049, MOMENTUM: 0.01307, ENERGY: 0.01246},
        'Bullet': {POSITION: 0.049, MOMENTUM: 0.01245, ENERGY: 0.01358},
        'Simbody': {POSITION: 0.0245, MOMENTUM: 0.00643, ENERGY: 0.00623},
        'DART': {POSITION: 0.049, MOMENTUM: 2.186, ENERGY: 0.0376},
    },
}


def scenes(time_step: float = 1e-3) -> dict[str, Scene]:
    """Return a box without gravity turning about one axis, and a thrown box."""
    thrown = tumbling_boxes(1, time_step)
    slow = replace(
        thrown.solids[0], linear=np.array([-0.9, 0.4, 0.1]), angular=np.array([0.5, 0.0, 0.0])
    )
    return {'simple': replace(thrown, solids=(slow,), gravity=np.zeros(3)), 'complex': thrown}


def run(
    duration_scale: float = 1.0,
    engines: tuple[str, ...] = ENGINES,
    counts: tuple[int, ...] = COUNTS,
) -> Report:
    """Throw boxes in all engines; `duration_scale` shortens the motion."""
    report, targets = Report('boxes'), []
    names = present(engines)
    for kind, scene in scenes().items():
        say(f'boxes, {kind}')
        rows = {
            name: errors(build_scene(name, scene), scene, DURATION * duration_scale)
            for name in names
        }
        published = _PUBLISHED[kind]
        add_rows(report, f'Box, {kind}: largest errors in {DURATION:g} s at 1 ms', rows, published)
        targets += [
            Target(f'{kind}: {key}, best published', value(rows, OURS, key), best(published, key))
            for key in _COLUMNS
            if any(key in row for row in published.values())
        ]
    times = {}
    for count in counts:
        scene = tumbling_boxes(count)
        times[count] = {
            name: 1e6 * float(np.median(slices))
            for name, slices in race(scene, names, 2.0 * duration_scale, 20).items()
        }
    report.add_table(
        'Boxes side by side: microseconds per step of 0.5 ms',
        ['boxes', *names],
        [[str(count), *[f'{row[name]:.1f}' for name in names]] for count, row in times.items()],
    )
    report.data['times'] = times
    most = times[max(counts)]
    targets.append(
        Target(
            f'{max(counts)} boxes: time [us], fastest of the others',
            most.get(OURS, float('nan')),
            min((time for name, time in most.items() if name != OURS), default=float('nan')),
        )
    )
    report.add_targets(targets)
    return finish(report)


def errors(peer: ContactPeer, scene: Scene, duration: float) -> dict[str, float]:
    """Return the largest errors of a scene's one box; the last two are relative."""
    (solid,), mechanism = scene.solids, box()
    samples = max(1, round(duration / scene.time_step / _SAMPLE))
    times = np.arange(1, samples + 1) * _SAMPLE * scene.time_step
    exact = free_body_motion(
        np.diag(solid.inertia), solid.angular, solid.linear, scene.gravity, times
    )
    start = scene.start()
    energy, spin = energy_of_solids(scene, start), angular_momentum(mechanism, start)
    worst = dict.fromkeys(_COLUMNS, 0.0)
    for truth in exact:
        peer.step(_SAMPLE)
        motion = peer.motion()
        turned = np.linalg.norm(motion.rotation - truth.rotation) / (2.0 * np.sqrt(2.0))
        found = {
            POSITION: np.abs(motion.com - truth.com).max(),
            VELOCITY: np.abs(motion.velocity - truth.velocity).max(),
            ANGLE: 2.0 * np.arcsin(min(turned, 1.0)),
            MOMENTUM: np.linalg.norm(angular_momentum(mechanism, motion) - spin)
            / np.linalg.norm(spin),
            ENERGY: abs(energy_of_solids(scene, motion) - energy) / abs(energy),
        }
        worst = {key: float(max(worst[key], found[key])) for key in worst}
    return worst
