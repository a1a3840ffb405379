"""Sweep: makes and stores a study's missing runs, and reports progress."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass, field
import time

from sim_bridge.foundation.errors import shortened, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.sweep.local import Executor
from sim_bridge.sweep.rows import DONE, FAILED
from sim_bridge.sweep.store import Store

# time window for the rate of new rows [s]
_WINDOW_S = 30.0
# if this many first runs fail without exception, the study is wrong
_MOST_FAILED = 10


@dataclass
class Progress:
    """
    Sweep progress.

    done: runs with a row, out of `total`. made: runs in this sweep; statuses: their count by
    status. rate: recent runs per second; 0 if unknown. left_s: remaining time [s] or None.
    """

    total: int
    done: int
    made: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    succeeded: int = 0
    rate: float = 0.0

    @property
    def left_s(self) -> float | None:
        """Remaining time [s]."""
        return (self.total - self.done) / self.rate if self.rate > 0.0 else None


def sweep(
    store: Store, executor: Executor, tell: Callable[[Progress], None], keeps_going: bool = False
) -> Progress:
    """
    Make all runs without a row, and write the results.

    store: open. tell: called with the progress from time to time. keeps_going: whether to continue
    if the first runs all fail. Raises StateError if they do, or if rows do not fit together; the
    present rows are written in any case, even after an interruption.
    """
    progress = Progress(store.study.design.count, store.count)
    latest: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
    try:
        tell(progress)
        with contextlib.closing(executor.rows(store.study, store.missing())) as made:
            for rows in made:
                store.add(rows)
                for row in rows:
                    progress.made += 1
                    progress.statuses[row.status] += 1
                    progress.succeeded += bool(row.success)
                progress.done = store.count
                _clock(progress, latest)
                tell(progress)
                if not keeps_going and progress.made >= _MOST_FAILED:
                    _need_one(progress, store)
        if not keeps_going and 0 < progress.made == store.count:
            _need_one(progress, store)
    finally:
        store.finish()
    return progress


@dataclass(frozen=True)
class Outcome:
    """
    Outcome for all runs with a row.

    statuses: run count by status. first: run and reason of the first run for each status
    except DONE. succeeded: successful runs.
    """

    statuses: Counter[str]
    first: Mapping[str, tuple[int, str]]
    succeeded: int


def outcome(store: Store) -> Outcome:
    """Return the outcome for all runs in an open store."""
    table = store.table()
    statuses = table.column('status').to_pylist()
    first: dict[str, tuple[int, str]] = {}
    for number, status in enumerate(statuses):
        if status != DONE and status not in first:
            first[status] = (
                table.column('run')[number].as_py(),
                table.column('reason')[number].as_py(),
            )
    return Outcome(Counter(statuses), first, sum(map(bool, table.column('success').to_pylist())))


def _need_one(progress: Progress, store: Store) -> None:
    """Raise StateError if all runs in this sweep have failed."""
    if progress.statuses[FAILED] < progress.made:
        return
    run, reason = outcome(store).first[FAILED]
    is_all = progress.done == progress.total
    raise StateError(
        f'all {"" if is_all else "of the first "}{counted(progress.made, "run")} failed, run '
        f'{run} by: {shortened(reason).rstrip(".")}. Delete {str(store.folder)!r} once this is '
        'fixed, since failed runs are not repeated'
        + ('' if is_all else '; with --keep-going the other runs are made nevertheless')
    )


def _clock(progress: Progress, latest: deque[tuple[float, int]]) -> None:
    """Update the rate from the latest rows."""
    now = time.monotonic()
    latest.append((now, progress.made))
    while len(latest) > 2 and now - latest[0][0] > _WINDOW_S:
        latest.popleft()
    begun, before = latest[0]
    if now > begun:
        progress.rate = (progress.made - before) / (now - begun)
