"""Changes made as a whole, or not at all, in spite of interrupts."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from sim_bridge.simulation.staleness import REST, Staleness


class Change:
    """
    A context that undoes its writes if anything is raised in it, an interrupt too.

    It covers writes by `Staleness.write` and the given objects' attributes, in joined arrays that
    stay the same. Changes joining arrays are for `rollback.all_or_nothing`.
    """

    __slots__ = ('_flags', '_kept', '_outer', '_refreshes', '_staleness')

    def __init__(self, staleness: Staleness, *owners: Any) -> None:
        """Keep some objects' attributes."""
        self._staleness = staleness
        self._kept = [(owner, dict(vars(owner))) for owner in owners]

    def __enter__(self) -> None:
        """Begin to note replaced values."""
        staleness = self._staleness
        self._outer, self._flags = staleness._journal, staleness.flags
        self._refreshes = staleness.refreshes
        staleness._journal = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undo all writes if anything was raised."""
        staleness = self._staleness
        written = staleness._journal or []
        if kind is None:
            if self._outer is not None:
                self._outer += written
            staleness._journal = self._outer
            return
        for array, index, before in reversed(written):
            array[index] = before
        for owner, attributes in self._kept:
            vars(owner).clear()
            vars(owner).update(attributes)
        staleness._journal = self._outer
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
