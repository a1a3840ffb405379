"""
World batches on all processors, compared with MuJoCo's `rollout`: same models, same threads.

Every world starts from the same state and does the same; both engines step each world for several
steps in a row. MuJoCo's rollout also stores the state after every step, as it always does.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import sys
import time

import numpy as np

from benchmarks.chains import chain, find_missing_robots, real_robot
from benchmarks.mechanism import random_state
from benchmarks.peers import build, build_scene, find_missing, versions
from benchmarks.report import Report, Target
from benchmarks.scenes import anymals, quadruped
import sim_bridge as sb

OURS, MUJOCO = 'sim_bridge', 'MuJoCo'
_STEPS = 100
_GRAVITY = np.array([0.0, 0.0, -9.81])
# name, world count, target: fraction of MuJoCo's time
_SWINGING = (('chain_7', 1000, 0.5), ('chain_32', 200, 0.5), ('panda', 1000, 0.5))
_STANDING = (('quadruped', 200, 0.6), ('anymal', 200, 0.6))
# time for a robot to settle on its springs [s]
_SETTLE = 4.0

_NOTES = """Microseconds per step of one world, medians of {rounds} rounds in which the engines
take turns; {steps} steps of each world in one call. Efficiency: time with one thread over the
number of threads times the time with these."""

Run = Callable[[], None]


def run(rounds: int = 9, scale: float = 1.0) -> Report:
    """Measure all models; `scale` multiplies the world counts."""
    missing = {**find_missing(), **find_missing_robots()}
    report, rows = Report('batch'), {}
    has_mujoco = MUJOCO not in ' '.join(missing)
    threads = (1, len(os.sched_getaffinity(0)))
    for name, n, limit in (*_SWINGING, *_STANDING):
        if name == 'panda' and find_missing_robots():
            continue
        print(f'  timing {name} …', file=sys.stderr, flush=True)
        count = max(int(n * scale), 2)
        worlds, model, data = _standing(name) if (name, n, limit) in _STANDING else _swinging(name)
        rows[name] = _measure(worlds, model if has_mujoco else None, data, count, threads, rounds)
        rows[name].update(worlds=count, limit=limit)
    _add_tables(report, rows, threads)
    report.sections.append(_NOTES.format(rounds=rounds, steps=_STEPS))
    report.add_targets(_targets(rows, threads))
    report.add_versions(versions())
    report.add_missing(missing)
    report.data.update(unit='s', rows=rows, rounds=rounds)
    return report


def _swinging(name):
    """Return a world, MuJoCo's model and its data for a swinging mechanism."""
    mechanism = real_robot(name) if name == 'panda' else chain(int(name.partition('_')[2]))
    state = random_state(mechanism, np.random.default_rng(1))
    peers = [build(each, mechanism, 1e-3, _GRAVITY) for each in (OURS, 'MuJoCo Euler')]
    for peer in peers:
        peer.reset(state)
    return peers[0].world, peers[1].model, peers[1]._data


def _standing(name):
    """Return a world, MuJoCo's model and its data for a robot standing on its springs."""
    scene = quadruped() if name == 'quadruped' else anymals(1)
    peers = [build_scene(each, scene) for each in (OURS, 'MuJoCo noslip')]
    for peer in peers:
        peer.step(round(_SETTLE / scene.time_step))
    return peers[0].world, peers[1].model, peers[1]._data


def _measure(world, model, data, n, threads, rounds) -> dict[str, object]:
    """Return median times [s] by engine and thread count, and a world's memory [bytes]."""
    runs: dict[tuple[str, int], tuple[Run, Run]] = {}
    batches = []
    for count in dict.fromkeys(threads):
        batch = sb.Batch(world, n, threads=count)
        batches.append(batch)
        runs[OURS, count] = batch.reset, (lambda batch=batch: batch.step(_STEPS))
        if model is not None:
            runs[MUJOCO, count] = (lambda: None), _rollout(model, data, n, count)
    times = {key: [] for key in runs}
    for _ in range(rounds + 1):
        for key, (begin, work) in runs.items():
            begin()
            start = time.perf_counter()
            work()
            times[key].append((time.perf_counter() - start) / (n * _STEPS))
    # the first round warms up
    medians = {key: float(np.median(values[1:])) for key, values in times.items()}
    return {
        'times': {f'{name} {count}': value for (name, count), value in medians.items()},
        'bytes': batches[0].nbytes / n,
    }


def _rollout(model, data, n, threads) -> Run:
    """Return a function that steps n copies of a state in MuJoCo."""
    import mujoco
    from mujoco import rollout

    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    initial = np.tile(state, (n, 1))
    workers = [mujoco.MjData(model) for _ in range(threads)]
    pool = rollout.Rollout(nthread=threads)
    states = np.zeros((n, _STEPS, len(state)))
    sensors = np.zeros((n, _STEPS, model.nsensordata))

    def work() -> None:
        pool.rollout([model] * n, workers, initial, nstep=_STEPS, state=states, sensordata=sensors)

    return work


def _add_tables(report, rows, threads) -> None:
    header = ['model', 'worlds', 'kB each']
    for count in dict.fromkeys(threads):
        header += [f'{OURS}, {count} thr.', f'{MUJOCO}, {count} thr.', 'ratio']
    table = []
    for name, row in rows.items():
        cells = [name, str(row['worlds']), f'{row["bytes"] / 1e3:.1f}']
        for count in dict.fromkeys(threads):
            ours = row['times'][f'{OURS} {count}']
            theirs = row['times'].get(f'{MUJOCO} {count}', float('nan'))
            cells += [f'{1e6 * ours:.2f}', f'{1e6 * theirs:.2f}', f'{ours / theirs:.2f}']
        table.append(cells)
    report.add_table('Batches: microseconds per step of a world', header, table)


def _targets(rows, threads) -> list[Target]:
    targets, most = [], threads[-1]
    for name, row in rows.items():
        ours, theirs = (
            row['times'].get(f'{each} {most}', float('nan')) for each in (OURS, MUJOCO)
        )
        targets.append(Target(f'{name}: time / MuJoCo rollout', ours / theirs, row['limit']))
        if most > 1:
            waste = most * ours / row['times'][f'{OURS} 1']
            targets.append(
                Target(
                    f'{name}: {most} threads, time over that of perfect sharing', waste, 1 / 0.9
                )
            )
    return targets
