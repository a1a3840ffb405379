"""
Each engine's longest steps: a controller waits for them when something lands.

Each step is timed separately, with the engines in turns step by step; contacts come and go
in all these scenes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.chains import find_missing_robots, real_robot
from benchmarks.contest import add_rows, finish, is_ours, OURS, peers_for, present, say, value
from benchmarks.mechanism import zero_state
from benchmarks.overlap import deepest
from benchmarks.report import Report, Target
from benchmarks.scene import ANYTHING, Machine, Scene, Solid, Surface
from benchmarks.scenes import quadruped, stack
from benchmarks.shapes import Box, inertia_of, Sphere
from benchmarks.timing import time_in_turns

UNBOUNDED = 'sim_bridge without a budget'
ENGINES = (
    OURS,
    UNBOUNDED,
    'sim_bridge iterative',
    'sim_bridge split',
    'MuJoCo',
    'MuJoCo noslip',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
)
MEDIAN, P99, WORST, DEEPEST = 'median [us]', 'p99 [us]', 'worst [us]', 'deepest at the end [m]'

_STEP = 1e-3
_MOST_US, _MOST_RATIO = 1000.0, 10.0
_PILE_US = 5000.0
_STACK = 20  # bodies: up to this many, a step has to end within a controller's period
_PILE = 60  # bodies: above this many, the longest step has no bound
# these take a second per step
_NOT_OF_PILES = (UNBOUNDED, 'sim_bridge split', 'ODE dWorldStep')


def run(duration_scale: float = 1.0, engines: tuple[str, ...] = ENGINES) -> Report:
    """Time all scenes in all engines; `duration_scale` shortens the motion."""
    report, targets, missing = Report('worst'), [], find_missing_robots()
    names = present(engines)
    scenes = [(stack(gap=0.02, time_step=_STEP), 1.5), (_thrown(), 2.0), (tumbled_boxes(), 1.5)]
    scenes += [] if missing else [(_fallen(), 1.5)]
    scenes += [(wall_and_ball(), 0.3), (crossed_tower(), 0.1)]
    for scene, duration in scenes:
        say(scene.name)
        timed = (
            names
            if len(scene.solids) <= _PILE
            else tuple(name for name in names if name not in _NOT_OF_PILES)
        )
        rows = _longest(scene, timed, duration * duration_scale)
        add_rows(report, scene.name, rows)
        worst, median = value(rows, OURS, WORST), value(rows, OURS, MEDIAN)
        if len(scene.solids) > _PILE:
            fastest = min(value(rows, name, MEDIAN) for name in rows if name.startswith('MuJoCo'))
            targets.append(Target(f'{scene.name}: median / fastest MuJoCo', median / fastest, 1.0))
            continue
        targets.append(
            Target(
                f'{scene.name}: worst step [us]',
                worst,
                _PILE_US if len(scene.solids) > _STACK else _MOST_US,
            )
        )
        targets.append(Target(f'{scene.name}: worst step / median', worst / median, _MOST_RATIO))
    report.sections.append(
        'Processor time of single steps of 1 ms, the engines in turns step by step; ours with '
        'one call of Python each.'
    )
    report.add_targets(targets)
    report = finish(report)
    report.add_missing({**report.data['missing'], **missing})
    return report


def tumbled_boxes(n: int = 50, seed: int = 3) -> Scene:
    """Return boxes, 8 to 30 cm, turned at random, in columns of nine above the ground."""
    rng = np.random.default_rng(seed)
    solids = []
    for k in range(n):
        size, turn = rng.uniform(0.08, 0.3, 3), np.linalg.qr(rng.normal(size=(3, 3)))[0]
        box = Box(tuple(size.tolist()))
        mass = 1000.0 * float(np.prod(size))
        place = np.array([0.35 * (k % 3), 0.35 * (k // 3 % 3), 0.3 + 0.4 * (k // 9)])
        solids.append(
            Solid(
                box,
                mass,
                inertia_of(box, mass),
                place + 0.02 * rng.random(3) * [1.0, 1.0, 0.0],
                rotation=turn * np.sign(np.linalg.det(turn)),
            )
        )
    return Scene(
        f'{n} tumbled boxes', _STEP, {(ANYTHING, ANYTHING): Surface(0.6)}, solids=tuple(solids)
    )


def wall_and_ball(courses: int = 10, length: int = 10) -> Scene:
    """Return a brick wall, each course shifted by a third brick, and a ball that hits it."""
    brick, ball = Box((0.2, 0.1, 0.1)), Sphere(0.15)
    solids = [
        Solid(
            brick,
            2.0,
            inertia_of(brick, 2.0),
            np.array([0.201 * (k + 0.3 * (course % 2)), 0.0, 0.05 + 0.1 * course]),
        )
        for course in range(courses)
        for k in range(length)
    ]
    solids.append(
        Solid(
            ball,
            14.0,
            inertia_of(ball, 14.0),
            np.array([1.0, -1.0, 0.6]),
            linear=np.array([0.0, 10.0, 0.0]),
        )
    )
    return Scene(
        f'wall of {courses * length} bricks and a ball',
        _STEP,
        {(ANYTHING, ANYTHING): Surface(0.6)},
        solids=tuple(solids),
    )


def crossed_tower(layers: int = 30) -> Scene:
    """Return a beam tower, three in a layer, across the beams in the layer below."""
    solids = []
    for layer in range(layers):
        beam = Box((0.09, 0.3, 0.06) if layer % 2 == 0 else (0.3, 0.09, 0.06))
        for side in (-0.1, 0.0, 0.1):
            place = np.array([0.0, 0.0, 0.03 + 0.06 * layer])
            place[layer % 2] = side
            solids.append(Solid(beam, 2.0, inertia_of(beam, 2.0), place))
    return Scene(
        f'tower of {layers} crossed layers',
        _STEP,
        {(ANYTHING, ANYTHING): Surface(0.6)},
        solids=tuple(solids),
    )


def _thrown() -> Scene:
    """Return the quadruped, thrown at the ground at 5 m/s."""
    scene = quadruped(_STEP)
    machine = scene.machines[0]
    state = replace(
        machine.state, position=np.array([0.0, 0.0, 0.6]), linear=np.array([3.5, 0.0, -3.5])
    )
    return replace(
        scene, name='quadruped thrown at 5 m/s', machines=(replace(machine, state=state),)
    )


def _fallen() -> Scene:
    """Return an ANYmal without any springs, dropped."""
    mechanism = real_robot('anymal_b', shapes=True)
    state = replace(zero_state(mechanism), position=np.array([0.0, 0.0, 0.7]))
    return Scene(
        'limp ANYmal dropped',
        _STEP,
        {(ANYTHING, ANYTHING): Surface(0.8)},
        machines=(Machine(mechanism, state, stiffness=0.0, damping=0.1, rest=state.q),),
    )


def _longest(scene, names, duration):
    steps = max(1, round(duration / scene.time_step))
    peers = peers_for(scene, names)
    for name, peer in peers.items():
        if is_ours(name):
            # compiles the kernels needed for contacts
            peer.step(steps)
            peer.reset()
    times = time_in_turns({name: peer.step for name, peer in peers.items()}, steps, 1)
    return {
        name: {
            MEDIAN: 1e6 * float(np.median(times[name])),
            P99: 1e6 * float(np.percentile(times[name], 99.0)),
            WORST: 1e6 * float(times[name].max()),
            DEEPEST: deepest(scene, peer.motion()),
        }
        for name, peer in peers.items()
    }
