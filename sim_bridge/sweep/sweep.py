"""A sweep: the runs of a study that have no row yet, made and kept; how far it is."""

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
    store: Store, executor: Executor, tell: Callable[[Progress], None], keeps_going: bool = False
) -> Progress:
    """
    Make all runs that have no row, and write the results.

    store: open. tell: called with the progress now and then. keeps_going: whether also where the
    first runs all fail. Raises StateError where they do, or rows do not go together; what is there
    is written in any case, also where this is interrupted.
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
    What became of all runs that have a row.

    statuses: how many have each status, by status. first: run and reason of the first of each
    status but DONE. succeeded: how many did.
    """

    statuses: Counter[str]
    first: Mapping[str, tuple[int, str]]
    succeeded: int


def outcome(store: Store) -> Outcome:
    """Return what became of the runs of a store, which is open."""
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
    """Raise StateError where all runs of this sweep have failed."""
    if progress.statuses[FAILED] < progress.made:
        return
    run, reason = outcome(store).first[FAILED]
    is_all = progress.done == progress.total
    raise StateError(
        f'all {"" if is_all else "of the first "}{counted(progress.made, "run")} failed, run '
        f'{run} by: {shortened(reason).rstrip(".")}. Delete {str(store.folder)!r} once that is '
        'mended, since rows are not made again'
        + ('' if is_all else '; with --keep-going the other runs are made nevertheless')
    )


def _clock(progress: Progress, latest: deque[tuple[float, int]]) -> None:
    """Take the rate of the latest rows."""
    now = time.monotonic()
    latest.append((now, progress.made))
    while len(latest) > 2 and now - latest[0][0] > _WINDOW_S:
        latest.popleft()
    begun, before = latest[0]
    if now > begun:
        progress.rate = (progress.made - before) / (now - begun)
