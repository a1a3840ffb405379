"""Time per step for chains and real robots, in one run with the other engines."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.chains import chain, CHAIN_LENGTHS, find_missing_robots, real_robot, REAL_ROBOTS
from benchmarks.mechanism import Mechanism, random_state
from benchmarks.peers import build, find_missing, versions
from benchmarks.report import Report, Target
from benchmarks.timing import measure, native, per_call

OURS, OURS_PER_CALL = 'sim_bridge', 'sim_bridge, 1 call/step'
MUJOCO, ODE = 'MuJoCo Euler', 'ODE dWorldStep'
ENGINES = (OURS, MUJOCO, 'MuJoCo implicitfast', ODE, 'ODE dWorldQuickStep', 'Pinocchio aba')

TIME_STEP = 1e-3
GRAVITY = np.array([0.0, 0.0, -9.81])

_NOTES = """Medians of {rounds} rounds in which the engines take turns; processor time of the
thread; 1 ms steps without contacts, limits or friction. Loops: MuJoCo's nstep, in C; ODE's C
function called by a compiled loop; Pinocchio's aba by abaInParallel on one thread, without
integration; sim_bridge's step(n) in one call, and step() once per step."""


def run(rounds: int = 15, lengths: tuple[int, ...] = CHAIN_LENGTHS) -> Report:
    """Measure all chains and robots and compare with the targets."""
    missing, missing_robots = find_missing(), find_missing_robots()
    engines = [name for name in ENGINES if name not in missing]
    chains = {n: _measure(chain(n), engines, rounds) for n in lengths}
    robots = {}
    for name in () if missing_robots else REAL_ROBOTS:
        mechanism = real_robot(name)
        robots[f'{name} ({mechanism.dof})'] = _measure(mechanism, engines, rounds)

    report = Report('step')
    columns = [OURS, OURS_PER_CALL, *[name for name in ENGINES if name != OURS]]
    for title, first, times in (
        ('Revolute chains', 'links', chains),
        ('Real robots', 'robot (dof)', robots),
    ):
        report.add_table(
            f'{title}: microseconds per step',
            [first, *columns],
            [[str(key), *[_cell(row, name) for name in columns]] for key, row in times.items()],
        )
        report.add_table(
            f'{title}: time of sim_bridge relative to the others',
            [first, *columns[2:]],
            [
                [str(key), *[_ratio_cell(row, name) for name in columns[2:]]]
                for key, row in times.items()
            ],
        )
    report.sections.append(_NOTES.format(rounds=rounds))
    report.add_targets(_targets(chains, robots))
    report.add_versions(versions())
    report.add_missing({**missing, **missing_robots})
    report.data.update(
        unit='s',
        chains=chains,
        robots=robots,
        rounds=rounds,
        exponents={name: _exponent(chains, name) for name in engines},
    )
    return report


def _measure(mechanism: Mechanism, engines: list[str], rounds: int) -> dict[str, float]:
    print(f'  timing {mechanism.name} …', file=sys.stderr, flush=True)
    state = random_state(mechanism, np.random.default_rng(1))
    peers = {name: build(name, mechanism, TIME_STEP, GRAVITY) for name in engines}
    steppers = {name: native(peer, state) for name, peer in peers.items()}
    steppers[OURS_PER_CALL] = per_call(peers[OURS], state, peers[OURS].world.step)
    return measure(steppers, rounds)


def _targets(chains, robots):
    def ratio(n, other):
        row = chains.get(n, {})
        return row[OURS] / row[other] if other in row else float('nan')

    call = max(
        (row[OURS_PER_CALL] - row[OURS]) * 1e6 for row in [*chains.values(), *robots.values()]
    )
    return [
        Target('time at 7 links / MuJoCo mj_step (Euler)', ratio(7, MUJOCO), 0.6),
        Target('time at 7 links / ODE dWorldStep', ratio(7, ODE), 0.25),
        Target('time at 128 links / MuJoCo mj_step (Euler)', ratio(128, MUJOCO), 0.3),
        Target('growth with the number of links, fitted exponent', _exponent(chains, OURS), 1.1),
        Target('Python call added to a step, worst of all rows [us]', call, 5.0),
    ]


def _exponent(chains, name):
    """Fit time = c n^exponent; 1 is linear growth."""
    if len(chains) < 2:
        return float('nan')
    return float(
        np.polyfit(np.log(list(chains)), np.log([row[name] for row in chains.values()]), 1)[0]
    )


def _cell(row, name):
    return f'{row[name] * 1e6:.2f}' if name in row else 'missing'


def _ratio_cell(row, name):
    return f'{row[OURS] / row[name]:.3f}' if name in row else 'missing'
