"""Settings that let a Python process keep deadlines of a millisecond."""

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
    Disable the garbage collector until `settle_process`.

    Nearly all objects created at start-up are permanent. Collecting them would cost a tenth of the
    start-up time and free next to nothing.
    """
    gc.disable()


def settle_process() -> None:
    """
    Avoid long waits of the physics thread for the interpreter, after everything is loaded.

    The garbage collector no longer visits the existing objects (135 000 of middleware and model:
    35 ms), and threads switch every 0.1 ms.
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

    The switch interval affects the waiting threads. It is short between ticks, when the physics
    thread waits, and long during a tick, when the others wait.
    """

    def run() -> None:
        sys.setswitchinterval(_TICK_SWITCH_INTERVAL_S)
        try:
            tick()
        finally:
            sys.setswitchinterval(_SWITCH_INTERVAL_S)

    return run


def settle_thread(name: str) -> None:
    """Make the wake-ups of the calling thread precise, and set its name for system tools."""
    if sys.platform == 'linux':
        # these affect the calling thread only; a refusal costs precision and nothing else
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)
        prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def schedule_others() -> None:
    """
    Make all threads that this one starts from now on yield to it when they wake up.

    Every published message wakes threads of the middleware, and Linux lets them preempt the
    physics thread, once per message. SCHED_BATCH threads wait until it sleeps, or run on a free
    processor; their share of time is the same. `schedule_thread` reverts this for a thread.
    """
    try:
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except (AttributeError, OSError):  # another system than Linux; no permission
        pass


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """
    Keep the processor within a block, if the system permits it.

    Use this to create a process's first node. Fast DDS announces a participant before it listens.
    If the process loses the processor in between, it misses the answers and discovers the others
    only at their next announcement, up to 3 s later. On a busy machine that affected every second
    start.
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
    """Return the Linux thread ids of this process."""
    return set(map(int, os.listdir('/proc/self/task')))


def schedule_thread(priority: int) -> bool:
    """
    Schedule the calling thread with this SCHED_FIFO priority; 0 for ordinary scheduling.

    Returns whether that was permitted; if not, nothing changes.
    """
    try:
        policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except (AttributeError, OSError):  # another system than Linux; no permission
        return False
    return True
