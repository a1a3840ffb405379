"""Console output: lines, and a status line below them, refreshed in place."""

from __future__ import annotations

import shutil
import time
from typing import TextIO, TYPE_CHECKING

from sim_bridge.cli.standard_streams import discard, tell
from sim_bridge.foundation.errors import OutputError
from sim_bridge.foundation.terminal import visible

if TYPE_CHECKING:
    from rich.progress import Progress

# period of status lines if the status cannot be refreshed in place [s]
PLAIN_PERIOD_S = 10.0

_ERASE_LINE, _ERASE_ABOVE = '\r\x1b[2K', '\x1b[1A\x1b[2K'


class Console:
    """
    Writes lines above a status to a text stream.

    On a terminal the status is refreshed in place. Elsewhere, such as in a log file, it is a plain
    line every PLAIN_PERIOD_S. Once the reader has gone, as after `| head`, or the disk is full,
    `is_closed` is true and nothing is written; an error on stderr says so for a full disk.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.is_closed = False
        self._status = ''
        self._next_plain = 0.0

    def line(self, text: str) -> None:
        """Write one line; of its control sequences, only colours have an effect."""
        text = visible(text, keeps_colours=True)
        self._write(f'{self._erase()}{text}\n{self._status}')

    def status(self, text: str) -> None:
        """
        Show `text` as the status; on a plain stream, only if the next line is due.

        On a terminal it may have several lines.
        """
        if self.is_terminal:
            erase, size = self._erase(), shutil.get_terminal_size()
            # lines scrolled off the screen could not be erased
            lines = visible(text).split('\n')[: max(size.lines - 1, 1)]
            self._status = '\n'.join(line[: size.columns - 1] for line in lines)
            self._write(erase + self._status)
        elif time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_PERIOD_S
            self._write(f'{visible(text)}\n')

    def end_status(self) -> None:
        """Keep the last status and continue below it."""
        if self._status:
            self._status = ''
            self._write('\n')

    def bar(self) -> Progress:
        """Return rich progress bars on this terminal; they disappear when stopped."""
        # late import: takes 0.1 s
        from rich.console import Console as RichConsole
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        return Progress(
            TextColumn('{task.description}', markup=False),
            BarColumn(),
            TimeRemainingColumn(),
            console=RichConsole(file=self._stream),
            transient=True,
        )

    def _erase(self) -> str:
        above = self._status.count('\n')
        return _ERASE_LINE + above * _ERASE_ABOVE if self._status else ''

    def _write(self, text: str) -> None:
        if self.is_closed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as err:
            self.is_closed = True
            discard(self._stream)
            if isinstance(err, OutputError):
                tell(f'sim_bridge: {err}')
