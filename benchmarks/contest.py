"""Common parts for benchmarks with contacts: engines in turns, one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
import sys

import numpy as np

from benchmarks.peers import build_scene, CONTACT_ENTRIES, ContactPeer, find_missing, versions
from benchmarks.report import Report
from benchmarks.scene import Scene
from benchmarks.timing import time_in_turns

OURS = 'sim_bridge'
OURS_ITERATIVE = 'sim_bridge iterative'
OURS_SPLIT = 'sim_bridge split'

TIME = 'time [us]'


def present(names: Iterable[str]) -> list[str]:
    """Return the installed engines among `names`, in the same order."""
    missing = find_missing(CONTACT_ENTRIES)
    return [name for name in names if name not in missing]


def is_ours(name: str) -> bool:
    """Return whether a table's engine is this package."""
    return name.startswith(OURS)


def peers_for(scene: Scene, names: Iterable[str]) -> dict[str, ContactPeer]:
    """Build the engines, each in the scene's initial state with its code compiled."""
    peers = {name: build_scene(name, scene) for name in names}
    for peer in peers.values():
        peer.step(1)
        peer.reset()
    return peers


def race(
    scene: Scene,
    names: Iterable[str],
    duration: float,
    slices: int,
    prepare: Callable[[ContactPeer], None] = lambda peer: None,
) -> dict[str, np.ndarray]:
    """
    Return the seconds per step for each scene slice, (slices,) for each engine.

    prepare: called with each engine at the start.
    """
    say(f'timing {scene.name}')
    peers = peers_for(scene, names)
    for peer in peers.values():
        prepare(peer)
    steps = max(1, round(duration / scene.time_step / slices))
    return time_in_turns({name: peer.step for name, peer in peers.items()}, slices, steps)


def add_rows(
    report: Report,
    title: str,
    rows: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]] | None = None,
    notes: str = '',
) -> None:
    """
    Append a table with a line for each engine, and keep its numbers in the data.

    If there is a column TIME, another column gives our time relative to each engine's.
    """
    report.data.setdefault('tables', {})[title] = {name: dict(row) for name, row in rows.items()}
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    ours = rows.get(OURS, {}).get(TIME, math.nan)
    header = ['', *columns, *(['ours / it'] if TIME in columns else [])]
    lines = []
    for name, row in rows.items():
        line = [name, *[_cell(row.get(key, math.nan), key) for key in columns]]
        if TIME in columns:
            line.append(_cell(ours / row.get(TIME, math.nan), ''))
        lines.append(line)
    for name, row in (published or {}).items():
        line = [f'{name} (published)', *[_cell(row.get(key, math.nan), key) for key in columns]]
        lines.append(line + [''] * (len(header) - len(line)))
    report.add_table(title, header, lines, notes)


def finish(report: Report) -> Report:
    """Append versions and missing engines; return the report."""
    report.add_versions(versions(CONTACT_ENTRIES))
    report.add_missing(find_missing(CONTACT_ENTRIES))
    return report


def best(
    rows: Mapping[str, Mapping[str, float]], key: str, names: Sequence[str] | None = None
) -> float:
    """Return the least value of a column among the other engines, or among `names`."""
    values = [
        row[key]
        for name, row in rows.items()
        if key in row
        and not is_ours(name)
        and not math.isnan(row[key])
        and (names is None or name in names)
    ]
    return min(values, default=math.nan)


def value(rows: Mapping[str, Mapping[str, float]], name: str, key: str) -> float:
    """Return a cell, nan if it is missing."""
    return rows.get(name, {}).get(key, math.nan)


def say(activity: str) -> None:
    """Print progress on the terminal."""
    print(f'  {activity} …', file=sys.stderr, flush=True)


def _cell(number: float, key: str) -> str:
    if math.isnan(number):
        return ''
    if key == TIME:
        return f'{number:.1f}'
    if key.endswith('[deg]'):
        return f'{number:.3f}'
    return f'{number:.3g}'
