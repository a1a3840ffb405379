"""How far work is: a bar on a terminal, plain lines elsewhere; nothing for what is quick."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from sim_bridge.cli.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_QUIET_S = 1.0  # work that is done by then shows nothing


class Work:
    """
    Work that is being done; call it with what is done so far. A context.

    Bars are removed at the end: what comes of the work is told by lines.
    """

    def __init__(
        self, console: Console, what: str, total: float | None, unit: str = ' s', digits: int = 1
    ):
        """
        Begin.

        what: is done, such as 'replayed'. total: of what is done, None if it is unknown. unit: of
        it, with the space before it. digits: after the point of what is done.
        """
        self._digits = digits
        self._console, self._what, self._total, self._unit = console, what, total, unit
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Work:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: float, more: str = '') -> None:
        """Show how much is done, and what else is to be said of it."""
        if time.monotonic() - self._begun < _QUIET_S:
            return
        text = f'{done:.{self._digits}f}'
        if self._total is not None:
            text += f' of {self._total:.{self._digits}f}'
        text += f'{self._unit} {self._what}'
        if more:
            text += f' | {more}'
        if not self._console.is_terminal:
            self._console.status(text)
            return
        if self._bar is None or self._task is None:
            self._bar = self._console.bar()
            self._task = self._bar.add_task('', total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=done, description=text)
