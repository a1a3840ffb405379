"""Faults around a running node: garbage, stops and resumption, stalled and killed subscribers."""

from __future__ import annotations

from itertools import pairwise
import signal

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist
import pytest
from rclpy.serialization import serialize_message
from ros_graph import end, keeping, nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
# of the nodes; low enough to receive their states without a gap on a busy machine
RATE_HZ, PERIOD_MS = 200.0, 5

LISTENER = """
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
rclpy.init()
node = Node('listener')
node.create_subscription(JointState, 'joint_states', lambda state: None, 10)
publisher = node.create_publisher(JointState, 'listening', 10)
node.create_timer(0.05, lambda: publisher.publish(JointState()))
rclpy.spin(node)
"""


def stamps_of(states):
    """Return joint state stamps [ms]."""
    return [round(nanoseconds(state.header.stamp) / MS) for state in states]


def counted(diagnostics, key):
    """Return the latest command count."""
    status = next(s for s in diagnostics[-1].status if 'commands of' in s.name)
    return int(next(each.value for each in status.values if each.key == key))


def follow_each_other(states):
    """Return whether no state is missing between the first and the last."""
    return {late - early for early, late in pairwise(stamps_of(states))} == {PERIOD_MS}


def go_on(graph, states, steps=100):
    """Wait for this many further states, and until the latest are consecutive."""
    graph.wait_for_next(states, steps)
    graph.wait(lambda: follow_each_other(states[-50:]), 'states without a gap')


@pytest.mark.parametrize(
    ('topic', 'kind', 'message'),
    [
        ('/joint_commands', JointState, JointState(name=['front_left'], velocity=[1.0])),
        ('/effort_controller/commands', Float64MultiArray, Float64MultiArray(data=[1.0])),
        ('/cmd_vel', Twist, Twist()),
    ],
)
def test_garbage_on_a_command_topic_is_refused(graph, start_node, topic, kind, message):
    """Send malformed bytes: truncated, with impossible lengths, or empty."""
    process = start_node(robot='tracked_vehicle', rate=RATE_HZ, diagnostics_rate=20.0)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    publisher = graph.advertise(kind, topic)
    graph.wait(lambda: states and diagnostics, 'states and diagnostics')
    whole = serialize_message(message)
    head, length = whole[:4], len(whole)
    garbage = [whole[: length // 2], head + b'\xff' * (length - 4), head, b'\x7f\x7f' + whole[2:]]
    for data in garbage:
        publisher.publish(data)
    graph.wait(
        lambda: counted(diagnostics, 'rejected since start') >= len(garbage) - 1,
        'rejected commands',
    )
    go_on(graph, states)
    code, output = end(process)
    assert code == 0, output
    assert f'command on {topic[1:]} rejected' in output


def test_a_stopped_simulator_goes_on_where_it_was(graph, start_node):
    """Stop the process like a debugger or a suspended machine: no burst, no lost message."""
    process = start_node(robot='pendulum', rate=RATE_HZ, **keeping('/joint_states'))
    states = graph.listen_to_all(JointState, '/joint_states')
    clock = graph.listen(Clock, '/clock')
    go_on(graph, states)
    process.send_signal(signal.SIGSTOP)
    graph.drain()
    stopped_at = stamps_of(states)[-1]
    process.send_signal(signal.SIGCONT)
    go_on(graph, states)
    assert follow_each_other(states)
    assert stamps_of(states)[-1] > stopped_at
    ticks = [nanoseconds(tick.clock) for tick in clock]
    assert ticks == sorted(ticks)
    assert end(process)[0] == 0


def test_stalled_and_killed_subscribers_affect_no_others(graph, start_node, start_process):
    """Stop one listener, kill another, and lose nothing; then the stalled one goes on."""
    process = start_node(robot='pendulum', rate=RATE_HZ)
    states = graph.listen(JointState, '/joint_states')
    alive = graph.listen(JointState, '/listening')
    listeners = [start_process('-c', LISTENER) for _ in range(2)]
    graph.wait(lambda: alive, 'a listener')
    go_on(graph, states)
    stalled, killed = listeners
    stalled.send_signal(signal.SIGSTOP)
    end(killed, signal.SIGKILL)
    start_process.started.remove(killed)
    # twice the number of messages kept for a stalled subscriber
    go_on(graph, states, round(2 * RATE_HZ))
    stalled.send_signal(signal.SIGCONT)
    graph.wait_for_next(alive)
    go_on(graph, states)
    assert end(process)[0] == 0
