"""
Turns of the workers of pytest-xdist: a test that asks for `alone` runs alone.

A robot falls where its controller waits for processors that another worker's computing takes.
Tests that do not mind share the machine.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
import tempfile


class Turns:
    """The lock that all workers of one run share."""

    def __init__(self, run: str):
        """Take part in a run, which has a unique name."""
        folder = Path(tempfile.gettempdir())
        self._paths = [folder / f'sim_bridge_test_{kind}_{run}.lock' for kind in ('queue', 'room')]
        self._queue, self._room = (os.open(path, os.O_RDWR | os.O_CREAT) for path in self._paths)
        self._is_alone = False

    def take(self, alone: bool) -> None:
        """Wait for the turn of a test; one that runs alone may follow another at once."""
        if alone and self._is_alone:
            return
        # who waits for the room holds the queue, so that nobody overtakes
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        fcntl.flock(self._room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._is_alone = alone

    def give(self) -> None:
        """End the turn."""
        fcntl.flock(self._room, fcntl.LOCK_UN)
        self._is_alone = False

    def close(self) -> None:
        """Leave the run."""
        for file, path in zip((self._queue, self._room), self._paths, strict=True):
            os.close(file)
            path.unlink(missing_ok=True)
