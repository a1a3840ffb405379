"""
Signals while a process starts.

Importing what a node needs takes a second, in which Python would answer Ctrl-C with a traceback.
"""

from __future__ import annotations

import os
import signal
import sys

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# what a shell adds to the number of a signal for the exit code of a process that it has ended
_OF_SIGNALS = 128


def quit_on_signals(code: int | None = None) -> None:
    """
    End the process at once on SIGINT and SIGTERM, until other handlers are installed.

    For the main thread of a process that has nothing to clean up yet. code: exit code; None for
    that of a process that a signal has ended. A signal that is ignored stays ignored.
    """

    def handle(number: int, frame: object) -> None:
        os._exit(_OF_SIGNALS + number if code is None else code)

    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handle)


def quit_command_on_signals() -> None:
    """
    Do so in the command `sim_bridge`.

    Its verbs that go on until a signal ends them, `node` and `qos --record`, have then ended as
    they were told to, with 0.
    """
    words = sys.argv[1:]
    is_recorder = words[:1] == ['qos'] and '--record' in (word.split('=')[0] for word in words)
    quit_on_signals(0 if words[:1] == ['node'] or is_recorder else None)


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt on SIGINT and end on SIGTERM, as Python does by itself."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
