"""Time per step for a robot with many closed loops, in one run with the other engines."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.chains import tower, tower_state
from benchmarks.mechanism import energy, gap, Mechanism
from benchmarks.peers import build, find_missing, Peer, versions
from benchmarks.report import Report, Target
from benchmarks.timing import measure, native

OURS, MUJOCO = 'sim_bridge', 'MuJoCo Euler'
ENGINES = (OURS, MUJOCO, 'MuJoCo implicitfast', 'ODE dWorldStep', 'ODE dWorldQuickStep')

TIME_STEP = 1e-3
GRAVITY = np.array([0.0, 0.0, -9.81])
DURATION = 2.0  # motion for the errors in the table [s]

# cell count, bars below them, closing joints are hinges
TOWERS = {
    'tower, 3 cells (12 joints), points': (3, 0, False),
    'tower, 3 cells (12 joints), hinges': (3, 0, True),
    'tower, 12 cells (50 joints), points': (12, 2, False),
    'tower, 12 cells (50 joints), hinges': (12, 2, True),
}
TARGET_ROW = 'tower, 12 cells (50 joints), hinges'

_NOTES = """Medians of {rounds} rounds in which the engines take turns; processor time of the
thread; 1 ms steps, everything at its defaults. Parallelograms hang from each other, each
closed by a joint: three rows if it keeps points together (MuJoCo's `connect`), five if it is a
hinge (two `connect` constraints in MuJoCo). Gap: greatest distance between the points in 2 s;
energy: loss or gain meanwhile."""


def run(rounds: int = 15, towers: tuple[str, ...] = tuple(TOWERS)) -> Report:
    """Measure all towers' time per step and errors, and compare with the target."""
    missing = find_missing()
    engines = [name for name in ENGINES if name not in missing]
    rows = {name: _measure(tower(*TOWERS[name]), engines, rounds) for name in towers}

    report = Report('loops')
    for key, title, form in (
        ('time', 'microseconds per step', lambda row, name: f'{row[name] * 1e6:.1f}'),
        ('gap', 'greatest gap [m]', lambda row, name: f'{row[name]:.1e}'),
        ('energy', 'change of energy [J]', lambda row, name: f'{row[name]:.1e}'),
    ):
        report.add_table(
            title,
            ['mechanism', *engines],
            [[label, *[form(row[key], name) for name in engines]] for label, row in rows.items()],
        )
    report.sections.append(_NOTES.format(rounds=rounds))
    times = rows.get(TARGET_ROW, {}).get('time', {})
    ratio = times[OURS] / times[MUJOCO] if MUJOCO in times else float('nan')
    gaps = [row['gap'][OURS] for row in rows.values()]
    report.add_targets(
        [
            Target('time with 50 joints, hinges / MuJoCo mj_step (Euler)', ratio, 1.0),
            Target('greatest gap [m]', max(gaps), 1e-9),
        ]
    )
    report.add_versions(versions())
    report.add_missing(missing)
    report.data.update(unit='s', rows=rows, rounds=rounds)
    return report


def _measure(mechanism: Mechanism, engines: list[str], rounds: int) -> dict[str, dict[str, float]]:
    print(f'  timing {mechanism.name} …', file=sys.stderr, flush=True)
    state = tower_state(mechanism)
    peers = {name: build(name, mechanism, TIME_STEP, GRAVITY) for name in engines}
    times = measure({name: native(peer, state) for name, peer in peers.items()}, rounds)
    errors = {}
    for name, peer in peers.items():
        peer.reset(state)
        errors[name] = _errors(mechanism, peer)
    return {
        'time': times,
        'gap': {name: error[0] for name, error in errors.items()},
        'energy': {name: error[1] for name, error in errors.items()},
    }


def _errors(mechanism: Mechanism, peer: Peer) -> tuple[float, float]:
    """Return the greatest gap and energy change, sampled every 10 ms."""
    start, worst, change = energy(mechanism, peer.motion(), GRAVITY), 0.0, 0.0
    for _ in range(round(DURATION / TIME_STEP / 10)):
        peer.step(10)
        motion = peer.motion()
        worst = max(worst, gap(mechanism, motion))
        change = max(change, abs(energy(mechanism, motion, GRAVITY) - start))
    return worst, change
