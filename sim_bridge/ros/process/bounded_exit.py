"""
Process exit within a time limit, even if the process hangs.

Fast DDS 2.14 can hang forever when one participant is destroyed while another one leaves:
`DomainParticipant::set_listener` holds a lock and spins, waiting for a callback blocked by the
same lock. Meanwhile rclpy holds the interpreter lock (GIL). No Python thread or signal handler can
run then, so the handler is machine code.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import ctypes
from functools import cache
import signal
import sys

from sim_bridge.compiler import llvm

_HANDLER = """
declare void @_exit(i32)
define void @handle(i32 %signal) {{
  call void @_exit(i32 {code})
  ret void
}}
"""


@cache
def _handler(code: int) -> int:
    """Return the address of a signal handler; it exits the process with `code`."""
    return llvm.load(
        llvm.compile_text(_HANDLER.format(code=code)), 'handle', f'exit with {code}', ('_exit',)
    )


@contextlib.contextmanager
def exit_within(seconds: float, code: int) -> Iterator[None]:
    """Exit the process with `code` if the block takes longer than `seconds`."""
    handler = _handler(code)
    sys.stdout.flush()
    sys.stderr.flush()
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal.restype = ctypes.c_void_p
    before = libc.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        libc.signal(signal.SIGALRM, before)
