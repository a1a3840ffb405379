"""Progress display: a bar on a terminal, plain lines elsewhere; nothing for quick work."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from sim_bridge.cli.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_QUIET_S = 1.0  # [s] shorter work shows nothing


class Work:
    """
    Work in progress; call it with the amount done so far. A context.

    Bars are removed at the end; the caller reports results as lines.
    """

    def __init__(
        self, console: Console, what: str, total: float | None, unit: str = ' s', digits: int = 1
    ):
        """
        Begin.

        what: past participle naming the work, such as 'replayed'. total: amount of work, None if
        unknown. unit: its unit, with the space before it. digits: decimals of the amount done.
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
        """Show the amount done; more: additional text."""
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
