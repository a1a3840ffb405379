"""The line on a terminal that says what is being compiled, and how long it will take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.compiler.build import Progress


def show(progress: Progress) -> None:
    """Rewrite the line, and erase it in the end; nothing where standard error is no terminal."""
    stream = sys.stderr
    if stream is not None and stream.isatty():
        stream.write('\r\x1b[K' + ('' if progress.is_over else progress.summary))
        stream.flush()
