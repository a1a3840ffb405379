"""
`sim_bridge run` from the user's view: real processes, real signals, real messages.

Duties of the supervisor towards any child are tested with stand-ins, started through `supervise`,
which takes any commands. The last tests start the simulator and a controller.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import threading

import pytest

from sim_bridge.ros.process.domain_lock import domain_lock

# Waiting time for certain events, including compilation; no test waits this long unless it
# fails.
PATIENCE_S = 280.0

# Publishes joint_states, without the thousand lines of a simulator.
SIMULATOR = """
import rclpy, time
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from sim_bridge.ros.process.lifeline import announce_ready
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
publisher = rclpy.create_node('sim_bridge').create_publisher(JointState, 'joint_states', 10)
announce_ready()
try:
    while True:
        publisher.publish(JointState(name=['hinge']))
        time.sleep(0.01)
except KeyboardInterrupt:
    print('simulator cleaned up')
"""

WAITING = """
import signal
import subprocess
try:
    print('waiting', flush=True)
    signal.pause()
except KeyboardInterrupt:
    print('controller cleaned up')
"""

# lets half a second of states pass before it answers
COMMANDING = """
import rclpy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
# else a state on its way to it would be answered after the context has ended
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('controller')
publisher, states = node.create_publisher(JointState, 'joint_commands', 10), []
def answer(state):
    states.append(state)
    if len(states) == 50:
        print('commanding', flush=True)
    if len(states) >= 50:
        publisher.publish(state)
node.create_subscription(JointState, 'joint_states', answer, 10)
try:
    while True:
        # without a limit it would only notice a signal when a message comes
        rclpy.spin_once(node, timeout_sec=0.1)
except KeyboardInterrupt:
    pass
"""

STUBBORN = """
import signal
import subprocess
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('deaf to SIGINT', flush=True)
while True:
    signal.pause()
"""

DYING = """
print('the last words')
raise SystemExit(3)
"""

SILENT = """
import signal
import subprocess
signal.pause()
"""

# with less patience than usual for a message, and a given patience for each signal
SUPERVISE = """
import sys
from sim_bridge.cli import run, supervisor
from sim_bridge.cli.console import Console
from sim_bridge.cli.run import supervise
run._WAITING_S = 1.0
duration, patiences, *scripts = sys.argv[1:]
supervisor.STAGES = tuple(
    (number, float(patience))
    for (number, _), patience in zip(supervisor.STAGES, patiences.split(), strict=True))
names = ('simulator', 'controller')
duration, *awaited = duration.split()
commands = {name: [sys.executable, '-c', script] for name, script in zip(names, scripts)}
console = Console(sys.stdout)
sys.exit(supervise(commands, '', float(duration), console, is_commanded=bool(awaited)))
"""

FOREVER = 'inf'
# long enough for a child to end on a busy machine
PATIENT = '60 60 60'


class Output:
    """Lines from a child process, read as they arrive."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self._queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(line.rstrip('\n'))
        self._queue.put(None)

    def wait_for_all(self, *texts: str) -> None:
        """Read until each of `texts` is in a line; processes write in any order."""
        missing = set(texts)
        while missing:
            line = self.wait_for('')
            missing = {text for text in missing if text not in line}

    def wait_for(self, *texts: str) -> str:
        """Read up to the line containing all of `texts`."""
        for line in iter(lambda: self._queue.get(timeout=PATIENCE_S), None):
            self.lines.append(line)
            if all(text in line for text in texts):
                return line
        raise AssertionError('\n'.join([f'no line with {texts} among:', *self.lines]))

    def finish(self) -> int:
        """Read the rest and return the exit code."""
        self.lines += iter(lambda: self._queue.get(timeout=PATIENCE_S), None)
        return self.process.wait(timeout=PATIENCE_S)


@pytest.fixture
def supervise(start_process):
    """Return a function supervising scripts like `sim_bridge run` its nodes."""

    def start(*scripts: str, duration: str = FOREVER, patience: str = PATIENT) -> Output:
        return Output(start_process('-c', SUPERVISE, duration, patience, *scripts))

    return start


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_cleanly(supervise, number):
    """Report the received signal, let both children clean up, and end with 0."""
    output = supervise(SIMULATOR, WAITING)
    output.wait_for_all('waiting', 'running: the first message came')
    output.process.send_signal(number)
    assert output.finish() == 0
    assert f'received {number.name}; ending simulator and controller' in output.lines
    assert '[simulator] simulator cleaned up' in output.lines
    assert '[controller] controller cleaned up' in output.lines


def test_signals_in_a_row_do_no_harm(supervise):
    """Complete the cleanup although Ctrl-C is pressed repeatedly."""
    output = supervise(SIMULATOR, WAITING)
    output.wait_for_all('waiting', 'running: the first message came')
    for _ in range(5):
        output.process.send_signal(signal.SIGINT)
    assert output.finish() == 0
    assert '[controller] controller cleaned up' in output.lines
    assert not any('Traceback' in line for line in output.lines)


def test_one_that_dies_takes_the_other_along(supervise):
    """Forward the last output of a dying child, report its end, and return its exit code."""
    output = supervise(WAITING, DYING)
    assert output.finish() == 3
    last_words = output.lines.index('[controller] the last words')
    reason = 'controller ended with exit code 3'
    verdict = output.lines.index(f'{reason}; ending simulator and controller')
    assert last_words < verdict


def test_a_killed_child_is_reported_with_its_signal(supervise):
    """Name the signal that ended a child, and end with 128 plus its number, like a shell."""
    suicidal = 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)'
    output = supervise(WAITING, suicidal)
    assert output.finish() == 128 + signal.SIGSEGV
    assert 'controller was ended by SIGSEGV; ending simulator and controller' in output.lines


def test_a_child_deaf_to_sigint_gets_sigterm(supervise):
    """Send SIGTERM, and report it, if SIGINT has no effect."""
    output = supervise(WAITING, STUBBORN, patience='1.5 60 60')
    output.wait_for('deaf to SIGINT')
    output.process.send_signal(signal.SIGINT)
    assert output.finish() == 0
    assert any(line.endswith('controller still running: sending SIGTERM') for line in output.lines)


def test_failure_while_ending_is_reported(supervise):
    """Report a child that fails while ending on request, and end with 1."""
    clumsy = WAITING + '    raise SystemExit(5)'
    output = supervise(SIMULATOR, clumsy)
    output.wait_for_all('waiting', 'running: the first message came')
    output.process.send_signal(signal.SIGINT)
    assert output.finish() == 1
    assert output.lines[-1] == 'controller, asked to end, ended with exit code 5'


def test_it_runs_only_when_messages_arrive(supervise):
    """Report running, and count the duration, from the first message."""
    output = supervise(SILENT, WAITING, duration='0')
    output.wait_for('waiting')
    output.process.send_signal(signal.SIGTERM)
    assert output.finish() == 0
    assert 'received SIGTERM; ending simulator and controller' in output.lines
    assert not any('running' in line or 'are over' in line for line in output.lines)


def test_it_reports_waiting(supervise):
    """Report how long no message has arrived."""
    output = supervise(SILENT, WAITING)
    output.wait_for('no message after ')
    output.process.send_signal(signal.SIGTERM)
    assert output.finish() == 0


def test_it_ends_when_the_duration_is_over(supervise):
    """End with 0 after the duration."""
    output = supervise(SIMULATOR, WAITING, duration='0.1')
    assert output.finish() == 0
    assert '0.1 s are over; ending simulator and controller' in output.lines


def test_robots_without_joints_await_no_command(supervise):
    """Count the duration from the first message: there is nothing to command."""
    jointless = SIMULATOR.replace("name=['hinge']", '')
    assert supervise(jointless, WAITING, duration='0 commanded').finish() == 0


def test_the_duration_counts_from_the_first_command(supervise):
    """Do not end before the controller has commanded."""
    output = supervise(SIMULATOR, COMMANDING, duration='0 commanded')
    assert output.finish() == 0
    # lines from two processes come in any order; a controller ended at once would write none
    assert {'[controller] commanding', '0 s are over; ending simulator and controller'} <= set(
        output.lines
    )


def test_it_ends_when_nobody_reads(start_process):
    """End the children when the output is closed, as by `| head`."""
    chatty = "import time\nwhile True: print('still here', flush=True); time.sleep(0.01)"
    process = start_process('-c', SUPERVISE, FOREVER, PATIENT, SIMULATOR, chatty)
    while 'still here' not in process.stdout.readline():
        pass
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_S) == 0


def test_no_child_is_left(supervise):
    """Leave no process behind."""
    report = 'import os; print("process", os.getpid(), flush=True)\n'
    output = supervise(report + SIMULATOR, report + WAITING)
    output.wait_for_all('[simulator] process ', '[controller] process ', 'running: the first')
    pids = [int(line.split()[-1]) for line in output.lines if '] process ' in line]
    output.process.send_signal(signal.SIGINT)
    assert output.finish() == 0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize('controller', ['computed_torque'])
def test_simulator_and_controller_run_and_end(start_process, controller):
    """Run the arm with each controller until the status shows figures; end on Ctrl-C with 0."""
    output = Output(start_process('-m', 'sim_bridge', 'run', 'arm', '--controller', controller))
    output.wait_for('running: the first message came')
    status = output.wait_for('arm | ', ' | joint_states at ', ' | real time factor ')
    assert 'publishers of joint_states' not in status
    output.process.send_signal(signal.SIGINT)
    assert output.finish() == 0
    assert not any('Traceback' in line for line in output.lines)


def test_paused_simulator_counts_as_running(start_process):
    """Count /clock, also published by a paused simulator, as a sign of running."""
    options = ('--paused', '--namespace', 'left', '--controller', 'none')
    output = Output(start_process('-m', 'sim_bridge', 'run', 'pendulum', *options))
    output.wait_for('running: the first message came')
    output.wait_for('pendulum | paused | ')
    output.process.send_signal(signal.SIGTERM)
    assert output.finish() == 0


def test_a_second_run_on_the_same_domain_is_refused(start_process):
    """Name robot and process of the first run, which continues; allow another namespace."""
    first = Output(start_process('-m', 'sim_bridge', 'run', 'pendulum', '--controller', 'none'))
    first.wait_for('running: the first message came')
    second = Output(start_process('-m', 'sim_bridge', 'run', 'arm'))
    assert second.finish() == 2
    (line,) = second.lines
    assert f'pendulum (sim_bridge run, process {first.process.pid}) runs on ROS domain' in line
    assert 'end it, or set another domain for this one, as ROS_DOMAIN_ID=' in line
    first.process.kill()
    first.process.wait(timeout=PATIENCE_S)
    # the lock is free again without cleanup
    with domain_lock('arm', '', os.environ), domain_lock('arm', '/left', os.environ):
        pass


def test_a_failing_start_touches_no_other_simulation(start_process, tmp_path):
    """Show neither another simulator's status, nor connect a controller to it."""
    node = Output(start_process('-m', 'sim_bridge', 'node', '--ros-args', '-p', 'robot:=pendulum'))
    node.wait_for('ready: ')
    (tmp_path / 'broken.urdf').write_text('<robot name="broken"><link name="a"/>')
    output = Output(start_process('-m', 'sim_bridge', 'run', str(tmp_path / 'broken.urdf')))
    assert output.finish() == 2
    text = '\n'.join(output.lines)
    assert 'broken.urdf' in text and 'running' not in text and '[controller]' not in text
    node.process.send_signal(signal.SIGINT)
    assert node.finish() == 0


def test_unknown_robot_ends_with_the_nodes_message(start_process):
    """Show the simulator's message about an unknown robot, and return its exit code."""
    output = Output(start_process('-m', 'sim_bridge', 'run', 'arn'))
    assert output.finish() == 2
    assert any("unknown robot 'arn'" in line and "'arm'" in line for line in output.lines)


def test_killed_it_leaves_no_orphans(start_process):
    """End simulator and controller although SIGKILL prevents a cleanup."""
    output = Output(start_process('-m', 'sim_bridge', 'run', 'pendulum'))
    output.wait_for('running: the first message came')
    pid = output.process.pid
    listed = subprocess.run(
        ['ps', '-o', 'pid=', '--ppid', str(pid)], stdout=subprocess.PIPE, text=True, check=True
    )
    children = [int(line) for line in listed.stdout.split()]
    assert len(children) == 2
    ends = [os.pidfd_open(child) for child in children]
    output.process.kill()
    for end in ends:
        readable, _, _ = select.select([end], [], [], PATIENCE_S)
        os.close(end)
        assert readable
