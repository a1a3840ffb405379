"""Foreign programs end with the process that started them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest
from ros_graph import PATIENCE_S

from sim_bridge.ros.process import exit_with_parent, lifeline

# prints its process number, and each signal
STUBBORN = """
import os, signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: print(number, flush=True))
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""

# with less patience
MAIN = """
import sys
from sim_bridge.ros.process import exit_with_parent
exit_with_parent._PATIENCE_S = (0.3, 0.3)
sys.exit(exit_with_parent.main(sys.argv[1:]))
"""


def start_tied(start_process, *options: str) -> tuple[subprocess.Popen, int]:
    """Start a stubborn program in a wrapper; return the wrapper, and a handle of the program."""
    process = start_process(
        '-c', MAIN, *options, sys.executable, '-c', STUBBORN, stdin=subprocess.PIPE
    )
    return process, os.pidfd_open(int(process.stdout.readline()))


def has_ended(program: int) -> bool:
    """Wait for the end of a program."""
    readable, _, _ = select.select([program], [], [], PATIENCE_S)
    os.close(program)
    return bool(readable)


def test_a_stubborn_program_is_told_then_killed(start_process):
    """Send SIGINT, SIGTERM and SIGKILL at the end of the input."""
    process, program = start_tied(start_process, '--gently')
    process.stdin.close()
    assert has_ended(program)
    assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    assert process.stdout.read().split() == ['2', '15']


def test_a_stubborn_program_does_not_outlive_sigterm(start_process):
    """Pass signals on; kill the program before `ros2 launch` kills its wrapper."""
    process, program = start_tied(start_process, '--gently')
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == '2\n'
    process.send_signal(signal.SIGTERM)
    assert has_ended(program)
    assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    process.stdin.close()


def test_the_whole_group_is_killed_at_once(start_process):
    """End program and wrapper by SIGKILL, as for a controller in a sweep."""
    process, program = start_tied(start_process)
    process.stdin.close()
    assert has_ended(program)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    assert not process.stdout.read()


@pytest.mark.parametrize('gently', [False, True])
def test_exit_codes_are_passed_on(gently):
    """Return the program's exit code; 127 for a missing program, with its name."""
    words = [sys.executable, '-c', 'raise SystemExit(7)']
    with subprocess.Popen(
        exit_with_parent.tied(words, gently=gently), stdin=subprocess.PIPE
    ) as process:
        assert process.wait(PATIENCE_S) == 7
    missing = subprocess.run(
        exit_with_parent.tied(['no_such_program'], gently=gently),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert missing.returncode == 127
    assert missing.stderr == 'no_such_program cannot be started: No such file or directory\n'


def test_the_variable_is_the_one_of_lifelines():
    """The program imports nothing from this package, so it repeats the variable's name."""
    assert exit_with_parent._OWN == lifeline.ENDS_WITH_STDIN
