"""What makes a Python process keep deadlines of a millisecond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import ctypes
import gc
import os
import sys

# How long a thread that holds the interpreter may keep the physics thread waiting (Python's
# default: 5 ms).
_SWITCH_INTERVAL_S = 1e-4

# The same the other way round, during a tick: to be interrupted in its midst for every command
# that comes costs two switches of threads each time. (Python's default.)
_TICK_SWITCH_INTERVAL_S = 5e-3

# Linux may wake an ordinary thread this much late to save power (default: 50 us).
_PR_SET_TIMERSLACK = 29
_TIMER_SLACK_NS = 1

# The name that `top -H` and debuggers show, of 15 characters at most.
_PR_SET_NAME = 15


def begin_process() -> None:
    """
    Let the garbage collector rest until `settle_process`.

    Nearly all that is made while a process starts stays, so that to look for what does not costs a
    tenth of the start and finds next to nothing.
    """
    gc.disable()


def settle_process() -> None:
    """
    Spare the physics thread long waits for the interpreter, once everything is loaded.

    The garbage collector no longer visits what exists now (135 000 objects of middleware and
    model: 35 ms), and threads take turns every 0.1 ms.
    """
    if gc.get_freeze_count():
        # a managed node comes here again, and what it had loaded before is to go
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def uninterrupted(tick: Callable[[], None]) -> Callable[[], None]:
    """
    Return a function that keeps the interpreter for a whole tick, if that is short enough.

    The interval belongs to those who wait. So between ticks, when the physics thread is the one to
    wait, it is short; during a tick, when others are, it is long.
    """

    def run() -> None:
        sys.setswitchinterval(_TICK_SWITCH_INTERVAL_S)
        try:
            tick()
        finally:
            sys.setswitchinterval(_SWITCH_INTERVAL_S)

    return run


def settle_thread(name: str) -> None:
    """Have the calling thread woken precisely, and shown under a name by tools of the system."""
    if sys.platform == 'linux':
        # these affect the calling thread only; a refusal costs precision and nothing else
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)
        prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def schedule_others() -> None:
    """
    Have all threads that this one starts from now on wait their turn when they are woken.

    Whatever is published wakes threads of the middleware, and Linux lets these push the physics
    thread off its processor, once a message. Those of SCHED_BATCH wait till it sleeps, or go to a
    processor that is free; their share of time is the same. `schedule_thread` takes a thread back.
    """
    try:
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except (AttributeError, OSError):  # another system than Linux; no permission
        pass


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """
    Keep the processor within a block, where the system permits that.

    It is for making a process's first node. Fast DDS announces a participant before it listens:
    one that loses its processor in between misses the answers, and hears of the others only when
    they announce themselves next, up to 3 s later. On a busy machine that was every second start.
    """
    try:
        policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
        before = _threads()
        # threads that begin within do not inherit it
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (AttributeError, OSError):  # another system than Linux; no permission
        yield
        return
    try:
        yield
    finally:
        for thread in (0, *(_threads() - before)):
            # one may have ended meanwhile
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, policy, param)


def _threads() -> set[int]:
    """Return the numbers that Linux has for the threads of this process."""
    return set(map(int, os.listdir('/proc/self/task')))


def schedule_thread(priority: int) -> bool:
    """
    Schedule the calling thread with this SCHED_FIFO priority, ordinarily for 0.

    Returns whether that was permitted; if not, nothing changes.
    """
    try:
        policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except (AttributeError, OSError):  # another system than Linux; no permission
        return False
    return True
