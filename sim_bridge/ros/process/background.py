"""A thread for what takes long and concerns no running world: reading files, compiling."""

from __future__ import annotations

from collections.abc import Callable
import queue
import threading

from sim_bridge.ros.process import realtime


class Background:
    """Calls functions one after another on a thread of its own, which begins with the first."""

    def __init__(self) -> None:
        """Prepare."""
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, task: Callable[[], None]) -> None:
        """Have a function called that raises nothing; from any one thread."""
        if self._thread is None:
            # whatever it is at must not keep a process alive that is told to end
            self._thread = threading.Thread(target=self._run, name='background', daemon=True)
            self._thread.start()
        self._tasks.put(task)

    def close(self) -> None:
        """Begin nothing more."""
        self._tasks.put(None)

    def _run(self) -> None:
        # who began this may have a priority that what takes long is not to have
        realtime.schedule_thread(0)
        for task in iter(self._tasks.get, None):
            task()
