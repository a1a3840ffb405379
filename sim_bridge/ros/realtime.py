"""What makes a Python process keep deadlines of a millisecond."""

from __future__ import annotations

from collections.abc import Callable
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


def settle_process() -> None:
    """
    Spare the physics thread long waits for the interpreter, once everything is loaded.

    The garbage collector no longer visits what exists now (135 000 objects of compiler and
    middleware: 35 ms), and threads take turns every 0.1 ms.
    """
    # a managed node comes here again, and what it had loaded before is to go
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def uninterrupted(tick: Callable[[], None]) -> Callable[[], None]:
    """
    Give a function that keeps the interpreter for a whole tick, if that is short enough.

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


def settle_thread() -> None:
    """Have the calling thread woken precisely."""
    if sys.platform == 'linux':
        # affects the calling thread only; a refusal costs precision and nothing else
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)


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
