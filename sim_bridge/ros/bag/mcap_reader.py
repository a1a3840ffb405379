"""
Reader for one MCAP file from its beginning, without its summary, with a check for damage.

The maintained library `mcap` reads from the summary, or stops with a Python exception at a wrong
byte. This reader reads a file up to its first damage, even if its writer was killed, and reports
every damage with its byte offset.
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
    BEGUN,
    CHANNEL,
    CHUNK,
    DATA_END,
    ENDED,
    FOOTER,
    HEADER,
    MAGIC,
    MESSAGE,
    MESSAGE_INDEX,
    METADATA,
    RECORD,
    RECORDING,
    SCHEMA,
)

_ATTACHMENT = 0x09
# other opcodes in the specification cannot appear in the data section; later ones must be skipped
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

_MARK = len(RECORDING).to_bytes(4, 'little') + RECORDING.encode()
_BEGUN, _ENDED = (each['state'].encode() for each in (BEGUN, ENDED))

# larger chunks are not read; this package writes at most 16 MiB
_MOST_CHUNK_BYTES = 1 << 30


class Message(NamedTuple):
    """
    A message in a bag.

    time_ns: recording time [ns]. publish_ns: publish time [ns]; simulated time in recordings of
    this package.
    """

    topic: str
    type_name: str
    time_ns: int
    publish_ns: int
    data: bytes


def simulated_time(message: Message) -> Callable[[Message], int] | None:
    """
    Return a function for simulated message times [ns], or None. message: one of the first.

    Recordings of this package begin at 1 ns: in recording time or, if recording times count from
    1970, in publish time.
    """
    if message.time_ns == 1:
        return operator.attrgetter('time_ns')
    return operator.attrgetter('publish_ns') if message.publish_ns == 1 else None


class McapReader:
    """
    Reader for one file.

    count: messages read so far. has_begun, has_ended: whether a recording of this package began
    in the file, and ended in it, as far as read.
    """

    def __init__(self, path: Path) -> None:
        """Prepare to read a file; `messages` opens it."""
        self.path = path
        self.count = 0
        self.has_begun = self.has_ended = False
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}

    def messages(self) -> Iterator[Message]:
        """
        Yield all messages in the order written.

        Raises DamagedBagError after the last readable message, also for damage outside messages;
        ReplayError for a file in another format or an unreadable one.
        """
        try:
            with self.path.open('rb') as file:
                for at, opcode, body in self._records(file):
                    yield from self._messages_in(at, opcode, body)
        except OSError as err:
            raise ReplayError(f'bag {str(self.path)!r} cannot be read: {err.strerror}') from err

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
        """Yield each record's offset, opcode and content in the data section."""
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            if MAGIC.startswith(magic):
                raise self._cut_off(size, 'the magic bytes of MCAP', 0)
            raise ReplayError(
                f'bag {str(self.path)!r}: not an MCAP file, or damaged at byte 0: it begins with '
                f'{magic!r}, expected {MAGIC!r}'
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
                    at, f'the record at byte {at} has opcode {opcode}, invalid in the data section'
                )
            if length > size - at - RECORD.size:
                if has_end:
                    raise self._damage(
                        at,
                        f'the {name} at byte {at} claims {length} bytes, but only '
                        f'{size - at - RECORD.size} follow',
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
        """Check the record ending the data at an offset, and the following summary."""
        if len(body) != _CRC.size:
            raise self._damage(
                at, f'the end of the data at byte {at} has {len(body)} bytes, expected 4'
            )
        (expected,) = _CRC.unpack(body)
        if expected not in (0, checksum):
            raise self._damage(
                at,
                f'the data, bytes 0 to {at}, fails its CRC: the damage is outside the chunks, or '
                'in the head of a chunk',
                is_last=True,
            )
        start = at + RECORD.size + len(body)
        least = _FOOTER.size + len(MAGIC)
        if not summary.endswith(MAGIC) or len(summary) < least:
            raise self._cut_off(size, 'the summary', start)
        opcode, length, _, _, expected = _FOOTER.unpack(summary[-least : -len(MAGIC)])
        if opcode != FOOTER or length != _FOOTER.size - RECORD.size:
            raise self._damage(
                size - least, f'the footer at byte {size - least} is invalid', is_last=True
            )
        if expected not in (0, zlib.crc32(summary[: -len(MAGIC) - _CRC.size])):
            raise self._damage(start, f'the summary at byte {start} fails its CRC', is_last=True)

    def _messages_in(self, at: int, opcode: int, body: bytes) -> Iterator[Message]:
        """Yield the messages in a record at an offset in the file."""
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
                        f'the chunk at byte {at} declares messages from {first} to {last} ns, '
                        f'but holds one at {message.time_ns} ns',
                    )
                yield message
            place += length

    def _content(self, at: int, body: bytes) -> tuple[int, int, bytes]:
        """Return the times of a chunk's first and last message, and its records."""
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
        except Exception as err:  # type depends on the package
            raise self._damage(
                at, f'the chunk at byte {at} cannot be decompressed: {brief(err)}'
            ) from err
        if expected not in (0, zlib.crc32(content)):
            raise self._damage(at, f'the chunk at byte {at} fails its CRC')
        if len(content) != size:
            raise self._damage(
                at,
                f'the chunk at byte {at} claims {size} bytes of records, but has {len(content)}',
            )
        return first, last, content

    def _parsed(self, at: int, opcode: int, body: bytes) -> Message | None:
        """Return the message in a record; None for other records; note channels and schemas."""
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
            elif opcode == METADATA and body.startswith(_MARK):
                self.has_begun |= body.endswith(_BEGUN)
                self.has_ended |= body.endswith(_ENDED)
        except (struct.error, UnicodeDecodeError) as err:
            name = _NAMES[opcode]
            raise self._damage(at, f'invalid {name} in the record at byte {at}: {err}') from err
        except KeyError as err:
            raise self._damage(
                at,
                f'a message in the record at byte {at} belongs to channel {err}, which is not '
                'defined before it',
            ) from err
        return None

    def _damage(self, at: int, problem: str, is_last: bool = False) -> DamagedBagError:
        messages = counted(self.count, 'message')
        readable = (
            f'all of its {messages} can be read, and `ros2 bag reindex` or `mcap '
            'recover` repair the rest'
            if is_last
            else f'the {messages} before it can be read; `mcap recover` keeps the undamaged part'
        )
        return DamagedBagError(self.path, at, problem, readable)

    def _cut_off(self, size: int, part: str, at: int) -> DamagedBagError:
        return DamagedBagError(
            self.path,
            size,
            f'truncated at byte {size}, within {part} that begins at byte {at}',
            f'the {counted(self.count, "message")} before it can be read',
            is_cut_off=True,
        )


def _text(data: bytes, place: int) -> tuple[str, int]:
    """Return a string and its end offset; raises struct.error or UnicodeDecodeError."""
    (length,) = struct.unpack_from('<I', data, place)
    end = place + 4 + length
    if end > len(data):
        raise struct.error(f'a text of {length} bytes, of which {len(data) - place - 4} exist')
    return data[place + 4 : end].decode(), end
