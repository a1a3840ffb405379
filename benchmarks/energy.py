"""
Energy and trajectory errors in frictionless motion at 1 ms steps, compared with other engines.

Every engine starts from the same state. One function, `mechanism.energy`, computes the energy for
all engines from their positions and velocities. Scenes and published figures: S. Peters' rigid-
body benchmark (github.com/scpeters/benchmark) and SimBenchmark
(github.com/leggedrobotics/SimBenchmark).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import sys

import numpy as np

from benchmarks.chains import box, double_pendulum, find_missing_robots, real_robot
from benchmarks.mechanism import (
    angular_momentum,
    energy,
    Mechanism,
    Motion,
    motion_of,
    State,
    zero_state,
)
from benchmarks.peers import build, find_missing, Peer, versions
from benchmarks.reference import double_pendulum_angles, free_body_motion
from benchmarks.report import Report, Target
from benchmarks.scenes import anymal_angles

OURS = 'sim_bridge'
OURS_RK5 = 'sim_bridge rk5'
ENGINES = (
    OURS,
    OURS_RK5,
    'MuJoCo Euler',
    'MuJoCo implicitfast',
    'MuJoCo RK4',
    'ODE dWorldStep',
    'ODE dWorldStep, finite rotation',
)
# the engines to beat at the same step; RK4 evaluates the dynamics four times, our RK5 six
RIVALS = (
    'MuJoCo Euler',
    'MuJoCo implicitfast',
    'ODE dWorldStep',
    'ODE dWorldStep, finite rotation',
)
STRETCH = 'MuJoCo RK4'

TIME_STEP = 1e-3
SAMPLE_STEPS = 10


@dataclass(frozen=True)
class Scene:
    """A motion repeated by every engine, with its reference solution."""

    title: str
    mechanism: Mechanism
    state: State
    gravity: np.ndarray
    duration: float
    reference: Callable[[np.ndarray], list[Motion]] | None = None


def pendulum_scene() -> Scene:
    """Release the double pendulum with both rods horizontal."""
    mechanism, gravity = double_pendulum(), np.array([0.0, 0.0, -9.81])
    start = np.array([np.pi / 2, 0.0])
    rod = mechanism.bodies[0]

    def reference(times):
        angles, rates = double_pendulum_angles(
            start, times, mass=rod.mass, length=1.0, inertia=rod.inertia[1, 1], g=9.81
        )
        return [
            motion_of(mechanism, State(q=q, dq=dq)) for q, dq in zip(angles, rates, strict=True)
        ]

    return Scene(
        'double pendulum, let go with both rods horizontal',
        mechanism,
        replace(zero_state(mechanism), q=start),
        gravity,
        10.0,
        reference,
    )


def box_scene(title: str, linear: list[float], angular: list[float], g: float) -> Scene:
    """Throw the box of scpeters/benchmark."""
    mechanism = box()
    v0, w0, gravity = np.array(linear), np.array(angular), np.array([0.0, 0.0, -g])

    def reference(times):
        return free_body_motion(np.diag(mechanism.bodies[0].inertia), w0, v0, gravity, times)

    return Scene(
        title,
        mechanism,
        replace(zero_state(mechanism), linear=v0, angular=w0),
        gravity,
        10.0,
        reference,
    )


def box_scenes() -> list[Scene]:
    """Return the tumbling box without gravity and both published scenes."""
    return [
        box_scene(
            'tumbling box, 5 rad/s about its middle axis, no gravity',
            [0.0, 0.0, 0.0],
            [0.1, 5.0, 0.1],
            0.0,
        ),
        box_scene(
            'boxes, simple: slow spin about one axis, no gravity',
            [-0.9, 0.4, 0.1],
            [0.5, 0.0, 0.0],
            0.0,
        ),
        box_scene('boxes, complex: thrown up, tumbling', [-2.0, 2.0, 8.0], [0.1, 5.0, 0.1], 9.8),
    ]


# scpeters/benchmark at 1 ms: largest errors in position [m], angular momentum, energy (relative)
_PUBLISHED_COMPLEX = {
    'ODE': (0.049, 0.01307, 0.01246),
    'Bullet': (0.049, 0.01245, 0.01358),
    'Simbody': (0.0245, 0.00643, 0.00623),
    'DART': (0.049, 2.186, 0.0376),
}

# SimBenchmark at 1 ms: mean squared energy error [J2]
_PUBLISHED_ANYMAL = {
    'RaiSim': 0.0118,
    'MuJoCo Euler': 3.48,
    'MuJoCo RK4': 1.6e-17,
    'Bullet': 3.65,
    'ODE': 3.89,
    'ODE quick': 3.92,
    'DART': 236.8,
}


def run(duration_scale: float = 1.0) -> Report:
    """Run all scenes on all engines; `duration_scale` shortens them."""
    missing, missing_robots = find_missing(), find_missing_robots()
    engines = [name for name in ENGINES if name not in missing]
    report = Report('energy', data={'time_step': TIME_STEP, 'scenes': {}})
    worst: dict[str, dict[str, float]] = {}
    for scene in [pendulum_scene(), *box_scenes()]:
        _say(scene.title)
        rows = {name: _errors(scene, name, duration_scale) for name in engines}
        report.data['scenes'][scene.title] = rows
        worst[scene.title] = {name: row['energy'] for name, row in rows.items()}
        _add_scene(report, scene, rows)
    if not missing_robots:
        _say('ANYmal')
        anymal = {name: anymal_energy_error(name, duration_scale) for name in engines}
        report.data['anymal'] = anymal
        _add_anymal(report, anymal)
    pendulum, tumbling = list(worst)[:2]
    report.add_targets(
        [*_targets('double pendulum', worst[pendulum]), *_targets('tumbling box', worst[tumbling])]
    )
    report.add_versions(versions())
    report.add_missing({**missing, **missing_robots})
    return report


def _errors(scene: Scene, name: str, duration_scale: float) -> dict[str, float]:
    """Run one engine; return the largest error by kind and the energy at all samples."""
    peer = build(name, scene.mechanism, TIME_STEP, scene.gravity)
    peer.reset(scene.state)
    samples = round(scene.duration * duration_scale / (SAMPLE_STEPS * TIME_STEP))
    motions = [peer.motion(), *[_advance(peer) for _ in range(samples)]]
    times = np.arange(samples + 1) * SAMPLE_STEPS * TIME_STEP
    energies = np.array([energy(scene.mechanism, motion, scene.gravity) for motion in motions])
    exact = scene.reference(times)
    position = np.array([np.abs(a.com - b.com).max() for a, b in zip(motions, exact, strict=True)])
    error = np.abs(energies - energies[0]).max()
    relative = {}
    if scene.mechanism.is_free:  # the pendulum starts with no energy and has no constant momentum
        spins = np.array([angular_momentum(scene.mechanism, motion) for motion in motions])
        turned = np.linalg.norm(spins - spins[0], axis=1).max() / np.linalg.norm(spins[0])
        relative = {
            'energy_relative': float(error / abs(energies[0])),
            'momentum_relative': float(turned),
        }
    return {
        'energy': float(error),
        **relative,
        'position': float(position.max()),
        'position_1s': float(position[times <= 1.0].max()),
        'velocity': float(
            max(np.abs(a.velocity - b.velocity).max() for a, b in zip(motions, exact, strict=True))
        ),
        'angle': float(
            max(_angle(a.rotation, b.rotation) for a, b in zip(motions, exact, strict=True))
        ),
        'energies': (energies - energies[0]).tolist(),
    }


def _advance(peer: Peer) -> Motion:
    peer.step(SAMPLE_STEPS)
    return peer.motion()


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest angle between two sets of rotations (n, 3, 3)."""
    # |A - B| = 2 sqrt(2) sin(angle / 2): exact even if the arc cosine of the trace is not
    chord = np.linalg.norm(a - b, axis=(1, 2)) / (2.0 * np.sqrt(2.0))
    return float(2.0 * np.arcsin(np.clip(chord, 0.0, 1.0)).max())


def anymal_energy_error(name: str, duration_scale: float = 1.0) -> float:
    """
    Return SimBenchmark's mean squared energy error [J2] for an ANYmal thrown up by its trunk.

    A force twice its weight pulls at the trunk for 1 s, with limp legs. The energy is recorded
    during the following 2 s flight.
    """
    mechanism, gravity = real_robot('anymal_b'), np.array([0.0, 0.0, -9.81])
    peer = build(name, mechanism, TIME_STEP, gravity)
    peer.reset(
        replace(
            zero_state(mechanism), q=anymal_angles(mechanism), position=np.array([0.0, 0.0, 2.0])
        )
    )
    seconds = round(1.0 * duration_scale / TIME_STEP)
    peer.push(-2.0 * mechanism.mass * gravity)
    peer.step(seconds)
    peer.push(np.zeros(3))
    start = energy(mechanism, peer.motion(), gravity)
    errors = [
        energy(mechanism, _advance(peer), gravity) - start
        for _ in range(2 * seconds // SAMPLE_STEPS)
    ]
    return float(np.mean(np.square(errors)))


def _add_scene(report: Report, scene: Scene, rows: dict[str, dict[str, float]]) -> None:
    published = _PUBLISHED_COMPLEX if 'complex' in scene.title else {}
    columns = {
        'energy': 'energy [J]',
        'energy_relative': 'energy, rel.',
        'momentum_relative': 'ang. mom., rel.',
        'position_1s': 'pos. in 1 s [m]',
        'position': 'position [m]',
        'angle': 'angle [rad]',
    }
    if not scene.mechanism.is_free:
        del columns['energy_relative'], columns['momentum_relative']
    header = ['largest errors', *columns.values()]
    lines = [[name, *[f'{row[key]:.2e}' for key in columns]] for name, row in rows.items()]
    lines += [
        [f'{name} (published)', '', f'{e:.2e}', f'{spin:.2e}', '', f'{p:.2e}', '']
        for name, (p, spin, e) in published.items()
    ]
    report.add_table(f'{scene.title}: {scene.duration:g} s at 1 ms', header, lines)


def _add_anymal(report: Report, errors: dict[str, float]) -> None:
    mass = real_robot('anymal_b').mass
    rows = [[name, f'{value:.3g}'] for name, value in errors.items()]
    rows += [[f'{name} (published)', f'{value:.3g}'] for name, value in _PUBLISHED_ANYMAL.items()]
    report.add_table(
        'ANYmal pulled up for 1 s by twice its weight, then 2 s of flight at 1 ms',
        ['mean squared energy error', '[J2]'],
        rows,
        f'Published for 33.9 kg; this ANYmal B has {mass:.1f} kg. Plain semi-implicit Euler\n'
        f'loses m g2 h / 2 per second of flight: this alone is {_ballistic(33.897):.3g} there, '
        f'{_ballistic(mass):.3g} here.',
    )


def _ballistic(mass: float) -> float:
    """Return the mean square of semi-implicit Euler's energy loss in 2 s of free flight [J2]."""
    return (0.5 * mass * 9.81**2 * TIME_STEP) ** 2 * 4.0 / 3.0


def _targets(label: str, worst: dict[str, float]) -> list[Target]:
    best = min((worst[name] for name in RIVALS if name in worst), default=float('nan'))
    return [
        Target(f'{label}: energy error [J], best of ODE and MuJoCo', worst[OURS], best),
        Target(f'{label}: stretch, {STRETCH}', worst[OURS_RK5], worst.get(STRETCH, float('nan'))),
    ]


def _say(label: str) -> None:
    print(f'  running {label} …', file=sys.stderr, flush=True)
