"""The time limit for leaving the graph."""

from __future__ import annotations

import pytest
from ros_graph import PATIENCE_S

HUNG = """
import ctypes
from sim_bridge.ros.process.bounded_exit import exit_within
print('leaving', flush=True)
with exit_within(0.2, {code}):
    # holds the interpreter's lock, as rclpy does
    ctypes.PyDLL(None).sleep(60)
    ctypes.PyDLL(None).sleep(60)
print('never')
"""


@pytest.mark.parametrize('code', [0, 2])
def test_process_that_hangs_with_the_interpreters_lock_exits(start_process, code):
    """Exit with the given code, although no Python code can run."""
    process = start_process('-c', HUNG.format(code=code))
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert output == 'leaving\n'
    assert process.returncode == code


def test_process_that_leaves_in_time_goes_on(start_process):
    """Disarm the limit at the end of the block."""
    process = start_process(
        '-c',
        """
import signal
from sim_bridge.ros.process.bounded_exit import exit_within
with exit_within(1000.0, 9):
    print(signal.getitimer(signal.ITIMER_REAL) > (900.0, 0.0))
print(signal.getitimer(signal.ITIMER_REAL))
""",
    )
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert (output, process.returncode) == ('True\n(0.0, 0.0)\n', 0)
