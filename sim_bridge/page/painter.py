"""Pictures of camera sensors, drawn by a process that has the engine."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
import socket
import subprocess
import threading
import time
from typing import NamedTuple

import numpy as np

from sim_bridge.trust.child import python_module

_MODULE = 'sim_bridge.view.seen'
_PERIOD = 0.1  # least time between two pictures [s]


class Wish(NamedTuple):
    """Picture wanted: camera (robot, sensor), output, link poses (n, 12), simulated time [s]."""

    camera: tuple[str, str]
    output: str
    poses: np.ndarray
    time: float


class Painter:
    """
    Draws the newest wish, as often as the process can without taking a whole processor.

    The process starts with the first wish, and ends with this one.
    """

    def __init__(self, failed: Callable[[str], None]):
        """Start without a scene; failed: called on another thread with a text."""
        self._failed = failed
        self._scene = b''
        self._is_new = self._is_closed = False
        self._wish: Wish | None = None
        self._picture: tuple[Wish, np.ndarray] | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def show(self, scene: bytes) -> None:
        """Restart with another scene, a pickled `SeenScene`."""
        with self._changed:
            self._scene, self._is_new, self._wish, self._picture = scene, True, None, None

    def wish(self, wish: Wish) -> None:
        """Ask for a picture instead of the last one asked for."""
        with self._changed:
            self._wish = wish
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name='painter', daemon=True)
            self._thread.start()

    def take(self) -> tuple[Wish, np.ndarray] | None:
        """Return a new picture with its wish, once; None without one."""
        with self._changed:
            found, self._picture = self._picture, None
        return found

    def close(self) -> None:
        """End the process and the thread, after the picture that is being drawn."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        own, other = socket.socketpair()
        with (
            other,
            Connection(own.detach()) as end,
            subprocess.Popen(
                python_module(_MODULE, str(other.fileno())),
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            ),
        ):
            other.close()
            try:
                while not self._is_closed:
                    self._draw(end)
            except (EOFError, OSError):
                self._failed('pictures of cameras: their process ended')
            # the process ends with the connection
            end.close()

    def _draw(self, end: Connection) -> None:
        """Wait for a wish, and draw it."""
        with self._changed:
            while self._wish is None and not self._is_closed:
                self._changed.wait()
            if self._wish is None:
                return
            wish, self._wish = self._wish, None
            scene, self._is_new = (self._scene if self._is_new else None), False
        start = time.monotonic()
        if scene is not None:
            end.send(scene)
        end.send(tuple(wish))
        picture = end.recv()
        with self._changed:
            if not self._is_new:
                self._picture = wish, picture
        spent = time.monotonic() - start
        time.sleep(max(_PERIOD - spent, min(spent, 1.0)))
