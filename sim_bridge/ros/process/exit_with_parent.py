"""
Program running a command, and ending it once its own standard input ends.

It gives foreign programs the end that `lifeline` gives nodes of this package: the parent holds
the other end of the pipe, and the operating system closes it at the parent's end, even by SIGKILL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import os
import signal
import subprocess
import sys
import threading
import time

# tells this package's controllers to end with their standard input; here it is this program's own
_OWN = 'SIM_BRIDGE_ENDS_WITH_STDIN'

# exit code for a missing command, as in shells
_NOT_FOUND = 127

# first argument: the command may clean up
_GENTLY = '--gently'

# time for a command to end after SIGINT, and after SIGTERM, as in `sim_bridge run` [s]. `ros2
# launch` sends SIGKILL to this program 5 s after SIGTERM.
_PATIENCE_S = (6.0, 3.0)


def tied(words: Sequence[str] = (), *, gently: bool = False) -> list[str]:
    """
    Return the command line running `words` tied to the parent process.

    gently: the command gets SIGINT, SIGTERM and SIGKILL in turn, and only signals passed on by
    this program, not the terminal's. Otherwise SIGKILL ends the whole process group at once.
    """
    # isolated: modules beside this file do not hide the standard library's
    return [sys.executable, '-I', '-S', __file__, *([_GENTLY] if gently else []), *words]


def main(words: list[str]) -> int:
    """Run a command; return its exit code, or 128 plus the signal number that ended it."""
    gently = words[:1] == [_GENTLY]
    environment = {name: value for name, value in os.environ.items() if name != _OWN}
    words = words[gently:]
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, env=environment, start_new_session=gently
        )
    except OSError as err:
        print(f'{words[0]} cannot be started: {err.strerror}', file=sys.stderr)
        return _NOT_FOUND
    end = (lambda: _end(process)) if gently else _kill_group
    threading.Thread(target=_wait_for_end_of_input, args=(end,), daemon=True).start()
    # pass Ctrl-C and SIGTERM to the command, and wait for it
    signal.signal(signal.SIGINT, lambda number, frame: process.send_signal(number))
    signal.signal(signal.SIGTERM, lambda number, frame: _terminate(process, gently))
    signal.signal(signal.SIGALRM, lambda number, frame: _kill(process))
    code = process.wait()
    return code if code >= 0 else 128 - code


def _wait_for_end_of_input(end: Callable[[], None]) -> None:
    while os.read(0, 1024):
        pass
    end()


def _kill_group() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command in its own session; this program ends with it."""
    for number, patience in zip((signal.SIGINT, signal.SIGTERM), _PATIENCE_S, strict=True):
        process.send_signal(number)
        time.sleep(patience)
    _kill(process)


def _terminate(process: subprocess.Popen[bytes], gently: bool) -> None:
    """Pass SIGTERM on; a stubborn command in its own session would outlive this program."""
    process.send_signal(signal.SIGTERM)
    if gently:
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S[1])


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
