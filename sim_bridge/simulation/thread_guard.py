"""Keeping a simulation from being used by two threads, or from within its own step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import threading
from threading import get_ident

from sim_bridge.foundation.errors import StateError
from sim_bridge.simulation.python_calls import PythonCalls


class ThreadGuard:
    """
    The thread inside a call that no other thread may enter.

    holder: identifier of that thread; 0 for none. Guarded calls take long or replace arrays;
    reading and writing numbers is not guarded. No call may come between reading and setting
    `holder`, since another thread could come in.
    """

    def __init__(self, calls: PythonCalls):
        """Let everyone in, except functions called within steps."""
        self.holder = 0
        self._calls = calls

    def check(self) -> None:
        """Raise StateError if another thread is in a call, or a step is calling a function."""
        inside, own = self.holder, get_ident()
        if inside not in (0, own):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            present, other = (repr(names.get(each, each)) for each in (own, inside))
            raise StateError(
                f'thread {present} uses a world while thread {other} steps or changes it. Let one '
                'thread at a time do so, by a lock, or give each its own by World.copy'
            )
        self._calls.check()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out meanwhile; raises StateError if one is in already."""
        self.check()
        before, self.holder = self.holder, get_ident()
        try:
            yield
        finally:
            self.holder = before
