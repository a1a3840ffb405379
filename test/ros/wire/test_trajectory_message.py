"""Trajectories read from bytes: the same as from message objects, whatever their contents."""

from __future__ import annotations

import re
import struct
import sys
import tracemalloc

from builtin_interfaces.msg import Duration
from following import simulator
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, MalformedMessageError, SimBridgeError
from sim_bridge.ros.command.inputs import Message
from sim_bridge.ros.wire import trajectory_message
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.trajectory_message import from_bytes, from_message, TrajectoryMessage

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

NAMES = ('positions', 'velocities', 'accelerations', 'effort')


def duration(time_ns: int) -> Duration:
    """Return a time [ns] as a message."""
    return Duration(sec=time_ns // 10**9, nanosec=time_ns % 10**9)


def random_message(rng: np.random.Generator, flawed: bool) -> JointTrajectory:
    """Create a trajectory. flawed: whether its points have any number of values, at any time."""
    names = [str(n) + 'ä' * int(rng.integers(4)) for n in range(rng.integers(not flawed, 5))]
    message = JointTrajectory(joint_names=names)
    message.header.stamp.sec = int(rng.integers(100))
    message.header.frame_id = 'f' * int(rng.integers(6))
    time_ns = 0
    for _ in range(rng.integers(not flawed, 12)):
        time_ns += int(rng.integers(1, 3 * 10**9))
        point = JointTrajectoryPoint(time_from_start=duration(time_ns))
        # accelerations need velocities
        for name in NAMES[: rng.integers(1, 4)]:
            setattr(point, name, rng.normal(size=len(names)).tolist())
        message.points.append(point)
    for point in message.points if flawed else ():
        flaw = rng.integers(20)
        if flaw < 4:
            setattr(point, NAMES[flaw], rng.normal(size=rng.integers(4)).tolist())
        elif flaw < 7 and names and len(getattr(point, NAMES[flaw - 4])):
            getattr(point, NAMES[flaw - 4])[-1] = rng.choice([np.nan, np.inf, -np.inf])
        elif flaw == 7:
            point.time_from_start = duration(int(rng.integers(-(10**10), 10**10)))
    return message


def told(what: object, *arguments: object) -> object:
    """Return a trajectory's arrays, or the error."""
    try:
        made = what(*arguments)
    except SimBridgeError as err:
        return type(err), str(err)
    values = (made.times_ns, made.positions, made.velocities, made.accelerations)
    return made.joints, [(value.shape, value.tobytes()) for value in values]


def point_by_point(message: JointTrajectory) -> sb.Trajectory:
    """Return a message's trajectory by reading every point."""
    for number, point in enumerate(message.points):
        if len(point.effort):
            raise InvalidValueError(
                'effort of trajectory',
                list(point.effort),
                'none; send efforts on joint_commands, in addition to motor efforts',
                f'point {number}',
            )
    times = [
        each.time_from_start.sec + each.time_from_start.nanosec * 1e-9 for each in message.points
    ]
    return sb.Trajectory(
        message.joint_names,
        times,
        *([list(getattr(point, name)) for point in message.points] for name in NAMES[:3]),
    )


def assert_same(read: TrajectoryMessage, message: JointTrajectory) -> None:
    """Compare all message contents."""
    assert read.joints == message.joint_names
    stamp = message.header.stamp
    assert read.stamp_ns == stamp.sec * 10**9 + stamp.nanosec
    times = [each.time_from_start for each in message.points]
    assert read.times.tolist() == [each.sec + each.nanosec * 1e-9 for each in times]
    rows = (read.positions, read.velocities, read.accelerations, read.efforts)
    for name, each in zip(NAMES, rows, strict=True):
        assert [row.tobytes() for row in each] == [
            getattr(point, name).tobytes() for point in message.points
        ]


@pytest.fixture
def objects(monkeypatch):
    """Return the number of points in each message object created."""
    counts = []

    def count(data: bytes, kind: type) -> JointTrajectory:
        message = deserialize(data, kind)
        counts.append(len(message.points))
        return message

    monkeypatch.setattr(trajectory_message, 'deserialize', count)
    return counts


@pytest.mark.parametrize('flawed', [False, True])
def test_bytes_equal_message_objects(objects, flawed):
    """Give the same values, bit by bit, or the same refusal; without an object for any point."""
    rng = np.random.default_rng(1)
    refusals = set()
    for _ in range(300):
        message = random_message(rng, flawed)
        read = from_bytes(serialize_message(message))
        assert_same(read, message)
        expected = told(point_by_point, message)
        assert told(read.trajectory) == expected
        assert told(from_message(message).trajectory) == expected
        refusals.add(expected[1].split(' = ')[0] if isinstance(expected[1], str) else '')
    assert not any(objects)
    assert (
        len(refusals) == 1
        if not flawed
        else refusals
        >= {
            '',
            'effort of trajectory',
            'joints of trajectory',
            'time of trajectory',
            'points of trajectory',
            *(
                f'{start}{name} of trajectory'
                for name in NAMES[:3]
                for start in ('', 'number of ')
            ),
        }
    )


def test_damaged_bytes_are_read_like_by_the_middleware():
    """Cut and change bytes anywhere: read or refuse like the middleware."""
    rng = np.random.default_rng(2)
    outcomes = {True: 0, False: 0}
    for _ in range(600):
        data = bytearray(serialize_message(random_message(rng, flawed=True)))
        if rng.integers(2):
            del data[rng.integers(len(data)) :]
        for _ in range(rng.integers(3)):
            if data:
                data[rng.integers(len(data))] = rng.integers(256)
        try:
            message, refusal = deserialize(bytes(data), JointTrajectory), ''
        except MalformedMessageError as err:
            message, refusal = None, str(err)
        outcomes[message is None] += 1
        if message is None:
            with pytest.raises(MalformedMessageError, match=re.escape(refusal)):
                from_bytes(bytes(data))
        else:
            assert_same(from_bytes(bytes(data)), message)
    assert min(outcomes.values()) > 100


def test_other_encodings_are_read_too(objects):
    """Leave messages with the other byte order to the middleware."""
    order, mark = ('>', b'\x00\x00') if sys.byteorder == 'little' else ('<', b'\x00\x01')
    data = (
        mark
        + bytes(2)
        + struct.pack(
            f'{order}iI I4s I I4s I I4x2d I I I iI',
            5,
            6,
            1,
            b'',
            1,
            2,
            b'a',
            1,
            2,
            0.5,
            0.25,
            0,
            0,
            0,
            7,
            8,
        )
    )
    read = from_bytes(data)
    assert (read.stamp_ns, read.joints, read.times.tolist()) == (5 * 10**9 + 6, ['a'], [7 + 8e-9])
    assert read.positions[0].tolist() == [0.5, 0.25]
    assert objects == [1]


def test_reading_a_large_trajectory_calls_nothing_for_each_point(objects):
    """Read a message of maximum size without a Python call or an object for every point."""
    made = simulator(robot='double_pendulum')
    (interface,) = made.interfaces
    (controller,) = interface.trajectories.controllers
    count = 20_000
    rows = np.random.default_rng(3).normal(size=(2, count, 2))
    rows[1, -1] = 0.0
    points = [
        JointTrajectoryPoint(positions=q, velocities=dq, time_from_start=duration(10**7 * number))
        for number, (q, dq) in enumerate(zip(*rows.tolist(), strict=True), 1)
    ]
    data = serialize_message(JointTrajectory(joint_names=['elbow', 'shoulder'], points=points))
    calls = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == 'call'

    sys.setprofile(note)
    try:
        interface.trajectories.take_message(controller, data, Message('', data))
    finally:
        sys.setprofile(None)
    assert calls < 1000
    assert not any(objects)
    assert interface.commands.counts.accepted == 1


def test_many_names_and_many_points_without_values_take_no_room():
    """Refuse them without a table of points times joints."""
    count = 20_000
    message = JointTrajectory(
        joint_names=list(map(str, range(count))),
        points=[JointTrajectoryPoint(time_from_start=duration(n)) for n in range(count)],
    )
    data = serialize_message(message)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidValueError, match='number of positions of trajectory = 0'):
            from_bytes(data).trajectory()
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
