"""Outboxes: due streams, and their contents."""

from __future__ import annotations

from types import SimpleNamespace

from following import Nowhere
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from sim_bridge.ros.publish.outbox import Outbox, outboxes, Timed
from sim_bridge.ros.publish.streams import Copy, PreparedStream, Rate
from sim_bridge.ros.wire.messages import JointStateMessage

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

STEP_NS = 1_000_000


class Heard(Nowhere):
    """A sink wanting and keeping everything, by topic."""

    def __init__(self):
        self.taken: list[tuple[str, JointState]] = []
        self.is_wanted = True

    def open(self, topic, message_type, qos):
        """Return an outlet."""
        outlet = super().open(topic, message_type, qos)
        outlet.is_wanted = lambda: self.is_wanted
        outlet.publish = lambda data: self.taken.append(
            (topic, deserialize_message(data, message_type))
        )
        return outlet

    def stamps(self) -> list[tuple[str, int]]:
        """Return topics and stamps [ns] since the last call."""
        taken = [
            (topic, one.header.stamp.sec * 10**9 + one.header.stamp.nanosec)
            for topic, one in self.taken
        ]
        self.taken.clear()
        return taken


@pytest.fixture
def sink():
    """Return a sink keeping everything."""
    return Heard()


def stream_of(sink, topic, copies=tuple, fill=None):
    """Make a stream with two joints."""
    message = JointStateMessage(['a', 'b'])
    return PreparedStream(
        sink,
        topic,
        JointState,
        message,
        fill,
        copies=lambda: copies(message) if copies is not tuple else (),
        rate_hz=1.0,
    )


def device_at(step: int) -> SimpleNamespace:
    """Return a device's part needed by an outbox."""
    memory = SimpleNamespace(step=np.array([step]))
    return SimpleNamespace(memory=memory, sample_step=step)


def test_numbers_are_copied_and_added_up(sink):
    """Fill from the present array contents, and by a function if there is one."""
    q, u, motor = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([10.0, 20.0])
    stream = stream_of(
        sink,
        'state',
        lambda message: [
            Copy(message.position, q),
            Copy(message.effort, u, motor),
            Copy(message.velocity[:1], q[1:], None, 0.5, -1.0),
        ],
    )
    other = stream_of(sink, 'other')
    other = PreparedStream(
        sink,
        'other',
        JointState,
        other.message,
        lambda: other.message.velocity.fill(q[0]),
        rate_hz=1.0,
    )
    box = Outbox([Timed(stream, Rate(0.0)), Timed(other, Rate(0.0))], STEP_NS)
    q[:] = 5.0, 6.0
    box.publish(3_000_000_007, 3)
    (_, state), (_, filled) = sink.taken
    assert list(state.position) == [5.0, 6.0]
    assert list(state.effort) == [13.0, 24.0]
    assert list(state.velocity) == [-5.5, 0.0]
    assert list(filled.velocity) == [5.0, 5.0]
    assert sink.stamps() == [('state', 3_000_000_007), ('other', 3_000_000_007)]


def test_streams_are_due_at_their_rates_in_their_order(sink):
    """Publish each stream when its own period begins; continue from another time."""
    box = Outbox(
        [Timed(stream_of(sink, 'slow'), Rate(500.0)), Timed(stream_of(sink, 'fast'), Rate(0.0))],
        STEP_NS,
    )
    box.restart(0)
    for step in range(1, 5):
        box.publish(step * STEP_NS, step)
    assert [topic for topic, _ in sink.stamps()] == [
        'fast',
        'slow',
        'fast',
        'fast',
        'slow',
        'fast',
    ]
    box.restart(10 * STEP_NS)
    box.publish(10 * STEP_NS, 5)
    box.publish(11 * STEP_NS, 6)
    assert sink.stamps() == [('fast', 11 * STEP_NS)]


def test_samples_go_out_once_with_the_stamp_of_their_step(sink):
    """Stamp an older sample with its sample time."""
    device = device_at(-1)
    box = Outbox([Timed(stream_of(sink, 'imu'), device)], STEP_NS)
    box.restart(0)
    box.publish(4 * STEP_NS, 4)
    device.memory.step[0] = 6
    box.publish(8 * STEP_NS, 8)
    box.publish(12 * STEP_NS, 12)
    assert sink.stamps() == [('imu', 6 * STEP_NS)]


def test_streams_without_subscribers_are_not_sent(sink):
    """Query subscribers again; a stream that starts later keeps to its schedule."""
    sink.is_wanted = False
    stream = stream_of(sink, 'state')
    box = Outbox([Timed(stream, Rate(500.0))], STEP_NS)
    box.restart(0)
    box.publish(2 * STEP_NS, 2)
    sink.is_wanted = True
    stream.refresh()
    box.refresh()
    box.publish(3 * STEP_NS, 3)
    assert sink.stamps() == []
    box.publish(4 * STEP_NS, 4)
    assert sink.stamps() == [('state', 4 * STEP_NS)]


def test_there_may_be_any_number_of_streams(sink):
    """Send two hundred in order."""
    timed = [Timed(stream_of(sink, str(number)), Rate(0.0)) for number in range(200)]
    boxes = outboxes(timed, STEP_NS)
    assert len(boxes) > 1
    for box in boxes:
        box.publish(STEP_NS, 1)
    assert [topic for topic, _ in sink.stamps()] == [str(number) for number in range(200)]
