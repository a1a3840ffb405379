"""Keeping a simulation from being used by two threads, or from within its own step."""

from __future__ import annotations

from collections.abc import Callable
import sys
import threading
from threading import get_ident
from types import CodeType
from typing import Any, TypeVar

from sim_bridge.foundation import forks
from sim_bridge.foundation.errors import StateError
from sim_bridge.simulation.python_calls import PythonCalls

_Value = TypeVar('_Value')
_Function = TypeVar('_Function', bound=Callable[..., Any])
_GUARDED: set[CodeType] = set()


def guarded(function: _Function) -> _Function:
    """
    Register a function that sets `holder`; its local variable `guard` is the thread guard.

    The function's presence on a thread's stack tells whether the thread is still inside.
    """
    assert 'guard' in function.__code__.co_varnames
    _GUARDED.add(function.__code__)
    return function


class ThreadGuard:
    """
    The thread inside a call that no other thread may enter.

    holder: identifier of that thread; 0 for none. Guarded calls take long or replace arrays;
    reading and writing numbers is not guarded. No call may come between reading and setting
    `holder`, since another thread could come in. An interrupt can keep a thread from clearing
    `holder` when it leaves; the next thread sees from its stack that it has left, and clears it.
    """

    def __init__(self, calls: PythonCalls, what: str = 'world', maker: str = 'World.copy'):
        """
        Let everyone in, except functions called within steps.

        what: the guarded object, and maker: the call that makes another one, for error messages.
        """
        self.holder = 0
        self._calls, self._what, self._maker = calls, what, maker
        self._is_torn = False
        forks.in_child(self, ThreadGuard._begin_in_child)

    def _begin_in_child(self) -> None:
        """Adapt to a forked child process: a call of another thread is never completed there."""
        self._is_torn = self._is_torn or self.holder not in (0, get_ident())

    def check(self) -> None:
        """Raise StateError if another thread is in a call, or a step is calling a function."""
        inside, own = self.holder, get_ident()
        if inside not in (0, own):
            self._check_other(inside)
        self._calls.check()

    def admit(self) -> int:
        """
        Check, then return the holder to be set when the own thread leaves.

        This is 0, or the own thread within another guarded call.
        """
        own = get_ident()
        while True:
            self.check()
            # another thread can have come in since
            before = self.holder
            if before in (0, own):
                return before

    def run_alone(self, call: Callable[[], _Value]) -> _Value:
        """Make a call with other threads kept out; raise StateError if one is in already."""
        return _run_alone(self, call)

    def _check_other(self, inside: int) -> None:
        """Raise StateError if another thread is in a call; clear `holder` if it is not."""
        own = get_ident()
        if self._is_torn:
            raise StateError(
                'the process was forked while another thread was stepping or changing this '
                f'{self._what}, so it is incomplete in the child process. Create the {self._what} '
                'in the child, or fork between its calls'
            )
        if self._is_inside(inside):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            present, other = (repr(names.get(each, each)) for each in (own, inside))
            raise StateError(
                f'thread {present} uses a {self._what} while thread {other} steps or changes it. '
                f'Let one thread at a time do so, by a lock, or give each its own by {self._maker}'
            )
        if self.holder == inside:
            self.holder = 0

    def _is_inside(self, thread: int) -> bool:
        """Return whether a thread's stack has a call guarded by this object."""
        frame = sys._current_frames().get(thread)
        while frame is not None:
            if frame.f_code in _GUARDED and frame.f_locals.get('guard') is self:
                return True
            frame = frame.f_back
        return False


@guarded
def _run_alone(guard: ThreadGuard, call: Callable[[], _Value]) -> _Value:
    thread = get_ident()
    before = guard.admit()
    guard.holder = thread
    try:
        return call()
    finally:
        guard.holder = before
