"""
Contents of a trajectory_msgs/JointTrajectory, from its bytes or from a message object.

Creating a message object with 20 000 points takes half a second. Meanwhile no other thread gets
the interpreter, not even the physics thread. The reader therefore skips through the bytes from
length to length, and the numbers are read in place.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.ragged_array import RaggedArray
from sim_bridge.ros.wire.cdr import deserialize, HEAD, NATIVE_HEAD
from sim_bridge.trajectory.trajectory import Trajectory

# After the CDR head, the message consists of 4-byte words: one for each length, count and time
# value, two for each float. The first word of a float has an even index.
_WORD = 4
# values found for each point: index and count for each field's numbers, and the time's index
_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')
_FOUND = 2 * len(_FIELDS) + 1


@dataclass(frozen=True, eq=False)
class TrajectoryMessage:
    """
    A trajectory as received, not yet checked.

    stamp_ns: header stamp [ns]. joints: names. times: (k,) point times from the start [s].
    positions, velocities, accelerations, efforts: one row per point.
    """

    stamp_ns: int
    joints: list[str]
    times: np.ndarray
    positions: RaggedArray
    velocities: RaggedArray
    accelerations: RaggedArray
    efforts: RaggedArray

    def trajectory(self) -> Trajectory:
        """Return the trajectory; raises InvalidValueError."""
        with_effort = np.flatnonzero(self.efforts.counts)
        if len(with_effort):
            point = int(with_effort[0])
            raise InvalidValueError(
                'effort of trajectory',
                self.efforts[point].tolist(),
                'none; send efforts on joint_commands, in addition to motor efforts',
                f'point {point}',
            )
        return Trajectory(
            self.joints, self.times, self.positions, self.velocities, self.accelerations
        )


def from_bytes(data: bytes) -> TrajectoryMessage:
    """Read a serialized JointTrajectory; raises MalformedMessageError."""
    try:
        head, found = _locate(data)
    except (_OtherEncodingError, IndexError):
        # the middleware handles other encodings and truncated messages
        return from_message(deserialize(data, JointTrajectory))
    # the middleware decodes the names, from a message without points
    message = deserialize(head + bytes(_WORD), JointTrajectory)
    words = np.frombuffer(data, np.uint32, (len(data) - HEAD) // _WORD, HEAD)
    values = np.frombuffer(data, float, len(words) // 2, HEAD)
    places = found[:, -1]
    times = words[places].view(np.int32) + words[places + 1] * 1e-9
    return TrajectoryMessage(
        _stamp_ns(message),
        list(message.joint_names),
        times,
        *(
            RaggedArray(values, found[:, field] // 2, found[:, field + 1])
            for field in range(0, _FOUND - 1, 2)
        ),
    )


def from_message(message: Any) -> TrajectoryMessage:
    """Return the contents of a JointTrajectory message object."""
    points = message.points
    times = np.array([seconds(point.time_from_start) for point in points], float)
    return TrajectoryMessage(
        _stamp_ns(message),
        list(message.joint_names),
        times,
        *(RaggedArray.of([getattr(point, name) for point in points]) for name in _FIELDS),
    )


def seconds(duration: Any) -> float:
    """Return a builtin_interfaces/Duration in seconds."""
    return float(duration.sec + duration.nanosec * 1e-9)


class _OtherEncodingError(ValueError):
    """The bytes are not in the encoding read by `_locate`."""


def _locate(data: bytes) -> tuple[bytes, np.ndarray]:
    """
    Walk through a serialized trajectory; raises IndexError if it is cut off.

    Returns the bytes before the point count, and (k, _FOUND) indices and counts for each point, in
    words from the end of the head.
    """
    if data[: len(NATIVE_HEAD)] != NATIVE_HEAD or len(data) < HEAD:
        raise _OtherEncodingError
    end = len(data) - (len(data) - HEAD) % _WORD
    words = memoryview(data)[HEAD:end].cast('I')
    # skip stamp, frame, names
    place = _after_text(words, 2)
    name_count, place = words[place], place + 1
    for _ in range(name_count):
        place = _after_text(words, place)
    head = data[: HEAD + _WORD * place]
    point_count, place = words[place], place + 1
    found = array('q')
    note = found.extend
    fields = range(len(_FIELDS))
    for _ in range(point_count):
        point: list[int] = []
        for _ in fields:
            count = words[place]
            place += 1
            if count:
                place += place & 1
            point += place, count
            place += 2 * count
        point.append(place)
        words[place + 1]  # IndexError if missing
        place += 2
        note(point)
    return head, np.frombuffer(found, np.int64).reshape(-1, _FOUND)


def _after_text(words: memoryview, place: int) -> int:
    """Return the word index after a text, which starts with its length in bytes."""
    return place + 1 + -(-words[place] // _WORD)


def _stamp_ns(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
