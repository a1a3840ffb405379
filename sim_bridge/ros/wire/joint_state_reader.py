"""Reading serialized joint states without creating a message object for each."""

from __future__ import annotations

from dataclasses import dataclass
import struct

import numpy as np
from sensor_msgs.msg import JointState

from sim_bridge.ros.wire.cdr import deserialize, HEAD, NATIVE_HEAD

# After the head comes the stamp.
_STAMP = struct.Struct('=iI')
_COUNT = struct.Struct('=I')
_FIELDS = ('position', 'velocity', 'effort')


@dataclass
class JointValues:
    """The contents of a joint state; the arrays are read-only views of the message."""

    time_ns: int
    frame_id: str
    names: list[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class JointStateReader:
    """
    Reads the serialized messages of a subscription made with `raw=True`.

    Successive messages of a publisher differ only in stamp and numbers. The first one is therefore
    parsed in full. While all other bits stay the same, the numbers are read from the same offsets.
    That takes a quarter of the time of a message object.
    """

    def __init__(self) -> None:
        """Start without a known message."""
        self.learnt = 0
        """How often a message was taken apart: what follows is alike until then."""
        self._length = -1
        self._constant: list[tuple[slice, bytes]] = []
        self._latest: list[tuple[slice, bytes]] = []
        self.blocks: list[tuple[int, int]] = []
        """Place and length of the lists of positions, velocities and efforts."""
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
        """Byte ranges that messages similar to the last one have in common, without padding."""
        return [at for at, _ in self._constant]

    def has_learnt(self, data: bytes) -> bool:
        """Return whether `blocks` are those of this message, which was read last."""
        return len(data) == self._length

    def _is_alike(self, data: bytes) -> bool:
        """Return whether a message differs from the parsed one only in stamp and numbers."""
        if len(data) != self._length:
            return False
        # most senders repeat the padding, too: then few comparisons tell, of all between numbers
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

    Returns the byte ranges of its texts and of the lengths of its lists, without the padding,
    which may have any value; and offset and length of its three lists of numbers.
    """
    constant = [slice(0, len(NATIVE_HEAD))]
    place = HEAD + _STAMP.size

    def count(size_of_item: int) -> int:
        """Skip the length of a list or text, and that many items if they need no padding."""
        nonlocal place
        place = _aligned(place, _COUNT.size)
        length = int(_COUNT.unpack_from(data, place)[0])
        start, place = place, place + _COUNT.size + length * size_of_item
        constant.append(slice(start, place))
        return length

    count(1)  # the frame
    for _ in range(count(0)):
        count(1)  # a name
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
