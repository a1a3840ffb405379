"""Mesh files' appearances, read on a separate thread."""

from __future__ import annotations

from collections.abc import Callable
import os
from queue import SimpleQueue
import threading

from sim_bridge.foreign.appearance import Appearance, read_appearance
from sim_bridge.foreign.reader_process import ReadingError, sharing


class Library:
    """Mesh files, each read once; say: called with severity and text for each problem."""

    def __init__(self, say: Callable[[str, str], None]):
        """Start empty; the thread starts with the first file."""
        self._say = say
        self._wanted: SimpleQueue[str] = SimpleQueue()
        self._asked: dict[str, object] = {}
        self._known: dict[str, Appearance | None] = {}
        self._thread: threading.Thread | None = None
        self.changes = 0
        """Number of files read."""
        self.pending = 0
        """Number of files waiting."""

    def ask(self, path: str) -> None:
        """Request a file, unless its present version was already requested."""
        version = _version(path)
        if path not in self._asked or self._asked[path] != version:
            self._asked[path] = version
            self._known.pop(path, None)
            self.pending += 1
            self._wanted.put(path)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='appearance', daemon=True)
                self._thread.start()

    def has(self, path: str) -> bool:
        """Return whether a file has been read, successfully or not."""
        return path in self._known

    def get(self, path: str) -> Appearance | None:
        """Return a file's appearance, already read; None for an unreadable file."""
        return self._known[path]

    def _run(self) -> None:
        # one reader process while files are waiting; it ends when the queue is empty
        while True:
            path = self._wanted.get()
            with sharing():
                while path:
                    self._read(path)
                    path = '' if self._wanted.empty() else self._wanted.get()

    def _read(self, path: str) -> None:
        appearance: Appearance | None = None
        try:
            appearance = read_appearance(path)
        except OSError as err:
            self._say('warning', f'mesh {path} is not drawn: {err.strerror or err}')
        except ReadingError as err:
            self._say('warning', f'mesh {path} is not drawn: {err}')
        else:
            if appearance.missing:
                self._say('warning', f'mesh {path} lacks {", ".join(appearance.missing)[:300]}')
            if not appearance.pieces:
                self._say('warning', f'mesh {path} is not drawn: it has no triangles')
                appearance = None
        self._known[path] = appearance
        self.changes, self.pending = self.changes + 1, self._wanted.qsize()


def _version(path: str) -> object:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
