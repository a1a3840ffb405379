"""Compilation progress, and its line on a terminal."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple


class Progress(NamedTuple):
    """
    Compilation progress: units done, total; seconds elapsed, estimated seconds remaining.

    name: last finished unit, '' at first. is_over: True in the last report.
    """

    done: int
    total: int
    name: str
    elapsed: float
    remaining: float
    is_over: bool = False

    @property
    def summary(self) -> str:
        """Text for the user."""
        if self.is_over:
            return f'kernels compiled in {self.elapsed:.1f} s'
        left = math.ceil(self.remaining)
        about = f', about {left} s left' if left else ''
        return f'compiling kernels, once for this machine: {self.done} of {self.total}{about}'


def show(progress: Progress) -> None:
    """Rewrite the line, and erase it at the end; only if standard error is a terminal."""
    stream = sys.stderr
    if stream is not None and stream.isatty():
        stream.write('\r\x1b[K' + ('' if progress.is_over else progress.summary))
        stream.flush()
