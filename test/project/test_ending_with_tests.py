"""Processes of tests cut off early."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from ending_with_tests import ending_with_tests
import pytest

SUPPORT = Path(__file__).parents[1] / 'support'
PATIENCE_S = 60.0
# stands for a test: starts a process, which tells its number, then waits
TEST = f"""
import subprocess, sys, time
sys.path.insert(0, {str(SUPPORT)!r})
from ending_with_tests import ending_with_tests
child = 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'
subprocess.Popen(ending_with_tests(sys.executable, '-c', child), start_new_session=True)
time.sleep(600)
"""

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='asks the Linux kernel')


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_a_test_cut_off_leaves_no_process(number):
    """End a test by a signal: its process in another session ends."""
    with subprocess.Popen(
        [sys.executable, '-c', TEST], stdout=subprocess.PIPE, text=True
    ) as process:
        child = int(process.stdout.readline())
        os.kill(child, 0)
        process.send_signal(number)
        end = time.monotonic() + PATIENCE_S
        while is_running(child) and time.monotonic() < end:
            time.sleep(0.01)
        assert not is_running(child)


def is_running(number):
    """Return whether a process exists and is not waiting to be collected."""
    try:
        return Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def test_the_command_runs_as_given():
    """Keep arguments, output and exit code."""
    words = ending_with_tests(sys.executable, '-c', 'import sys; print(sys.argv[1:]); sys.exit(3)')
    found = subprocess.run([*words, 'a b', '-x'], capture_output=True, text=True, check=False)
    assert (found.stdout, found.returncode) == ("['a b', '-x']\n", 3)
