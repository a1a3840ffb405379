"""Messages to users during kernel compilation, and the compiling process."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from diagnostic_msgs.msg import DiagnosticArray
import pytest
from running_node import Running
from sensor_msgs.msg import JointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# two small units
LIBRARY = """
from sim_bridge.compiler.build import build
from sim_bridge.engine.dynamics.energy import energy, momentum

build([energy.unit, momentum.unit])
"""

# compiles in another process, then loads; prints whether this process imported the compiler
APART = """
import sys
from sim_bridge.compiler.build import build_apart, missing
from sim_bridge.engine.dynamics.energy import energy, momentum

units = [energy.unit, momentum.unit]
assert missing(units) == units
build_apart(units)
assert not missing(units)
assert all(unit.address for unit in units)
print('sim_bridge.compiler.module' in sys.modules)
"""


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """Give started processes an empty, separate cache."""
    monkeypatch.setenv('SIM_BRIDGE_CACHE_DIR', str(tmp_path / 'kernels'))


def run_on_terminal(code):
    """Return a program's standard error on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, '-c', code], stderr=theirs)
    os.close(theirs)
    written = b''
    while True:
        try:
            piece = os.read(ours, 1024)
        except OSError:  # a terminal's report that no writer is left
            piece = b''
        if not piece:
            break
        written += piece
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def test_library_shows_progress_on_a_terminal(empty_cache):
    """Show the number of compiled units, and erase the line; show nothing the second time."""
    said = run_on_terminal(LIBRARY)
    lines = said.split('\r\x1b[K')
    assert 'compiling kernels, once for this machine: 0 of' in lines[1]
    assert any('left' in line for line in lines)
    assert lines[-1] == ''
    assert run_on_terminal(LIBRARY) == ''


def test_library_is_quiet_in_logs(empty_cache):
    """Write nothing if standard error is not a terminal."""
    done = subprocess.run([sys.executable, '-c', LIBRARY], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b'', b'')


def test_a_process_of_its_own_compiles(empty_cache):
    """Compile without reading a kernel here, as this would delay other threads."""
    done = subprocess.run(
        [sys.executable, '-c', APART], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout == 'False\n'


def test_node_reports_the_compilation(empty_cache, graph, start_node):
    """Count up to all units on /diagnostics before the first joint states."""
    statuses = []

    def take(message):
        statuses.extend(one for one in message.status if one.name.endswith(': kernels'))

    graph.node.create_subscription(DiagnosticArray, '/diagnostics', take, 100)
    states = graph.listen(JointState, 'joint_states')
    start_node(robot='pendulum')
    graph.wait(lambda: states, 'joint states')
    graph.wait(lambda: statuses and 'compiled in' in statuses[-1].message, 'the end of compiling')
    counts = [{value.key: value.value for value in status.values} for status in statuses]
    done = [int(each['compiled']) for each in counts]
    # a late subscriber misses the first messages
    assert done == sorted(done) and done[0] < done[-1]
    assert counts[-1]['compiled'] == counts[-1]['units']


# after the start, the world is busy on the physics thread, and has changed meanwhile
BUSY = """
import threading, time
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.simulation.staleness import ROBOT_ARRAYS

start, entered = Pacer.start, threading.Event()

def start_busy(pacer):
    simulation = pacer._paced._simulator.world.simulation

    def change():
        simulation.staleness.mark(ROBOT_ARRAYS)
        entered.set()
        time.sleep(0.5)

    busy = lambda: simulation.thread_guard.run_alone(change)
    threading.Thread(target=busy, name='physics').start()
    entered.wait()
    pacer.pause()
    start(pacer)

Pacer.start = start_busy
from sim_bridge.ros.node.main import main
raise SystemExit(main())
"""


def test_a_node_starts_beside_its_physics_thread():
    """Let the physics thread alone use the world once it has started."""
    own = Running('-c', BUSY, '--ros-args', '-p', 'robot:=double_pendulum')
    try:
        own.hear('ready: ')
    finally:
        own.kill()
