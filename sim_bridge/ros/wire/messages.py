"""
Messages serialized once, then rewritten in place.

Creating and filling a message object and serializing it in the middleware costs two to three times
as much as publishing prepared bytes. All messages in a tick have a fixed size. Each message here
is therefore serialized once, and its numbers are numpy views into those bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
import struct
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Transform, Twist
import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool

from sim_bridge.ros.wire.cdr import HEAD, serialize_cleanly

# in every message here, the stamp directly follows the CDR head
STAMP = slice(HEAD, HEAD + 8)

# searched for in the serialized bytes; no other message field can hold this number
_MARK = -2.7182818284590452e-301

NOT_ESTIMATED = -1.0

# frame for messages about the whole world
WORLD_FRAME = 'world'


def pack_stamp(time_ns: int) -> bytes:
    """Return a builtin_interfaces/Time as bytes."""
    return struct.pack('=iI', *divmod(time_ns, 1_000_000_000))


def unpack_stamp(stamp: bytes) -> Time:
    """Return the time message for bytes from `pack_stamp`."""
    sec, nanosec = struct.unpack('=iI', stamp)
    return Time(sec=sec, nanosec=nanosec)


class PreparedMessage:
    """A serialized message with rewritable stamp and float64 blocks."""

    def __init__(self, message: Any, block_sizes: tuple[int, ...]) -> None:
        """
        Serialize the message and find its blocks.

        message: its blocks are filled with consecutive `marks`, in order. block_sizes: number of
        values in each block.
        """
        data = serialize_cleanly(message)
        # Numbers are aligned to 8 bytes after the 4-byte head. The message starts at byte 4, so
        # that they are aligned in memory as well.
        words = np.zeros(len(data) // 8 + 2, np.int64)
        self.buffer = words.data.cast('B')[HEAD : HEAD + len(data)]
        self.buffer[:] = data
        self.stamp_word = words[1:2]
        """(1,) the stamp as one integer."""
        self._blocks = []
        first = 0
        for size in block_sizes:
            pattern = np.array(marks(first, size)).tobytes()
            offset = data.index(pattern) if size else 0
            self._blocks.append(np.frombuffer(self.buffer, dtype=float, count=size, offset=offset))
            first += size
        for block in self._blocks:
            block[:] = 0.0

    @property
    def blocks(self) -> list[np.ndarray]:
        """Blocks in order, as views into the message."""
        return self._blocks

    def stamped(self, stamp: bytes) -> bytes:
        """Return the current message with this stamp (see `pack_stamp`)."""
        self.buffer[STAMP] = stamp
        return bytes(self.buffer)

    def content(self) -> bytes:
        """Return the current message with its current stamp."""
        return bytes(self.buffer)


class UnstampedMessage(PreparedMessage):
    """A message without a header."""

    def __init__(self, message: Any, block_sizes: tuple[int, ...]) -> None:
        super().__init__(message, block_sizes)
        # unused stamp
        self.stamp_word = np.zeros(1, np.int64)

    def stamped(self, stamp: bytes) -> bytes:
        """Return the current message."""
        return self.content()


class FlagMessage(UnstampedMessage):
    """A std_msgs/Bool; its only block is (1,) bool."""

    def __init__(self) -> None:
        super().__init__(Bool(), ())
        self._blocks = [np.frombuffer(self.buffer, np.bool_, 1, HEAD)]


def marks(first: int, count: int) -> list[float]:
    """
    Return `count` placeholder numbers that occur nowhere else in a message.

    Their bytes show where the numbers lie in the serialized message.
    """
    return [_MARK * (1 + index) for index in range(first, first + count)]


class ClockMessage(PreparedMessage):
    """A rosgraph_msgs/Clock."""

    def __init__(self) -> None:
        super().__init__(Clock(), ())


class JointStateMessage(PreparedMessage):
    """A sensor_msgs/JointState with a fixed joint list: rad or m, rad/s or m/s, N m or N."""

    def __init__(self, names: list[str]) -> None:
        n = len(names)
        message = JointState(
            name=names, position=marks(0, n), velocity=marks(n, n), effort=marks(2 * n, n)
        )
        super().__init__(message, (n, n, n))
        self.position, self.velocity, self.effort = self._blocks


class EffortCommandMessage(PreparedMessage):
    """A sensor_msgs/JointState with efforts only, as accepted by joint_commands: N m or N."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(JointState(name=names, effort=marks(0, len(names))), (len(names),))
        (self.effort,) = self._blocks


class VelocityCommandMessage(PreparedMessage):
    """A sensor_msgs/JointState with velocities only: rad/s or m/s."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(JointState(name=names, velocity=marks(0, len(names))), (len(names),))
        (self.velocity,) = self._blocks


class PoseStateMessage(PreparedMessage):
    """
    A sensor_msgs/MultiDOFJointState with poses and twists for named objects.

    poses: (n, 7) position [m] and quaternion x y z w. twists: (n, 6) origin velocity [m/s],
    then angular velocity [rad/s]. All are expressed in world axes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        n = len(names)
        message = MultiDOFJointState(joint_names=list(names))
        message.header.frame_id = WORLD_FRAME
        for index in range(n):
            pose, twist = Transform(), Twist()
            p, q = pose.translation, pose.rotation
            p.x, p.y, p.z, q.x, q.y, q.z, q.w = marks(7 * index, 7)
            v, w = twist.linear, twist.angular
            v.x, v.y, v.z, w.x, w.y, w.z = marks(7 * n + 6 * index, 6)
            message.transforms.append(pose)
            message.twist.append(twist)
        super().__init__(message, (7 * n, 6 * n))
        self.poses, self.twists = self._blocks[0].reshape(n, 7), self._blocks[1].reshape(n, 6)


class FieldMessage(PreparedMessage):
    """
    A message with a header, and a block of numbers for each listed field.

    blocks: one per path, in order: (1,) for a number, (3,) for x, y, z, (4,) for x, y, z, w.
    """

    def __init__(
        self,
        message_type: type,
        frame_id: str,
        paths: Sequence[str],
        deviations: Mapping[str, np.ndarray | None],
    ) -> None:
        """
        Serialize the message.

        paths: field names, nested ones joined by dots. deviations: (n,) standard deviations for
        each covariance field, zeros for unknown; None: not measured by the sensor, then the first
        covariance element is -1 (REP 145).
        """
        message = message_type()
        message.header.frame_id = frame_id
        sizes: list[int] = []
        for path in paths:
            *outer, name = path.split('.')
            owner = reduce(getattr, outer, message)
            field = getattr(owner, name)
            if isinstance(field, float):
                size = 1
                setattr(owner, name, marks(sum(sizes), 1)[0])
            else:
                axes = [axis for axis in 'xyzw' if hasattr(field, axis)]
                size = len(axes)
                for axis, mark in zip(axes, marks(sum(sizes), size), strict=True):
                    setattr(field, axis, mark)
            sizes.append(size)
        for name, stddev in deviations.items():
            setattr(message, name, _covariance(stddev, getattr(message, name)))
        super().__init__(message, tuple(sizes))


def _covariance(stddev: np.ndarray | None, field: Any) -> Any:
    """Return a row-major (9,) covariance, or the variance if the field is one number."""
    if isinstance(field, float):
        return NOT_ESTIMATED if stddev is None else float(stddev[0]) ** 2
    if stddev is None:
        return [NOT_ESTIMATED] + [0.0] * 8
    return np.diag(np.square(stddev)).ravel().tolist()
