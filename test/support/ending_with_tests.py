"""Commands whose processes end when the test process ends, however it ends."""

from __future__ import annotations

import os
import sys

# the request outlives exec; a parent that has ended before it would never send the signal
_PROGRAM = """
import ctypes, os, signal, sys
parent, *words = sys.argv[1:]
if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit(1)
os.execvp(words[0], words)
"""


def ending_with_tests(*words: object) -> list[str]:
    """Return the command that runs `words`, and gets SIGTERM at this process's end (Linux)."""
    starter = [sys.executable, '-I', '-S', '-c', _PROGRAM, str(os.getpid())]
    return [*starter, *map(str, words)]
