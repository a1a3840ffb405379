"""
Pipes between a supervisor and its children: they end with it, and start in order.

The supervisor holds the other end of the child's standard input. When the supervisor ends in any
way, even killed, the operating system closes that end. A child that waits joins the graph once the
supervisor writes, which it does when the child that leads has said that it is ready. This works on
every system that has pipes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

# set by the supervisor for its direct children only
ENDS_WITH_STDIN = 'SIM_BRIDGE_ENDS_WITH_STDIN'
WAITS_FOR_STDIN = 'SIM_BRIDGE_WAITS_FOR_STDIN'
# file descriptor
READY = 'SIM_BRIDGE_READY'

_STDIN = 0


def hold_lifeline() -> None:
    """
    Send SIGINT to this process once its supervisor is gone, if it has one.

    Returns when the supervisor says so, where this process is one that waits; raises
    KeyboardInterrupt if it is gone before.
    """
    waits = os.environ.pop(WAITS_FOR_STDIN, '')
    if os.environ.pop(ENDS_WITH_STDIN, ''):
        if waits and not os.read(_STDIN, 1):
            raise KeyboardInterrupt
        threading.Thread(target=_wait_for_end, name='lifeline', daemon=True).start()


def announce_ready() -> None:
    """Tell the supervisor that this process is ready, if it has one that asks; once."""
    descriptor = int(os.environ.pop(READY, '-1'))
    if descriptor >= 0:
        # it may be gone
        with contextlib.suppress(OSError):
            os.write(descriptor, b'.')
        os.close(descriptor)


def _wait_for_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
