"""
Ending a process whose supervisor is gone, even if the supervisor was killed.

The supervisor holds the other end of the child's standard input and never writes to it. When the
supervisor ends in any way, the operating system closes that end. This works on every system that
has pipes.
"""

from __future__ import annotations

import os
import signal
import threading

# set by the supervisor for its direct children only
ENDS_WITH_STDIN = 'SIM_BRIDGE_ENDS_WITH_STDIN'

_STDIN = 0


def hold_lifeline() -> None:
    """Send SIGINT to this process once its supervisor is gone, if it has one."""
    if os.environ.pop(ENDS_WITH_STDIN, ''):
        threading.Thread(target=_wait_for_end, name='lifeline', daemon=True).start()


def _wait_for_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
