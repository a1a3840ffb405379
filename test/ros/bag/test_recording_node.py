"""The running node records its inputs and outputs, and is never stopped by its disk."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal

from bags import messages_on, read_bag
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest
from ros_graph import end, nanoseconds
from rosbags.rosbag2 import ReaderError
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from sim_bridge.ros.bag.replay import replay

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000


def test_a_recorded_run_with_a_controller_replays_to_the_same_state(graph, start_node, tmp_path):
    """Record another process's commands at any time, a servo, a pause and a reset."""
    bag = tmp_path / 'bag'
    process = start_node(robot='pendulum', record=bag, record_hash_period=0.1)
    states = graph.listen(JointState, '/joint_states')
    publisher = graph.advertise(JointState, '/joint_commands')
    joint = graph.wait_for_next(states)[0].name[0]

    def command() -> None:
        publisher.publish(JointState(name=[joint], effort=[float(len(states) % 11)]))

    def go_on(count: int) -> None:
        target = len(states) + count
        graph.wait(lambda: len(states) >= target, 'states', command)

    go_on(100)
    assert graph.set_parameter('/sim_bridge', f'gains.{joint}.p', 20.0).successful
    assert graph.set_parameter('/sim_bridge', f'control.{joint}', 'servo').successful
    go_on(100)
    assert graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=True)).success
    clock = graph.listen(Clock, '/clock')
    graph.wait(lambda: len(clock) > 2, 'the clock while paused', command)
    assert graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=False)).success
    go_on(100)
    assert graph.call(Trigger, '/sim_bridge/reset', Trigger.Request()).success
    go_on(100)
    code, output = end(process)
    assert code == 0, output

    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
    assert verdict.commands > 20
    recorded = read_bag(bag)
    stamps = [
        nanoseconds(m.header.stamp) for m in messages_on(recorded, '/joint_states', JointState)
    ]
    assert stamps == [step * MS for step in range(1, len(stamps) + 1)]
    # a reset takes a step on /clock, but none in the world
    assert verdict.ticks + 1 == len(stamps)
    assert nanoseconds(states[-1].header.stamp) <= stamps[-1]
    moments = [nanoseconds(m.clock) for m in messages_on(recorded, '/clock', Clock)]
    # and publishes at once
    (at_reset,) = set(moments) - set(range(0, stamps[-1] + 1, 5 * MS)) or {5 * MS}
    assert moments == [stamp for stamp in stamps if stamp % (5 * MS) == 0 or stamp == at_reset]


def test_a_killed_node_leaves_a_complete_bag(graph, start_node, tmp_path):
    """SIGKILL: read and replay the written part, which soon contains published messages."""
    bag = tmp_path / 'bag'
    process = start_node(robot='pendulum', record=bag)
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states, 1500)
    published, stamps = nanoseconds(states[-1].header.stamp), [0]
    while stamps[-1] < published:
        # pending messages are written soon, after some time
        process.send_signal(signal.SIGCONT)
        graph.wait_for_next(states)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        # unreadable if the process was stopped between messages and the end of the file
        with contextlib.suppress(ReaderError):
            stamps = [
                nanoseconds(m.header.stamp)
                for m in messages_on(read_bag(bag), '/joint_states', JointState)
            ]
    process.kill()
    process.wait()
    assert stamps == [step * MS for step in range(1, len(stamps) + 1)]
    assert replay(bag).is_same


def test_a_full_disk_ends_the_recording_alone(graph, start_process, tmp_path):
    """Report it in the log and on /diagnostics; simulate on, and leave a complete bag."""
    bag, limit = tmp_path / 'bag', 300_000
    process = start_process(
        '-m',
        'sim_bridge',
        'node',
        '--ros-args',
        '-p',
        'robot:=pendulum',
        '-p',
        f'record:={bag}',
        '-p',
        'diagnostics_rate:=10.0',
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    told = graph.listen(DiagnosticArray, '/diagnostics')

    def levels() -> list[bytes]:
        return [
            status.level
            for status in (told[-1].status if told else ())
            if status.name == 'sim_bridge: recording'
        ]

    graph.wait(lambda: levels() == [DiagnosticStatus.ERROR], 'an error on /diagnostics')
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states, 100)
    code, output = end(process)
    assert code == 0, output
    recorded = read_bag(bag)
    reason = f'File too large; the bag is readable and holds {len(recorded)} messages'
    assert f"'{bag}': {reason}. The simulation goes on" in output
    (status,) = (s for s in told[-1].status if s.name == 'sim_bridge: recording')
    assert reason in status.message
    stamps = [
        nanoseconds(m.header.stamp) for m in messages_on(recorded, '/joint_states', JointState)
    ]
    assert stamps == [step * MS for step in range(1, len(stamps) + 1)]
    assert stamps[-1] < nanoseconds(states[0].header.stamp)


STALLING = """
import signal
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

going_on = [True]
signal.signal(signal.SIGTERM, lambda *_: going_on.clear())
rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
node, stamps = rclpy.create_node('stalling'), []
node.create_subscription(
    JointState, '/joint_states',
    lambda m: stamps.append(m.header.stamp.sec * 1000 + m.header.stamp.nanosec // 1000000),
    QoSProfile(depth=5000))
executor = SingleThreadedExecutor()
executor.add_node(node)
while going_on:
    before = len(stamps)
    executor.spin_once(timeout_sec=0.1)
    print(*stamps[before:], flush=True)
print(stamps[-1] - stamps[0] + 1 - len(stamps), 'of', len(stamps), flush=True)
"""


def test_a_stalled_subscriber_gets_the_missed_messages(graph, start_node, start_process):
    """Keep one second of messages: a recorder that stalls for less loses nothing."""
    start_node(robot='arm', paused=True)
    recorder = start_process('-c', STALLING)
    heard = ''
    while not heard.strip():
        assert graph.call(Trigger, '/sim_bridge/step', Trigger.Request()).success
        heard = recorder.stdout.readline()
    recorded = (int(stamp) for line in recorder.stdout for stamp in line.split())
    assert graph.set_parameter('/sim_bridge', 'step_count', 700).successful
    for _ in range(2):
        recorder.send_signal(signal.SIGSTOP)
        said = graph.call(Trigger, '/sim_bridge/step', Trigger.Request()).message
        recorder.send_signal(signal.SIGCONT)
        stamp = round(1000 * float(re.search(r'now at ([0-9.]+) s', said)[1]))
        assert stamp in recorded, said
    code, output = end(recorder, signal.SIGTERM)
    assert code == 0, output
    lost, count = output.splitlines()[-1].split(' of ')
    assert int(count) > 1400
    assert lost == '0', output


def test_efforts_end_with_their_publisher(graph, start_node, tmp_path):
    """Hold the robot long before the timeout once no publisher is left; replay that step."""
    bag = tmp_path / 'bag'
    process = start_node(robot='pendulum', record=bag, command_timeout=1e6)
    states = graph.listen(JointState, '/joint_states')
    joint = graph.wait_for_next(states)[0].name[0]

    def swing() -> None:
        """Command with a publisher that leaves afterwards."""
        publisher = graph.advertise(JointState, '/joint_commands')
        graph.wait(
            lambda: abs(states[-1].velocity[0]) > 0.1,
            'motion',
            lambda: publisher.publish(JointState(name=[joint], effort=[20.0])),
        )
        graph.node.destroy_publisher(publisher)

    swing()
    graph.wait(lambda: states[-1].velocity[0] == 0.0, 'the hold')
    # the next publisher is accepted like any other
    swing()
    graph.wait(lambda: states[-1].velocity[0] == 0.0, 'the second hold')
    code, output = end(process)
    assert code == 0, output
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
    inputs = messages_on(read_bag(bag), '/sim_bridge/inputs', String)
    # one more whenever a publisher's messages arrive after it was found gone
    assert sum('senders_left' in each.data for each in inputs) >= 2
