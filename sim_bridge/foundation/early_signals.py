"""
Reaction to SIGINT and SIGTERM while a process starts.

Importing a node's dependencies takes a second; Python would answer Ctrl-C with a traceback then.
"""

from __future__ import annotations

import os
import signal
import sys

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# a shell adds this to the signal number to form the exit code of a process ended by a signal
_OF_SIGNALS = 128


def quit_on_signals(code: int | None = None) -> None:
    """
    End the process at once on SIGINT and SIGTERM, until other handlers are installed.

    For the main thread of a process with nothing to clean up yet. code: exit code; None for the
    code that shells use after a signal. An ignored signal stays ignored.
    """

    def handle(number: int, frame: object) -> None:
        os._exit(_OF_SIGNALS + number if code is None else code)

    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handle)


def quit_command_on_signals() -> None:
    """
    Call `quit_on_signals` in the command `sim_bridge`, with the exit code of the verb.

    The verbs `node` and `qos --record` run until a signal ends them; for these, the exit code is
    0. Other verbs end with the code that shells use after a signal.
    """
    words = sys.argv[1:]
    is_recorder = words[:1] == ['qos'] and '--record' in (word.split('=')[0] for word in words)
    quit_on_signals(0 if words[:1] == ['node'] or is_recorder else None)


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt on SIGINT and end on SIGTERM (Python's defaults)."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
