"""
Ball piles: growth of the step time with the ball count.

n x n x n rough balls fall into a square bin. All engines go through the same second, in turns:
the balls fall and collide, then lie in a pile. An engine whose time grows with a power of the
contact count is left out once a single step would take longer than everything else together.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contest import (
    add_rows,
    best,
    finish,
    is_ours,
    OURS,
    OURS_ITERATIVE,
    OURS_SPLIT,
    peers_for,
    present,
    say,
    TIME,
    value,
)
from benchmarks.overlap import deepest
from benchmarks.report import Report, Target
from benchmarks.scenes import bin_of_balls
from benchmarks.timing import time_in_turns

# ball limits for engines that are too slow for more
LIMITS = {'ODE dWorldStep': 64, 'MuJoCo': 216, 'MuJoCo stiff': 125, OURS: 512}
ENGINES = (
    OURS,
    OURS_ITERATIVE,
    OURS_SPLIT,
    'MuJoCo',
    'MuJoCo CG',
    'MuJoCo stiff',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
)
SIDES = (3, 4, 5, 6, 8, 10)
RIVALS = ('MuJoCo', 'MuJoCo CG', 'ODE dWorldQuickStep')

FALLING, DEEPEST, SPEED, CONTACTS = 'falling [us]', 'deepest [m]', 'speed [m/s]', 'contacts'

_FALL, _REST, _END = 0.5, 0.8, 1.0
_SLICES = 40


def run(
    duration_scale: float = 1.0, engines: tuple[str, ...] = ENGINES, sides: tuple[int, ...] = SIDES
) -> Report:
    """Let all piles fall in all engines; `duration_scale` shortens the motion."""
    report, targets = Report('piles'), []
    piles = {
        side**3: _pile(
            side,
            [name for name in present(engines) if side**3 <= LIMITS.get(name, side**3)],
            duration_scale,
        )
        for side in sides
    }
    for count, rows in piles.items():
        add_rows(report, f'{count} balls in a bin, at 1 ms', rows)
        if count in (216, 1000):
            ours = min(
                (row[TIME] for name, row in rows.items() if is_ours(name)), default=float('nan')
            )
            targets.append(
                Target(
                    f'{count} balls: time [us], faster of MuJoCo and QuickStep',
                    ours,
                    best(rows, TIME, RIVALS),
                )
            )
    report.sections.append(
        f'Falling: mean of the first {_FALL:g} s; time: median from {_REST:g} s to {_END:g} s, '
        'where the balls lie.\nDepth and greatest speed at the end.'
    )
    report.data['piles'] = {
        count: {name: {'rest': row[TIME], 'falling': row[FALLING]} for name, row in rows.items()}
        for count, rows in piles.items()
    }
    exponents = {name: _exponent(piles, name) for name in present(engines)}
    report.add_table(
        'Growth of the time at rest with the ball count',
        ['', 'exponent'],
        [[name, f'{power:.2f}'] for name, power in exponents.items()],
    )
    report.add_targets(
        [
            *targets,
            Target(
                'growth of the iterative solver, fitted exponent',
                exponents.get(OURS_ITERATIVE, float('nan')),
                1.2,
            ),
        ]
    )
    return finish(report)


def _pile(side, names, duration_scale):
    scene = bin_of_balls(side)
    say(scene.name)
    peers = peers_for(scene, names)
    steps = max(1, round(_END * duration_scale / scene.time_step / _SLICES))
    times = time_in_turns({name: peer.step for name, peer in peers.items()}, _SLICES, steps)
    rows = {}
    for name, peer in peers.items():
        motion = peer.motion()
        rows[name] = {
            FALLING: 1e6 * float(times[name][: round(_FALL / _END * _SLICES)].mean()),
            TIME: 1e6 * float(np.median(times[name][round(_REST / _END * _SLICES) :])),
            CONTACTS: peer.contact_count,
            DEEPEST: deepest(scene, motion),
            SPEED: float(np.abs(motion.velocity).max()),
        }
    return rows


def _exponent(piles, name):
    """Fit time = c n^exponent over an engine's piles; 1 is linear growth."""
    times = {count: value(rows, name, TIME) for count, rows in piles.items() if name in rows}
    if len(times) < 2:
        return float('nan')
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])
