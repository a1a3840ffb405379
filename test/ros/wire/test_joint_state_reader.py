"""Reader of serialized joint states: the message's contents, by the quick or the full way."""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from sim_bridge.ros.wire.joint_state_reader import JointStateReader

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def message(rng: np.random.Generator, names: list[str], filled: tuple[str, ...]) -> JointState:
    """Return a joint state with random numbers, zeros among them, in the selected fields."""
    made = JointState(name=names)
    made.header.stamp.sec = int(rng.integers(0, 2**31 - 1))
    made.header.stamp.nanosec = int(rng.integers(0, 10**9))
    for field in filled:
        setattr(made, field, (rng.normal(size=len(names)) * rng.integers(0, 2)).tolist())
    return made


def assert_same(reader: JointStateReader, sent: JointState) -> None:
    """Compare the read message with the sent one, bit by bit."""
    read = reader.read(serialize_message(sent))
    stamp = sent.header.stamp
    assert read.time_ns == stamp.sec * 1_000_000_000 + stamp.nanosec
    assert read.names == sent.name
    for field in ('position', 'velocity', 'effort'):
        np.testing.assert_array_equal(getattr(read, field), np.array(getattr(sent, field)))


FILLED = [
    ('position', 'velocity', 'effort'),
    ('effort',),
    ('position',),
    ('position', 'effort'),
    (),
]


@pytest.mark.parametrize('filled', FILLED)
@pytest.mark.parametrize('names', [[], ['a'], ['elbow', 'b'], [f'joint_{k}' for k in range(7)]])
def test_it_reads_sent_messages(names, filled):
    """Read many messages from one sender."""
    rng, reader = np.random.default_rng(1), JointStateReader()
    for _ in range(20):
        assert_same(reader, message(rng, names, filled))


def test_senders_may_take_turns():
    """Read messages with different names, order, frame and filled fields, one after another."""
    rng, reader = np.random.default_rng(2), JointStateReader()
    for _ in range(300):
        names = [['a', 'b'], ['b', 'a'], ['a', 'c'], ['ab', ''], ['a']][rng.integers(5)]
        sent = message(rng, names, FILLED[rng.integers(len(FILLED))])
        sent.header.frame_id = ['', 'base', 'äö'][rng.integers(3)]
        assert_same(reader, sent)


def test_messages_of_one_sender_are_taken_apart_once(monkeypatch):
    """Build one message object for a hundred messages."""
    built = []

    def count(data: bytes, kind: type) -> object:
        built.append(data)
        return deserialize_message(data, kind)

    monkeypatch.setattr('sim_bridge.ros.wire.joint_state_reader.deserialize', count)
    rng, reader = np.random.default_rng(3), JointStateReader()
    for _ in range(100):
        assert_same(reader, message(rng, ['a', 'b', 'c'], ('effort',)))
    assert len(built) == 1


def test_the_other_byte_order_is_read_too():
    """Read a message from a machine with another byte order."""
    order = '<>'[sys.byteorder == 'little']
    data = struct.pack(
        f'{order}4xiI I4s II4s III d', *(3, 7), *(1, b''), *(1, 2, b'a'), *(0, 0, 1), 1.5
    )
    encoding = b'\x00\x00' if order == '>' else b'\x00\x01'
    read = JointStateReader().read(encoding + data[2:])
    assert (read.time_ns, read.names, list(read.effort)) == (3_000_000_007, ['a'], [1.5])


def test_padding_may_be_anything():
    """Read a sender's messages with changing padding, as written by middlewares."""
    rng, reader = np.random.default_rng(4), JointStateReader()
    sent = message(rng, ['a', 'bc'], ('effort',))
    clean = serialize_message(sent)
    # 'a' and its end take two bytes; two padding bytes align the next length
    padding = clean.index(b'a\0') + 2
    for value in (0, 1, 255, 255, 7):
        data = clean[:padding] + bytes([value] * 2) + clean[padding + 2 :]
        read = reader.read(data)
        assert read.names == ['a', 'bc']
        np.testing.assert_array_equal(read.effort, sent.effort)
