"""
Pipes between a supervisor and its children, for a common end and an ordered start.

The supervisor holds the other end of the child's standard input. When the supervisor ends in any
way, even killed, the operating system closes this end. A waiting child joins the graph once the
supervisor writes; the supervisor does so when the leading child has reported readiness. This works
on every system with pipes. The launch file uses it too: `launch` gives each child such a pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

# set by the supervisor, and by the launch file, for direct children only
ENDS_WITH_STDIN = 'SIM_BRIDGE_ENDS_WITH_STDIN'
WAITS_FOR_STDIN = 'SIM_BRIDGE_WAITS_FOR_STDIN'
# file descriptor
READY = 'SIM_BRIDGE_READY'

_STDIN = 0


def hold_lifeline() -> None:
    """
    Send SIGINT to this process once its supervisor is gone, if it has one.

    A waiting process returns once the supervisor writes. Raises KeyboardInterrupt if the
    supervisor is gone before.
    """
    waits = os.environ.pop(WAITS_FOR_STDIN, '')
    # a terminal, as under a debugger, is no pipe from the supervisor
    if os.environ.pop(ENDS_WITH_STDIN, '') and not os.isatty(_STDIN):
        if waits and not os.read(_STDIN, 1):
            raise KeyboardInterrupt
        threading.Thread(target=_wait_for_end, name='lifeline', daemon=True).start()


def announce_ready() -> None:
    """Report readiness to the supervisor, if it asks for it; once."""
    descriptor = int(os.environ.pop(READY, '-1'))
    if descriptor >= 0:
        # the supervisor may be gone
        with contextlib.suppress(OSError):
            os.write(descriptor, b'.')
        os.close(descriptor)


def _wait_for_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
