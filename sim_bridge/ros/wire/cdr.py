"""
Serialized messages: incoming ones, which may be invalid, and outgoing ones, with zeroed padding.

The middleware leaves old memory contents in the padding between fields. They have no meaning, but
make the messages and bags from equal runs differ.
"""

from __future__ import annotations

from functools import cache
import re
import sys
from typing import Any, Literal

from rclpy.serialization import deserialize_message, serialize_message

from sim_bridge.foundation.errors import MalformedMessageError
from sim_bridge.ros.wire.message_types import message_class

# The CDR head has four bytes: two for encoding and byte order, two unused. Numbers are aligned to
# multiples of their size, counted from the head's end.
HEAD = 4
NATIVE_HEAD = b'\x00\x01' if sys.byteorder == 'little' else b'\x00\x00'
_NATIVE_HEADS = (b'\x00\x00', b'\x00\x01')
_SIZES = {
    'boolean': 1,
    'octet': 1,
    'char': 1,
    'uint8': 1,
    'int8': 1,
    'uint16': 2,
    'int16': 2,
    'uint32': 4,
    'int32': 4,
    'float': 4,
    'uint64': 8,
    'int64': 8,
    'double': 8,
}
_MANY = re.compile(r'sequence<(?P<item>.+?)(?:, \d+)?>$|(?P<of>.+)\[(?P<count>\d+)\]$')


def deserialize(data: bytes, kind: type) -> Any:
    """Return a message object; raises MalformedMessageError for bytes in another layout."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, MemoryError, ValueError) as err:  # RuntimeError: base class in rclpy
        package = kind.__module__.split('.')[0]
        reason = str(err).split('\n')[0] or type(err).__name__
        raise MalformedMessageError(f'{package}/{kind.__name__}', len(data), reason) from err


def serialize_cleanly(message: Any) -> bytes:
    """Serialize a message, with zeros as padding and no bytes after its end."""
    data = serialize_message(message)
    if data[:2] not in _NATIVE_HEADS:
        return data  # another encoding than plain CDR
    walk = _Walk(data)
    walk.message(type(message))
    # the middleware allots room for padding that may not be needed
    return bytes(walk.clean[: walk.place])


class _Walk:
    """A pass through the fields of a serialized message, with a copy of their data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._order: Literal['little', 'big'] = 'little' if data[1] else 'big'
        self.place = HEAD
        self.clean = bytearray(len(data))
        self.clean[:HEAD] = data[:HEAD]

    def message(self, kind: type) -> None:
        for item, count in _fields(kind):
            self._items(item, self._number() if count is None else count)

    def _items(self, item: str, count: int) -> None:
        """Copy `count` items. item: name of their type."""
        uniform = _uniform(item)
        if uniform is not None:
            size, each = uniform
            self._copy(size, each * count)
        elif item.startswith('string'):
            for _ in range(count):
                length = self._number()
                self._copy(1, length - 1)
                self.place += 1  # terminating zero
        else:
            kind = message_class(item)
            for _ in range(count):
                self.message(kind)

    def _number(self) -> int:
        """Read the length that precedes a sequence or string."""
        start = self._copy(4, 1)
        return int.from_bytes(self._data[start : start + 4], self._order)

    def _copy(self, size: int, count: int) -> int:
        """Copy items aligned to their size; return the offset of the first one."""
        if count:
            self.place += (HEAD - self.place) % size
        start, self.place = self.place, self.place + size * count
        self.clean[start : self.place] = self._data[start : self.place]
        return start


@cache
def _fields(kind: Any) -> tuple[tuple[str, int | None], ...]:
    """Return type and item count of each message field; None if the bytes contain the count."""
    found: list[tuple[str, int | None]] = []
    for field in kind.get_fields_and_field_types().values():
        many = _MANY.match(field)
        if many is None:
            found.append((field, 1))
        else:
            count = int(many['count']) if many['count'] else None
            found.append((many['item'] or many['of'], count))
    return tuple(found)


@cache
def _uniform(item: str) -> tuple[int, int] | None:
    """Return size and count for the numbers in an item, None if their sizes differ."""
    if item in _SIZES:
        return _SIZES[item], 1
    if item.startswith(('string', 'wstring')):
        return None
    size, total = None, 0
    for part, count in _fields(message_class(item)):
        inner = _uniform(part)
        if count is None or inner is None or inner[0] != (size or inner[0]):
            return None
        size, total = inner[0], total + inner[1] * count
    return None if size is None else (size, total)
