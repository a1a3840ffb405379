"""
Time of the broad phase over the number of bodies, for each method here and for others.

Scenes: piles of equal balls touching their neighbours; piles of balls with log-normal radii;
a robot's few boxes. The table compares the method chosen by `sim_bridge` with all others,
and with a sweep along the axis of greatest variance, which it does not use.
"""

from __future__ import annotations

from collections.abc import Callable
import sys
import time

import numpy as np

from benchmarks.report import Report, Target
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.collision.broad.boxes import copy_box, load_box, overlaps_row, record_pair
from sim_bridge.engine.collision.broad.grid import grid_overlaps
from sim_bridge.engine.collision.broad.overlaps import FEW, few_overlaps, many_overlaps
from sim_bridge.engine.collision.broad.tree import sort_digit, tree_overlaps
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.data.collision_scratch import make_collision_scratch
from sim_bridge.engine.data.geometry import SPHERE

COUNTS = (10, 20, 40, 80, 200, 1000, 5000)
CHOSEN, PAIRS, GRID, TREE, SWEEP = 'chosen', 'all pairs', 'grid', 'tree', 'sweep'
MOST_FOR_ALL_PAIRS = 1000
BATCH_S = 0.02

_NOTES = """Microseconds for all overlapping pairs; least of {rounds} rounds in which the methods
take turns; calls repeated in a compiled loop. "chosen" also sorts the pairs, and
compares all pairs up to {few} boxes."""


def run(rounds: int = 7, counts: tuple[int, ...] = COUNTS) -> Report:
    """Measure all scenes."""
    report = Report('broad_phase')
    scenes = {'one size': 0.0, 'sizes spread by e**0.5': 0.5}
    times = {
        name: {n: _measure(pile(n, spread), rounds) for n in counts}
        for name, spread in scenes.items()
    }
    for name, rows in times.items():
        report.add_table(
            f'Pile of balls, {name}: microseconds',
            ['balls', *next(iter(rows.values()))],
            [
                [str(n), *[f'{t * 1e6:.2f}' if t == t else '-' for t in row.values()]]
                for n, row in rows.items()
            ],
        )
    report.sections.append(_NOTES.format(rounds=rounds, few=FEW))
    report.add_targets(_targets(times))
    report.data.update(unit='s', times=times, rounds=rounds)
    return report


def pile(n: int, spread: float) -> np.ndarray:
    """Make the boxes of n balls, diameter about 1, in a heap as wide as high."""
    rng = np.random.default_rng(n)
    side = int(np.ceil(n ** (1 / 3)))
    cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing='ij'), axis=-1).reshape(-1, 3)
    centre = 0.98 * rng.permutation(cells)[:n] + rng.normal(0.0, 0.05, (n, 3))
    radius = np.exp(rng.normal(np.log(0.5), spread, (n, 1)))
    return np.hstack([centre - radius, centre + radius])


@entry
def _all_pairs(times, box, s):
    for _ in range(times):
        few_overlaps(box, s.found)


@entry
def _many(times, box, s):
    for _ in range(times):
        many_overlaps(box, s, s.found)


@entry
def _grid(times, box, s):
    found = 0
    for _ in range(times):
        found = grid_overlaps(box, s, s.found)
    return found


@entry
def _tree(times, box, s):
    for _ in range(times):
        tree_overlaps(box, s, s.found)


@entry
def _sweep(times, box, s):
    """Sort along the axis of greatest variance, then compare boxes overlapping along it."""
    n, digits = box.shape[0], 1 << 20
    for _ in range(times):
        axis, most = 0, -1.0
        for k in range(3):
            mean = square = 0.0
            for i in range(n):
                mean += box[i, k] / n
                square += box[i, k] * box[i, k] / n
            if square - mean * mean > most:
                axis, most = k, square - mean * mean
        low, high = box[0, axis], box[0, 3 + axis]
        for i in range(n):
            low, high = min(low, box[i, axis]), max(high, box[i, 3 + axis])
        scale = (digits - 1) / (high - low)
        for i in range(n):
            s.spare_order[i], s.spare_key[i] = i, int((box[i, axis] - low) * scale)
        sort_digit(s.spare_key, s.spare_order, n, 0, s.key, s.order, s.start)
        sort_digit(s.key, s.order, n, 10, s.spare_key, s.spare_order, s.start)
        for i in range(n):
            copy_box(box, s.spare_order[i], i, s.sorted_box)
        total = 0
        for i in range(n):
            one, a = load_box(s.sorted_box, i), s.spare_order[i]
            end = int((one[3 + axis] - low) * scale)
            j = i + 1
            while j < n and s.spare_key[j] <= end:
                b = s.spare_order[j]
                total = record_pair(
                    overlaps_row(one, s.sorted_box, j), min(a, b), max(a, b), total, s.found
                )
                j += 1


def _measure(box: np.ndarray, rounds: int) -> dict[str, float]:
    """Return the seconds per call of each method, nan if it does not apply."""
    n = len(box)
    print(f'  broad phase of {n} boxes …', file=sys.stderr, flush=True)
    scratch = make_collision_scratch(
        build_geometry([GeometryRecord(SPHERE, size=(1.0,))] * n), 1, 60 * n
    )
    methods: dict[str, Callable] = {
        CHOSEN: _all_pairs if n <= FEW else _many,
        PAIRS: _all_pairs,
        GRID: _grid,
        TREE: _tree,
        SWEEP: _sweep,
    }
    is_left_out = {GRID: _grid(1, box, scratch) < 0, PAIRS: n > MOST_FOR_ALL_PAIRS}
    methods = {name: method for name, method in methods.items() if not is_left_out.get(name)}
    batches = {name: _batch(method, box, scratch) for name, method in methods.items()}
    best = dict.fromkeys(methods, np.inf)
    for _ in range(rounds):
        for name, method in methods.items():
            start = time.thread_time()
            method(batches[name], box, scratch)
            best[name] = min(best[name], (time.thread_time() - start) / batches[name])
    return {name: best.get(name, float('nan')) for name in (CHOSEN, PAIRS, GRID, TREE, SWEEP)}


def _batch(method, box, scratch) -> int:
    """Choose the number of calls so that a batch takes about BATCH_S."""
    method(1, box, scratch)
    start = time.thread_time()
    method(3, box, scratch)
    return max(1, int(BATCH_S * 3 / max(time.thread_time() - start, 1e-7)))


def _targets(times):
    one_size, spread = times.values()
    found = []
    for name, rows in (('one size', one_size), ('spread sizes', spread)):
        n = [count for count in rows if count >= 200]
        if len(n) < 2:
            continue
        per_log = [rows[k][CHOSEN] / (k * np.log(k)) for k in n]
        found.append(
            Target(
                f'{name}: time / (n log n) at {n[-1]} balls, relative to {n[0]}',
                per_log[-1] / per_log[0],
                1.5,
            )
        )
    if 20 in one_size:
        found.append(Target('20 boxes [us]', one_size[20][CHOSEN] * 1e6, 1.0))
    return found
