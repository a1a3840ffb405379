"""Attacks on a running node: floods, huge messages, wrong parameters, many subscribers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
import signal

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from ros_graph import end, nanoseconds
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# of the node; low enough to receive its states without a gap on a busy machine
RATE_HZ = 100.0
PERIOD_NS = 10_000_000
JOINT = 'shoulder'
TRAJECTORY = '/joint_trajectory_controller/joint_trajectory'

# publishes as fast as it can
FLOODER = """
import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
rclpy.init()
publisher = rclpy.create_node('flooder').create_publisher(JointState, '/joint_commands', 10)
data = serialize_message(JointState(name=['shoulder'], effort=[0.1]))
while not publisher.get_subscription_count():
    pass
for _ in range(10_000):
    publisher.publish(data)
print('done', flush=True)
"""


def memory_of(pid: int) -> int:
    """Return the peak memory of a process [MB]."""
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in lines if line.startswith('VmHWM'))
    return peak // 1024


class Attack:
    """A node with a double pendulum, and checks of its state."""

    def __init__(self, graph, start_node) -> None:
        self.graph = graph
        self.process = start_node(
            robot='double_pendulum', rate=RATE_HZ, diagnostics_rate=20.0, command_timeout=0.0
        )
        self.diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
        self.states = graph.listen(JointState, '/joint_states', QoSProfile(depth=5000))
        graph.wait(lambda: self.states and self.diagnostics, 'states and diagnostics')
        self.memory = memory_of(self.process.pid)

    def count(self, key: str) -> int:
        """Return the latest command count."""
        status = next(s for s in self.diagnostics[-1].status if 'commands of' in s.name)
        return int(next(v.value for v in status.values if v.key == f'{key} since start'))

    def expect(self, key: str, more_than: int) -> None:
        """Wait for a count greater than this."""
        self.graph.wait(lambda: self.count(key) > more_than, f'{key} > {more_than}')

    def goes_on(self) -> None:
        """Check that steps are taken, reported and stamped without a gap, in bounded memory."""
        self.graph.wait_for_next(self.states, 20)
        # states pushed out of buffers by huge messages in transit do not count as gaps
        self.graph.wait(self._has_no_gap, 'states without a gap')
        self.graph.wait_for_next(self.diagnostics, 2)
        # at most ten 10 MB messages wait in either process's middleware
        assert memory_of(self.process.pid) < self.memory + 400

    def _has_no_gap(self) -> bool:
        stamps = [nanoseconds(state.header.stamp) for state in self.states[-20:]]
        return {late - early for early, late in pairwise(stamps)} == {PERIOD_NS}


@pytest.fixture
def attack(graph, start_node):
    """Return a running node to attack."""
    return Attack(graph, start_node)


def test_floods_and_huge_messages_change_nothing_but_counts(attack, start_process):
    """Send valid commands and trajectories by the ten thousand, and 10 MB messages."""
    graph = attack.graph
    named = graph.advertise(JointState, '/joint_commands')
    ordered = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    followed = graph.advertise(JointTrajectory, TRAJECTORY)

    # commands, from two processes at once
    flooders = [start_process('-c', FLOODER) for _ in range(2)]
    graph.wait(lambda: all(f.poll() == 0 for f in flooders), 'the floods')
    # most are overwritten by newer ones before they are read
    attack.expect('accepted', 0)
    attack.goes_on()

    # trajectories
    points = [JointTrajectoryPoint(positions=[0.1, 0.1])]
    points[0].time_from_start.sec = 1
    whole = serialize_message(JointTrajectory(joint_names=[JOINT, 'elbow'], points=points))
    accepted = attack.count('accepted')
    for _ in range(1000):
        followed.publish(whole)
    # the middleware decides how many messages in a burst arrive
    attack.expect('accepted', accepted)
    attack.goes_on()

    # too large, unusual and malformed messages
    million = np.zeros(1_000_000)
    for publisher, message in (
        (named, JointState(name=['x' * 10_000_000], effort=[1.0])),
        (named, JointState(name=[JOINT], effort=million)),
        (named, JointState(name=[f'j{n}' for n in range(100_000)], effort=million[:100_000])),
        (named, JointState(name=[JOINT] * 2_000, effort=million[:2_000])),
        (named, JointState(name=['\x1b[2J\n%s{}\u202e\U0001f916', 'a\x00'], effort=[1.0, 1.0])),
        (named, JointState(name=['', ' ' * 1000], effort=[1.0, 1.0])),
        (ordered, Float64MultiArray(data=million)),
        (followed, JointTrajectory(joint_names=['x' * 5_000_000], points=points)),
        (followed, JointTrajectory(joint_names=[JOINT, 'elbow'])),
        (followed, whole[: len(whole) // 2]),
    ):
        rejected = attack.count('rejected')
        publisher.publish(message)
        attack.expect('rejected', rejected)
    attack.goes_on()
    code, output = end(attack.process)
    assert code == 0, output
    # at most one short complaint per second
    assert len(output) < 20_000
    assert '\x1b' not in output


# by parameter name: a value, and words in the refusal besides the name
WRONG_PARAMETERS = [
    ('real_time_factor', -1.0, ['-1', '1000']),
    ('real_time_factor', 1e-320, ['1e-320', 'at least 1e-06', '1000']),
    ('real_time_factor', float('nan'), ['nan', '1000']),
    ('real_time_factor', float('inf'), ['inf', '1000']),
    ('real_time_factor', 'fast', ['fast', 'number']),
    ('real_time_factor', [1.0, 2.0], ['1.0', 'number']),
    ('step_count', 0, ['0', '1000000']),
    ('step_count', 1.5, ['1.5', 'whole number']),
    ('reset_clock', 1, ['1', 'true or false']),
    ('snapshot', 5, ['5', 'a text']),
    ('rate', 100.0, ['read-only']),
    (f'control.{JOINT}', 'levitate', ['levitate', 'servo']),
    (f'control.{JOINT}', 3, ['3', 'servo']),
    ('control.wrist', 'servo', ['wrist', 'elbow']),
    (f'gains.{JOINT}.p', -1.0, ['-1']),
    (f'gains.{JOINT}.p', float('nan'), ['nan']),
    ('raet', 100.0, ['raet', 'real_time_factor']),
]


def test_wrong_parameters_are_refused_while_it_runs(attack):
    """Name the parameter, the value and the accepted values; change nothing and go on."""
    unexplained = []
    for name, value, words in WRONG_PARAMETERS:
        result = attack.graph.set_parameter('/sim_bridge', name, value)
        assert not result.successful, (name, value)
        if not all(word in result.reason for word in (name, *words)):
            unexplained.append((name, value, result.reason))
    assert not unexplained
    attack.goes_on()
    assert end(attack.process, signal.SIGHUP)[0] == 0


def test_subscribers_come_and_go_by_the_hundred(attack):
    """Join and leave 200 times, reliably or not, with incompatible QoS; go on."""
    graph, node = attack.graph, attack.graph.node
    said = graph.listen(Log, '/rosout')
    for number in range(200):
        qos = QoSProfile(
            depth=1 + number % 5,
            reliability=(
                ReliabilityPolicy.BEST_EFFORT if number % 2 else ReliabilityPolicy.RELIABLE
            ),
        )
        subscription = node.create_subscription(
            JointState, '/joint_states', lambda state: None, qos
        )
        if number % 20 == 0:
            graph.wait_for_next(attack.states)
        node.destroy_subscription(subscription)
    # it requests past messages, which are not kept: it gets nothing, and the node logs the reason
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    refused = graph.listen(JointState, '/joint_states', latched)
    graph.wait(
        lambda: any('incompatible QoS' in each.msg and 'DURABILITY' in each.msg for each in said),
        'its complaint',
    )
    attack.goes_on()
    assert not refused
    code, output = end(attack.process)
    assert code == 0, output
