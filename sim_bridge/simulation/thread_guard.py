"""Keeping a simulation from being used by two threads, or from within its own step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import threading
from threading import get_ident
from typing import Protocol

from sim_bridge.foundation.errors import StateError

# who is in a step while a function in Python decides friction
_IN_FUNCTION = -1


class Caller(Protocol):
    """Calls functions of Python in the middle of steps."""

    @property
    def is_calling(self) -> bool:
        """Whether one is being called."""


class ThreadGuard:
    """
    Who is in a call of a simulation that must not be interrupted by another.

    holder: the thread that is in such a call; 0 for none. Only what takes long or replaces arrays
    is guarded; reading and writing numbers is not. Between reading and setting `holder` there must
    be no call, where another thread could come in.
    """

    def __init__(self, *callers: Caller):
        """Let everyone in, except while one of the callers is calling."""
        self.holder = 0
        self._callers = callers

    def check(self) -> None:
        """Raise StateError if another thread is in a call, or a step is calling a function."""
        if any(caller.is_calling for caller in self._callers):
            raise StateError(
                'a listener to contacts or a function of a force field runs in the middle of a '
                'step. It must not step, change or save the world; World.before_step and '
                'after_step are for that. A function of a field uses its arguments alone')
        inside, own = self.holder, get_ident()
        if inside == _IN_FUNCTION:
            raise StateError(
                'a friction function uses its world within a step; it is given all it may use')
        if inside not in (0, own):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            present, other = (repr(names.get(each, each)) for each in (own, inside))
            raise StateError(
                f'thread {present} uses a world while thread {other} steps or changes it. Let one '
                'thread at a time do so, by a lock, or give each its own by World.copy')

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out meanwhile; raises StateError if one is in already."""
        self.check()
        before, self.holder = self.holder, get_ident()
        try:
            yield
        finally:
            self.holder = before

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Keep a function that is called within a step from using the simulation."""
        before, self.holder = self.holder, _IN_FUNCTION
        try:
            yield
        finally:
            self.holder = before
