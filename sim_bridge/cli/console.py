"""Console output: lines, and a status line below them that is refreshed in place."""

from __future__ import annotations

import os
import shutil
import time
from typing import TextIO

# how often the status is written where it cannot be refreshed in place [s]
PLAIN_PERIOD_S = 10.0

_ERASE_LINE = '\r\x1b[2K'


class Console:
    """
    Writes lines above a status to a text stream.

    In a terminal the status is refreshed in place; elsewhere, such as in a log file, it is a plain
    line every PLAIN_PERIOD_S. Once nobody reads any more, as after `| head`, `is_closed` is true
    and nothing is written.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.is_closed = False
        self._status = ''
        self._next_plain = 0.0

    def line(self, text: str) -> None:
        """Write one line."""
        self._write(f'{self._erase()}{text}\n{self._status}')

    def status(self, text: str) -> None:
        """Show `text` as the status; in a plain stream, if it is time for the next line."""
        if self.is_terminal:
            erase = self._erase()
            self._status = text[:shutil.get_terminal_size().columns - 1]
            self._write(erase + self._status)
        elif time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_PERIOD_S
            self._write(f'{text}\n')

    def end_status(self) -> None:
        """Keep the last status where it is and continue below it."""
        if self._status:
            self._status = ''
            self._write('\n')

    def _erase(self) -> str:
        return _ERASE_LINE if self._status else ''

    def _write(self, text: str) -> None:
        if self.is_closed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self.is_closed = True
            # the rest of the buffer must not fail again when the interpreter ends
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
