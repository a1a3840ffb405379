"""A thread for slow work without access to a running world: reading files, compiling."""

from __future__ import annotations

from collections.abc import Callable
import queue
import threading

from sim_bridge.ros.process import realtime


class Background:
    """Calls functions one after another on its own thread, started by the first call."""

    def __init__(self) -> None:
        """Prepare without starting the thread."""
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, task: Callable[[], None]) -> None:
        """Queue a function; it must not raise. Callable from any single thread."""
        if self._thread is None:
            # a running task must not keep a terminating process alive
            self._thread = threading.Thread(target=self._run, name='background', daemon=True)
            self._thread.start()
        self._tasks.put(task)

    def close(self) -> None:
        """Start no further functions."""
        self._tasks.put(None)

    def _run(self) -> None:
        # slow work must not inherit the starting thread's priority
        realtime.schedule_thread(0)
        for task in iter(self._tasks.get, None):
            task()
