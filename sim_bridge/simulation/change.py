"""Changes made as a whole, or not at all, in spite of interrupts."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any
from weakref import ref

from sim_bridge.simulation.staleness import no_change, REST, Staleness, Written


class Change:
    """
    A context that undoes its writes if anything is raised in it, an interrupt too.

    It covers writes by `Staleness.write` and the given objects' attributes, in joined arrays that
    stay the same. Changes joining arrays are for `rollback.all_or_nothing`.
    """

    __slots__ = ('__weakref__', '_flags', '_kept', '_outer', '_refreshes', '_staleness', '_start')

    def __init__(self, staleness: Staleness, *owners: Any) -> None:
        """Keep some objects' attributes."""
        self._staleness = staleness
        self._kept = [(owner, dict(vars(owner))) for owner in owners]

    def __enter__(self) -> None:
        """Begin to note replaced values; inside another change, in its journal."""
        staleness = self._staleness
        self._flags, self._refreshes = staleness.flags, staleness.refreshes
        # an interrupt may have kept an earlier change from its end; that one is no longer alive
        self._outer = staleness.change()
        if self._outer is None:
            staleness.journal, staleness.change = [], ref(self)
        self._start = len(staleness.journal or ())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undo all writes if anything was raised."""
        staleness = self._staleness
        if kind is not None:
            self._undo(staleness.journal or [])
        if self._outer is None:
            staleness.journal, staleness.change = None, no_change

    def _undo(self, journal: list[Written]) -> None:
        staleness = self._staleness
        for array, index, before in reversed(journal[self._start :]):
            array[index] = before
        del journal[self._start :]
        for owner, attributes in self._kept:
            vars(owner).clear()
            vars(owner).update(attributes)
        if staleness.refreshes == self._refreshes:
            staleness.flags = self._flags
        else:
            # results depend on undone writes, except for sleepers, which are as before
            staleness.flags = (staleness.flags & ~REST) | self._flags
        staleness.forget_observations()


class Undo:
    """A context that restores dictionaries if anything is raised in it."""

    __slots__ = ('_kept',)

    def __init__(self, *tables: dict[Any, Any]) -> None:
        """Keep some dictionaries' items."""
        self._kept = [(table, dict(table)) for table in tables]

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the items if anything was raised."""
        if kind is not None:
            for table, items in self._kept:
                table.clear()
                table.update(items)


def finished(call: Callable[[], None]) -> None:
    """
    Make an idempotent call; a second time if it is interrupted.

    The interrupt is raised after the second call.
    """
    try:
        call()
    except BaseException:
        call()
        raise
