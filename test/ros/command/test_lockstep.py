"""Lockstep: no step without its commands, whenever they come, and the same state each time."""

from __future__ import annotations

import json

from bags import messages_on, read_bag
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from following import Nowhere, simulator
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from ros_graph import end, nanoseconds
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.command.lockstep import Lockstep

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

TOPICS = ('left/joint_commands', 'right/joint_commands')
LEFT, RIGHT = TOPICS
MS = 1_000_000


# --- waiting and applying ------------------------------------------------------------------------


class Bench:
    """A lockstep, a settable clock, and the applied commands."""

    def __init__(self, *sources, timeout_s=0.0):
        self.now, self.applied, self.wakes = 0.0, [], 0
        self.lockstep = Lockstep(sources, TOPICS, timeout_s=timeout_s, now=lambda: self.now)
        self.lockstep.on_answer = self.wake

    def wake(self):
        self.wakes += 1

    def offer(self, topic, time_ns, frame_id='', mark=None):
        self.lockstep.offer(
            topic, frame_id, time_ns, lambda: self.applied.append(mark or (topic, frame_id))
        )

    def step(self, time_ns):
        """Take a step to a state with this stamp."""
        self.lockstep.release()
        for topic in TOPICS:
            self.lockstep.ask(topic, time_ns)


def test_a_step_waits_for_all_sources_and_applies_them_in_order():
    """Answer in the wrong order; only the last answer wakes the lockstep."""
    bench = Bench(LEFT, RIGHT)
    bench.step(5)
    assert bench.lockstep.missing == [LEFT, RIGHT]
    bench.offer(RIGHT, 5)
    assert not bench.lockstep.is_open()
    assert (bench.lockstep.missing, bench.wakes) == ([LEFT], 0)
    bench.offer(LEFT, 5)
    assert bench.lockstep.is_open()
    assert bench.wakes == 1
    bench.step(6)
    assert bench.applied == [(LEFT, ''), (RIGHT, '')]
    assert not bench.lockstep.is_open()


def test_sources_on_one_topic_are_distinguished_by_their_frames():
    """Wait for two controllers of one robot."""
    bench = Bench(f'{LEFT}:wrist', f'{LEFT}:arm')
    bench.step(5)
    bench.offer(LEFT, 5, 'arm')
    assert not bench.lockstep.is_open()
    bench.offer(LEFT, 5, 'wrist')
    assert bench.lockstep.is_open()
    bench.step(6)
    assert bench.applied == [(LEFT, 'wrist'), (LEFT, 'arm')]
    with pytest.raises(UnknownNameError, match='left/joint_commands:leg.*Did you mean'):
        bench.offer(LEFT, 6, 'leg')


def test_late_answers_are_counted_and_dropped():
    """Answer twice, and answer a state already answered."""
    bench = Bench(LEFT)
    bench.step(5)
    bench.offer(LEFT, 5, mark='first')
    bench.offer(LEFT, 5, mark='second')
    bench.step(6)
    bench.offer(LEFT, 5, mark='late')
    assert bench.applied == ['first']
    assert not bench.lockstep.is_open()
    assert (bench.lockstep.counts.answered, bench.lockstep.counts.late) == (1, 2)


class Answering(Nowhere):
    """A sink whose joint states are answered before `publish` returns."""

    def __init__(self):
        self.answer = lambda state: None

    def open(self, topic, message_type, qos):
        """Return an outlet."""
        outlet = super().open(topic, message_type, qos)
        if message_type is JointState:
            outlet.is_wanted = lambda: True
            outlet.publish = lambda data: self.answer(deserialize_message(data, JointState))
        return outlet


def test_an_answer_may_come_before_the_state_is_out_of_hand():
    """Take the answers of a controller quicker than the publisher."""
    sink = Answering()
    made = simulator(sink, robot='pendulum', lockstep=['joint_commands'])
    (interface,) = made.interfaces
    (take,) = (topic.take for topic in interface.command_topics if topic.name == 'joint_commands')

    def answer(state):
        take(serialize_message(JointState(header=state.header, name=['pivot'], effort=[1.0])))

    sink.answer = answer
    made.refresh()
    for _ in range(5):
        assert made.is_ready()
        made.tick()
    assert made.lockstep.counts.answered == 6
    assert interface.commands.counts.rejected == 0


@pytest.mark.parametrize('time_ns', [0, 7])
def test_stamps_that_no_state_had_are_refused(time_ns):
    """Answer without a stamp, and answer a state not published yet."""
    bench = Bench(LEFT)
    bench.step(5)
    with pytest.raises(InvalidValueError, match='header.stamp.*the latest is 5'):
        bench.offer(LEFT, time_ns)


def test_a_step_is_taken_when_the_time_for_an_answer_is_over():
    """Count it, and apply the received answers."""
    bench = Bench(LEFT, RIGHT, timeout_s=2.0)
    bench.step(5)
    bench.offer(LEFT, 5)
    bench.now = 1.9
    bench.lockstep.ask(RIGHT, 5)  # asking again does not extend the time
    assert not bench.lockstep.is_open()
    bench.now = 2.0
    assert bench.lockstep.is_open()
    assert bench.lockstep.is_open()  # the step may not be due yet
    bench.step(6)
    assert bench.applied == [(LEFT, '')]
    assert bench.lockstep.counts.timeouts == 1
    assert not bench.lockstep.is_open()


def test_states_are_published_again_for_late_sources():
    """Ask at once, and again after half a second without an answer."""
    bench = Bench(LEFT)
    assert bench.lockstep.should_ask
    bench.lockstep.ask(LEFT, 1)
    assert not bench.lockstep.should_ask
    bench.now = 0.6
    assert bench.lockstep.should_ask


def test_answered_states_are_not_published_again():
    """Let time pass after an answer, and after a step without a state."""
    bench = Bench(LEFT)
    bench.lockstep.ask(LEFT, 1)
    bench.offer(LEFT, 1)
    bench.now = 0.6
    assert not bench.lockstep.should_ask
    bench.lockstep.release()
    assert not bench.lockstep.should_ask


@pytest.mark.parametrize(
    ('sources', 'error', 'word'),
    [
        (['joint_commands'], UnknownNameError, 'left/joint_commands'),
        ([LEFT, LEFT], InvalidValueError, 'each source once'),
    ],
)
def test_sources_that_make_no_sense_are_refused(sources, error, word):
    """Name the parameter and the probably meant name."""
    with pytest.raises(error, match=word):
        Lockstep(sources, TOPICS)


# --- over the graph ------------------------------------------------------------------------------


def test_a_controller_in_another_process_gives_the_same_state_each_time(
    graph, start_node, start_process, tmp_path
):
    """Run twice, as fast as possible, once with a late start of the controller."""
    hashes = []
    for run in range(2):
        bag = tmp_path / str(run)
        controller = (
            '-m',
            'sim_bridge.control.pd_controller',
            '--ros-args',
            '-p',
            'amplitude:=[0.3]',
        )
        processes = [] if run else [start_process(*controller)]
        states = graph.listen(JointState, '/joint_states')
        processes.append(
            start_node(
                robot='double_pendulum',
                real_time_factor=0.0,
                lockstep="['joint_commands']",
                record=bag,
                record_hash_period=0.1,
            )
        )
        if run:
            graph.wait(lambda states=states: states, 'the first state')
            processes.append(start_process(*controller))
        graph.wait(
            lambda states=states: states and nanoseconds(states[-1].header.stamp) > 110 * MS,
            '110 steps',
        )
        for process in processes:
            assert end(process)[0] == 0
        recorded = messages_on(read_bag(bag), '/sim_bridge/state_hash', String)
        hashes.append(
            {each['step']: each['hash'] for each in (json.loads(text.data) for text in recorded)}
        )
    assert hashes[0][100] == hashes[1][100] != hashes[0][0]


def test_time_stands_still_without_an_answer_and_missing_sources_are_named(graph, start_node):
    """Answer one state by hand, wrongly at first; then no more."""
    process = start_node(robot='pendulum', lockstep="['joint_commands']", diagnostics_rate=10.0)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    commands = graph.advertise(JointState, '/joint_commands')
    unstamped = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    graph.wait(lambda: states, 'the first state')

    def status(of):
        return next(s for s in diagnostics[-1].status if of in s.name)

    def rejected():
        return next(each.value for each in status('commands').values if 'rejected' in each.key)

    graph.wait(lambda: diagnostics and status('lockstep').level == DiagnosticStatus.WARN, 'a word')
    assert status('lockstep').message.startswith('waiting for joint_commands')
    answer = JointState(name=states[-1].name, effort=[1.0])
    commands.publish(answer)
    unstamped.publish(Float64MultiArray(data=[1.0]))
    answer.header.stamp = states[-1].header.stamp
    before = states[-1].header.stamp
    commands.publish(answer)
    graph.wait(lambda: states[-1].header.stamp != before, 'a step')
    assert nanoseconds(states[-1].header.stamp) == MS
    graph.wait(
        lambda: len([s for s in states if nanoseconds(s.header.stamp) == MS]) > 1,
        'the state again',
    )
    assert nanoseconds(states[-1].header.stamp) == MS
    graph.wait(lambda: rejected() == '2', 'two rejected commands')
    code, output = end(process)
    assert code == 0
    assert 'the stamp [ns] of the joint_states that it answers' in output
