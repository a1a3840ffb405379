"""
Reading one MCAP file from its beginning, without its summary, and proving that it is whole.

The maintained library `mcap` reads by the summary, or stops with an exception of Python where a
byte is wrong. Here a file is read as far as it is whole, also that of a writer that was killed,
and every damage is told by its byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import operator
import os
from pathlib import Path
import struct
from typing import BinaryIO, NamedTuple
import zlib

from sim_bridge.foundation.errors import (
    brief,
    DamagedBagError,
    MissingPackageError,
    ReplayError,
    UnknownNameError,
)
from sim_bridge.foundation.names import counted
from sim_bridge.ros.bag.compression import codec
from sim_bridge.ros.bag.mcap_file import (
    CHANNEL,
    CHUNK,
    DATA_END,
    FOOTER,
    HEADER,
    MAGIC,
    MESSAGE,
    MESSAGE_INDEX,
    METADATA,
    RECORD,
    SCHEMA,
)

_ATTACHMENT = 0x09
# others of the specification have no place in the data section; later ones must be skipped
_NAMES = {
    HEADER: 'header',
    SCHEMA: 'schema',
    CHANNEL: 'channel',
    MESSAGE: 'message',
    CHUNK: 'chunk',
    MESSAGE_INDEX: 'message index',
    _ATTACHMENT: 'attachment',
    METADATA: 'metadata record',
    DATA_END: 'end of the data',
}
_FIRST_UNKNOWN = 0x10

_MESSAGE = struct.Struct('<HIQQ')
_CHUNK = struct.Struct('<QQQI')
_CRC = struct.Struct('<I')
_FOOTER = struct.Struct('<BQQQI')

# larger chunks are not read; ours have at most 16 MiB
_MOST_CHUNK_BYTES = 1 << 30


class Message(NamedTuple):
    """
    A message in a bag.

    time_ns: recording time [ns]. publish_ns: time at which it was published [ns]; of our
    recordings simulated time.
    """

    topic: str
    type_name: str
    time_ns: int
    publish_ns: int
    data: bytes


def simulated_time(message: Message) -> Callable[[Message], int] | None:
    """
    Return what gives the simulated time [ns] of messages, by one of the first; None for nothing.

    Our recordings begin at 1 ns, which is their recording time, or with times since 1970 their
    time of publishing.
    """
    if message.time_ns == 1:
        return operator.attrgetter('time_ns')
    return operator.attrgetter('publish_ns') if message.publish_ns == 1 else None


class McapReader:
    """One file; `count` tells how many messages were read."""

    def __init__(self, path: Path) -> None:
        """Prepare to read a file, which is opened by `messages`."""
        self.path = path
        self.count = 0
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}

    def messages(self) -> Iterator[Message]:
        """
        Yield all messages in the order they were written.

        Raises DamagedBagError after the last one that can be read, also if only what is no message
        is damaged; ReplayError for what is no MCAP file or cannot be read.
        """
        try:
            with self.path.open('rb') as file:
                for at, opcode, body in self._records(file):
                    yield from self._messages_in(at, opcode, body)
        except OSError as err:
            raise ReplayError(f'bag {str(self.path)!r} cannot be read: {err.strerror}') from err

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
        """Yield offset, opcode and content of each record of the data section."""
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            if MAGIC.startswith(magic):
                raise self._cut_off(size, 'the magic bytes of MCAP', 0)
            raise ReplayError(
                f'bag {str(self.path)!r}: this is no MCAP file, or is damaged at byte 0: it '
                f'begins with {magic!r}, expected {MAGIC!r}'
            )
        file.seek(-len(MAGIC), os.SEEK_END)
        has_end = size > len(MAGIC) and file.read() == MAGIC
        at = file.seek(len(MAGIC))
        checksum = zlib.crc32(magic)
        while True:
            head = file.read(RECORD.size)
            if len(head) < RECORD.size:
                if has_end:
                    raise self._damage(at, f'the data has no end before byte {at}')
                raise self._cut_off(size, 'a record', at)
            opcode, length = RECORD.unpack(head)
            name = _NAMES.get(opcode, 'record')
            if opcode not in _NAMES and opcode < _FIRST_UNKNOWN:
                raise self._damage(
                    at, f'the record at byte {at} has opcode {opcode}, which data has not'
                )
            if length > size - at - RECORD.size:
                if has_end:
                    raise self._damage(
                        at,
                        f'the {name} at byte {at} claims {length} bytes, of which '
                        f'{size - at - RECORD.size} are there',
                    )
                raise self._cut_off(size, f'the {name}', at)
            body = file.read(length)
            if opcode == DATA_END:
                break
            checksum = zlib.crc32(body, zlib.crc32(head, checksum))
            yield at, opcode, body
            at += RECORD.size + length
        self._check_end(at, body, checksum, file.read(), size)

    def _check_end(self, at: int, body: bytes, checksum: int, summary: bytes, size: int) -> None:
        """Check the record that ends the data at an offset, and the summary that follows."""
        if len(body) != _CRC.size:
            raise self._damage(
                at, f'the end of the data at byte {at} has {len(body)} bytes, expected 4'
            )
        (expected,) = _CRC.unpack(body)
        if expected not in (0, checksum):
            raise self._damage(
                at,
                f'the data, bytes 0 to {at}, fails its CRC: what is damaged is in no chunk, '
                'or in the head of one',
                is_last=True,
            )
        start = at + RECORD.size + len(body)
        least = _FOOTER.size + len(MAGIC)
        if not summary.endswith(MAGIC) or len(summary) < least:
            raise self._cut_off(size, 'the summary', start)
        opcode, length, _, _, expected = _FOOTER.unpack(summary[-least : -len(MAGIC)])
        if opcode != FOOTER or length != _FOOTER.size - RECORD.size:
            raise self._damage(
                size - least, f'the footer at byte {size - least} is none', is_last=True
            )
        if expected not in (0, zlib.crc32(summary[: -len(MAGIC) - _CRC.size])):
            raise self._damage(start, f'the summary at byte {start} fails its CRC', is_last=True)

    def _messages_in(self, at: int, opcode: int, body: bytes) -> Iterator[Message]:
        """Yield the messages of a record at an offset in the file."""
        if opcode != CHUNK:
            message = self._parsed(at, opcode, body)
            if message is not None:
                yield message
            return
        first, last, content = self._content(at, body)
        place, size = 0, len(content)
        while place < size:
            if size - place < RECORD.size:
                raise self._damage(at, f'the chunk at byte {at} ends within a record')
            inner, length = RECORD.unpack_from(content, place)
            place += RECORD.size
            if length > size - place:
                raise self._damage(at, f'the chunk at byte {at} ends within a record')
            message = self._parsed(at, inner, content[place : place + length])
            if message is not None:
                if not first <= message.time_ns <= last:
                    raise self._damage(
                        at,
                        f'the chunk at byte {at} is said to hold messages of {first} to '
                        f'{last} ns, and holds one of {message.time_ns} ns',
                    )
                yield message
            place += length

    def _content(self, at: int, body: bytes) -> tuple[int, int, bytes]:
        """Return the times of the first and last message of a chunk, and its records."""
        try:
            first, last, size, expected = _CHUNK.unpack_from(body)
            compression, place = _text(body, _CHUNK.size)
            (stored,) = struct.unpack_from('<Q', body, place)
        except (struct.error, UnicodeDecodeError) as err:
            raise self._damage(at, f'the chunk at byte {at} has no head: {err}') from err
        content = body[place + 8 :]
        if stored != len(content) or size > _MOST_CHUNK_BYTES:
            raise self._damage(
                at,
                f'the chunk at byte {at} claims {stored} bytes, {size} before compression; '
                f'there are {len(content)}, and at most {_MOST_CHUNK_BYTES} are read',
            )
        try:
            content = codec(compression).decompress(content, size + 1)
        except UnknownNameError as err:
            raise self._damage(at, f'the chunk at byte {at}: {err}') from err
        except MissingPackageError as err:
            raise ReplayError(f'bag {str(self.path)!r}: {err}') from err
        except Exception as err:  # of whichever package
            raise self._damage(
                at, f'the chunk at byte {at} cannot be decompressed: {brief(err)}'
            ) from err
        if expected not in (0, zlib.crc32(content)):
            raise self._damage(at, f'the chunk at byte {at} fails its CRC')
        if len(content) != size:
            raise self._damage(
                at,
                f'the chunk at byte {at} claims {size} bytes of records, and has {len(content)}',
            )
        return first, last, content

    def _parsed(self, at: int, opcode: int, body: bytes) -> Message | None:
        """Return the message in a record; None for others, of which channels are noted."""
        try:
            if opcode == MESSAGE:
                channel, _, time_ns, publish_ns = _MESSAGE.unpack_from(body)
                message = Message(
                    *self._channels[channel], time_ns, publish_ns, body[_MESSAGE.size :]
                )
                self.count += 1
                return message
            if opcode == SCHEMA:
                self._schemas[int.from_bytes(body[:2], 'little')] = _text(body, 2)[0]
            elif opcode == CHANNEL:
                number, schema = struct.unpack_from('<HH', body)
                self._channels[number] = _text(body, 4)[0], self._schemas.get(schema, '')
        except (struct.error, UnicodeDecodeError) as err:
            name = _NAMES[opcode]
            raise self._damage(at, f'a {name} in the record at byte {at} is none: {err}') from err
        except KeyError as err:
            raise self._damage(
                at,
                f'a message in the record at byte {at} is of channel {err}, of which there is '
                'none before it',
            ) from err
        return None

    def _damage(self, at: int, problem: str, is_last: bool = False) -> DamagedBagError:
        messages = counted(self.count, 'message')
        readable = (
            f'all of its {messages} can be read, and `ros2 bag reindex` or `mcap '
            'recover` mend the rest'
            if is_last
            else f'the {messages} before it can be read; `mcap recover` keeps what is whole'
        )
        return DamagedBagError(self.path, at, problem, readable)

    def _cut_off(self, size: int, what: str, at: int) -> DamagedBagError:
        return DamagedBagError(
            self.path,
            size,
            f'truncated at byte {size}, within {what} that begins at byte {at}',
            f'the {counted(self.count, "message")} before it can be read',
            is_cut_off=True,
        )


def _text(data: bytes, place: int) -> tuple[str, int]:
    """Return a string and the offset of its end; raises struct.error or UnicodeDecodeError."""
    (length,) = struct.unpack_from('<I', data, place)
    end = place + 4 + length
    if end > len(data):
        raise struct.error(f'a text of {length} bytes, of which {len(data) - place - 4} are there')
    return data[place + 4 : end].decode(), end
