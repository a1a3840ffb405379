"""Reader for serialized joint states, without a message object for each."""

from __future__ import annotations

from dataclasses import dataclass
import struct

import numpy as np
from sensor_msgs.msg import JointState

from sim_bridge.ros.wire.cdr import deserialize, HEAD, NATIVE_HEAD

# the stamp follows the CDR head
_STAMP = struct.Struct('=iI')
_COUNT = struct.Struct('=I')
_FIELDS = ('position', 'velocity', 'effort')


@dataclass
class JointValues:
    """Joint state contents; the arrays are read-only views into the message."""

    time_ns: int
    frame_id: str
    names: list[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class JointStateReader:
    """
    Reader for serialized messages from a subscription made with `raw=True`.

    Successive messages from one publisher differ only in stamp and numbers. The first one is
    therefore parsed in full. While all other bits stay the same, the numbers are read from the
    same offsets. This takes a quarter as long as creating a message object.
    """

    def __init__(self) -> None:
        """Start without a known message."""
        self.learnt = 0
        """Full parses so far; messages have the same layout until this number increases."""
        self._length = -1
        self._constant: list[tuple[slice, bytes]] = []
        self._latest: list[tuple[slice, bytes]] = []
        self.blocks: list[tuple[int, int]] = []
        """Offset [bytes] and item count for the position, velocity and effort lists."""
        self._frame_id = ''
        self._names: list[str] = []

    def read(self, data: bytes) -> JointValues:
        """Return the contents of a serialized JointState; raises MalformedMessageError."""
        if not self._is_alike(data):
            message = deserialize(data, JointState)
            if not self._learn(data, message):
                values = [np.array(getattr(message, field)) for field in _FIELDS]
                stamp = message.header.stamp
                return JointValues(
                    _time_ns(stamp.sec, stamp.nanosec),
                    message.header.frame_id,
                    list(message.name),
                    *values,
                )
        values = [np.frombuffer(data, float, count, offset) for offset, count in self.blocks]
        time_ns = _time_ns(*_STAMP.unpack_from(data, HEAD))
        return JointValues(time_ns, self._frame_id, self._names, *values)

    @property
    def same(self) -> list[slice]:
        """Byte ranges equal in messages with the last one's layout, without padding."""
        return [at for at, _ in self._constant]

    def has_learnt(self, data: bytes) -> bool:
        """Return whether `blocks` belong to this message, the last one read."""
        return len(data) == self._length

    def _is_alike(self, data: bytes) -> bool:
        """Return whether a message differs from the parsed one only in stamp and numbers."""
        if len(data) != self._length:
            return False
        # Most senders repeat the padding, too. Then few comparisons suffice: one for each range
        # between two number blocks.
        for at, same in self._latest:
            if data[at] != same:
                break
        else:
            return True
        if any(data[at] != same for at, same in self._constant):
            return False
        self._latest = [(at, data[at]) for at, _ in self._latest]
        return True

    def _learn(self, data: bytes, message: JointState) -> bool:
        """Store the offsets in a message; return whether its contents are as expected."""
        self._length = -1
        self.learnt += 1
        if data[: len(NATIVE_HEAD)] != NATIVE_HEAD:
            return False
        constant, blocks = _locate(data)
        for (offset, count), field in zip(blocks, _FIELDS, strict=True):
            if data[offset : offset + 8 * count] != getattr(message, field).tobytes():
                return False
        self._constant = [(at, data[at]) for at in constant]
        ends = [HEAD + _STAMP.size, *(offset + 8 * count for offset, count in blocks)]
        starts = [*(offset for offset, _ in blocks), len(data)]
        between = [slice(0, HEAD), *map(slice, ends, starts)]
        self._latest = [(at, data[at]) for at in between if at.start < at.stop]
        self.blocks, self._names, self._length = blocks, list(message.name), len(data)
        self._frame_id = message.header.frame_id
        return True


def _locate(data: bytes) -> tuple[list[slice], list[tuple[int, int]]]:
    """
    Walk through a serialized joint state.

        Returns the byte ranges for its texts and list lengths, without the padding, whose value is
        arbitrary; and offset and length for its three number lists.
    """
    constant = [slice(0, len(NATIVE_HEAD))]
    place = HEAD + _STAMP.size

    def count(size_of_item: int) -> int:
        """Skip a list's or text's length, and the items if they need no padding."""
        nonlocal place
        place = _aligned(place, _COUNT.size)
        length = int(_COUNT.unpack_from(data, place)[0])
        start, place = place, place + _COUNT.size + length * size_of_item
        constant.append(slice(start, place))
        return length

    count(1)  # frame
    for _ in range(count(0)):
        count(1)  # joint name
    blocks = []
    for _ in _FIELDS:
        length = count(0)
        place = _aligned(place, 8) if length else place
        blocks.append((place, length))
        place += 8 * length
    return constant, blocks


def _aligned(place: int, size: int) -> int:
    return place + (HEAD - place) % size


def _time_ns(sec: int, nanosec: int) -> int:
    return sec * 1_000_000_000 + nanosec
