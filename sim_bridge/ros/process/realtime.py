"""Process settings for keeping deadlines of a millisecond in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import ctypes
import gc
import os
import sys

# Longest wait of the physics thread for another thread holding the interpreter (Python's default:
# 5 ms).
_SWITCH_INTERVAL_S = 1e-4

# The same for other threads during a tick: interrupting a tick for every received command costs
# two thread switches each time. (Python's default.)
_TICK_SWITCH_INTERVAL_S = 5e-3

# Linux may delay the wake-up of an ordinary thread by this much to save power (default: 50 us).
_PR_SET_TIMERSLACK = 29
_TIMER_SLACK_NS = 1

# Thread name shown by `top -H` and debuggers, at most 15 characters.
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
    Avoid long waits of the physics thread for the interpreter, once everything is loaded.

    The garbage collector no longer visits the existing objects (135 000 of middleware and model:
    35 ms), and threads switch every 0.1 ms.
    """
    if gc.get_freeze_count():
        # a managed node returns here after unloading; collect its previous objects
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def uninterrupted(tick: Callable[[], None]) -> Callable[[], None]:
    """
    Return a function that keeps the interpreter for a whole tick, if the tick is short enough.

    The switch interval affects waiting threads. It is short between ticks, when the physics thread
    waits, and long during a tick, when the others wait.
    """

    def run() -> None:
        sys.setswitchinterval(_TICK_SWITCH_INTERVAL_S)
        try:
            tick()
        finally:
            sys.setswitchinterval(_SWITCH_INTERVAL_S)

    return run


def settle_thread(name: str) -> None:
    """Make wake-ups of the calling thread precise, and set its name for system tools."""
    if sys.platform == 'linux':
        # these affect the calling thread only; a refusal costs precision and nothing else
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)
        prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def schedule_others() -> None:
    """
    Make all threads started by this one from now on yield to it at wake-up.

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
    only at their next announcement, up to 3 s later. On a busy machine, every second start was
    affected.
    """
    try:
        policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
        before = _threads()
        # threads started within the block do not inherit the priority
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (AttributeError, OSError):  # another system than Linux; no permission
        yield
        return
    try:
        yield
    finally:
        for thread in (0, *(_threads() - before)):
            # a thread may have ended meanwhile
            with contextlib.suppress(OSError):
                os.sched_setscheduler(thread, policy, param)


def _threads() -> set[int]:
    """Return the Linux thread ids of this process."""
    return set(map(int, os.listdir('/proc/self/task')))


def schedule_thread(priority: int) -> bool:
    """
    Schedule the calling thread with this SCHED_FIFO priority; 0 for ordinary scheduling.

    Returns whether the system permitted it; if not, nothing changes.
    """
    try:
        policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except (AttributeError, OSError):  # another system than Linux; no permission
        return False
    return True
