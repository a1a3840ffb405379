"""What makes a Python process keep deadlines of a millisecond."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

# How long a thread that holds the interpreter may keep the physics thread waiting (Python's
# default: 5 ms).
_SWITCH_INTERVAL_S = 1e-4

# Linux may wake an ordinary thread this much late to save power (default: 50 us).
_PR_SET_TIMERSLACK = 29
_TIMER_SLACK_NS = 1


def settle_process() -> None:
    """
    Spare the physics thread long waits for the interpreter, once everything is loaded.

    The garbage collector no longer visits what exists now (a million objects of compiler and
    middleware, tens of milliseconds), and threads take turns every 0.1 ms.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def settle_thread(priority: int) -> str | None:
    """
    Have the calling thread woken precisely.

    priority: SCHED_FIFO priority, 0 for ordinary scheduling. Returns what the system did not
    permit, None if nothing.
    """
    if sys.platform == 'linux':
        # affects the calling thread only; a refusal costs precision and nothing else
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)
    if not priority:
        return None
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as err:
        return (
            f'SCHED_FIFO priority {priority} is not permitted ({err}); scheduling stays ordinary'
        )
    return None
