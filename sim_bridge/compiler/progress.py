"""The line on a terminal that says what is being compiled, and how long it will take."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.compiler.build import Progress


def show(progress: Progress) -> None:
    """Rewrite the line; nothing where standard error is no terminal."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        return
    if progress.done == progress.total:
        text = ''
    else:
        text = describe(progress)
    stream.write(f'\r\x1b[K{text}')
    stream.flush()


def describe(progress: Progress) -> str:
    """Say how far compiling has come."""
    left = math.ceil(progress.remaining)
    about = f', about {left} s left' if left else ''
    return (f'Compiling kernels, once for this machine: {progress.done} of {progress.total} '
            f'done{about}')
