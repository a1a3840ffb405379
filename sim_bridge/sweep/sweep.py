"""A sweep: the runs of a study that have no row yet, made and kept; how far it is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
import contextlib
from dataclasses import dataclass, field
import time

from sim_bridge.foundation.errors import shortened, StateError
from sim_bridge.sweep.local import Executor
from sim_bridge.sweep.rows import FAILED, Row
from sim_bridge.sweep.store import Store

# rows from which a rate is taken [s]
_WINDOW_S = 30.0
# so many runs that fail from the start, and none that does not, are no result but a mistake
_MOST_FAILED = 10


@dataclass
class Progress:
    """
    How far a sweep is.

    done: runs that have a row, of `total`. made: those of this sweep; by status: `statuses`.
    rate: runs a second lately; 0 where it is not known. left_s: time left [s], None unless known.
    """

    total: int
    done: int
    made: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    succeeded: int = 0
    rate: float = 0.0

    @property
    def left_s(self) -> float | None:
        """How long it will still take [s]."""
        return (self.total - self.done) / self.rate if self.rate > 0.0 else None


def sweep(
    store: Store, executor: Executor, tell: Callable[[Progress], None],
    keeps_going: bool = False,
) -> Progress:
    """
    Make all runs that have no row, and write the results.

    store: open. tell: called with the progress now and then. keeps_going: whether also where the
    first runs all fail. Raises StateError where they do, or rows do not go together; what is there
    is written in any case, also where this is interrupted.
    """
    progress = Progress(store.study.design.count, store.count)
    latest: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
    failed: list[Row] = []
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
                if progress.made <= _MOST_FAILED:
                    failed += [row for row in rows if row.status == FAILED]
                if (not keeps_going and progress.made >= _MOST_FAILED
                        and len(failed) >= _MOST_FAILED
                        and progress.statuses[FAILED] == progress.made):
                    raise StateError(
                        f'all of the first {progress.made} runs failed, the first by: '
                        f'{shortened(failed[0].reason)}. With --keep-going the others are made '
                        'nevertheless')
    finally:
        store.finish()
    return progress


def _clock(progress: Progress, latest: deque[tuple[float, int]]) -> None:
    """Take the rate of the latest rows."""
    now = time.monotonic()
    latest.append((now, progress.made))
    while len(latest) > 2 and now - latest[0][0] > _WINDOW_S:
        latest.popleft()
    begun, before = latest[0]
    if now > begun:
        progress.rate = (progress.made - before) / (now - begun)
