"""
Writer for MCAP files according to the format's specification; files are complete at any time.

The maintained library `mcap` on PyPI needs 7.5 us per message. With six topics at 1 kHz, this
limits a recording to 20 times real time even without simulation. It also cannot undo a partial
write, as necessary when a disk is full. Here a message costs 1.2 us, and every chunk is followed
by the summary that ends a file. The next chunk overwrites the summary. A reader therefore finds a
complete file whenever the writer is killed, except during a write, and a failed write leaves all
data of earlier writes intact. The summary grows by one entry per chunk. Long recordings must use
larger chunks, chosen by `summary_size`, or the summaries would cost more than the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import contextlib
import errno
import operator
import os
from pathlib import Path
import struct
import zlib

import numpy as np

from sim_bridge.ros.bag.compression import codec, NONE

MAGIC = b'\x89MCAP0\r\n'

_Bytes = bytes | bytearray | memoryview

# record opcodes
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0C, 0x0D, 0x0E, 0x0F

RECORDING = 'sim_bridge_recording'
"""Name of the metadata records with which a recording begins and ends."""
BEGUN, ENDED = {'state': 'begun'}, {'state': 'ended'}

RECORD = struct.Struct('<BQ')
# record opcode and length, then channel, sequence number, recording time, publish time
MESSAGE_HEAD = np.dtype(
    [
        ('opcode', 'u1'),
        ('length', '<u8'),
        ('channel', '<u2'),
        ('number', '<u4'),
        ('log', '<u8'),
        ('publish', '<u8'),
    ]
)
_PACK_HEAD = struct.Struct('<BQHIQQ').pack
_AFTER_LENGTH = MESSAGE_HEAD.itemsize - RECORD.size
_head_of = operator.itemgetter(slice(MESSAGE_HEAD.itemsize))
# largest sequence number; the next one is 0
_MOST_NUMBER = 0xFFFFFFFF

# Number of messages joined at once: meanwhile no other thread gets the interpreter, not even the
# physics thread.
_PORTION = 1000

# most pieces written at once by Linux
_MOST_PIECES = 1024


def message_record(
    channel: int, number: int, time_ns: int, data: bytes, publish_ns: int | None = None
) -> bytes:
    """
    Return a message in the file's format.

    channel: from `add_channel`. number: sequence number within the channel. time_ns: recording
    time [ns]. publish_ns: publish time [ns]; None for the recording time.
    """
    head = _PACK_HEAD(
        MESSAGE,
        _AFTER_LENGTH + len(data),
        channel,
        number & _MOST_NUMBER,
        time_ns,
        time_ns if publish_ns is None else publish_ns,
    )
    return head + data


def log_times(records: Sequence[bytes]) -> np.ndarray:
    """Return the messages' recording times [ns]."""
    return np.frombuffer(b''.join(map(_head_of, records)), MESSAGE_HEAD)['log']


class ChangedFileError(OSError):
    """A file was removed or changed by another program after its last write."""

    def __init__(self, path: Path, change: str) -> None:
        """Build the message; change: verb phrase with the file's name."""
        super().__init__(errno.EIO, f'another program {change}', os.fspath(path))


def check_size(path: Path, size: int) -> None:
    """Raise ChangedFileError unless a file exists with its written size [bytes]."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise ChangedFileError(path, f'removed or moved {path.name}') from None
    if found != size:
        raise ChangedFileError(path, f'changed {path.name} from {size} to {found} bytes')


class McapFile:
    """
    A file growing chunk by chunk.

    Channels and schemas may be added at any time; they are written with the next chunk. After an
    OSError, the file is as it was after the last chunk. A file changed by another program is
    left alone: ChangedFileError.
    """

    def __init__(self, path: Path, library: str, compression: str = NONE) -> None:
        """
        Create a new file; raises OSError, also if it exists.

        library: writer name. compression: of chunks (see `codec`, whose errors it raises).
        """
        self.path = path
        self._compression, self._compress = compression, codec(compression).compress
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, 'O_CLOEXEC', 0)
        self._descriptor = os.open(path, flags, 0o644)
        self._end = 0  # end offset for chunks and metadata; the summary follows
        self._data_checksum = 0  # for all bytes before the end
        self._schemas: list[bytes] = []
        self._channels: list[bytes] = []
        self._pending = b''  # schemas and channels not in any chunk yet
        self._chunk_indexes = bytearray()
        self._metadata_indexes = bytearray()
        self._chunk_count = self._metadata_count = 0
        self.counts: list[int] = []
        self.first_ns = self.last_ns = 0
        self.summary_size = 0
        """Bytes after the data, rewritten with every chunk."""
        self.file_size = 0
        """Bytes in the file after the last write, successful or not."""
        try:
            self._write([MAGIC, _record(HEADER, _text('ros2') + _text(library))])
        except OSError:
            self.close()
            raise

    def check(self) -> None:
        """Raise ChangedFileError if the file is no longer as written."""
        check_size(self.path, self.file_size)

    def add_channel(
        self, topic: str, type_name: str, definition: str, metadata: Mapping[str, str]
    ) -> int:
        """
        Add a topic with CDR messages; return its channel number.

        definition: full type definition, as .msg texts with a heading before each nested type.
        """
        schema = _schema_body(type_name, definition)
        if schema in self._schemas:
            number = self._schemas.index(schema) + 1
        else:
            self._schemas.append(schema)
            number = len(self._schemas)
            self._pending += _record(SCHEMA, struct.pack('<H', number) + schema)
        channel = len(self._channels) + 1
        body = struct.pack('<HH', channel, number) + _text(topic) + _text('cdr') + _map(metadata)
        self._channels.append(_record(CHANNEL, body))
        self._pending += self._channels[-1]
        self.counts.append(0)
        return channel

    def add_chunk(self, records: Sequence[bytes]) -> None:
        """Write messages (see `message_record`) in order, and complete the file again."""
        if not records:
            return
        self.check()
        contents: list[_Bytes] = [self._pending]
        heads = []
        for start in range(0, len(records), _PORTION):
            portion = records[start : start + _PORTION]
            contents.append(b''.join(portion))
            heads.append(b''.join(map(_head_of, portion)))
        messages = np.frombuffer(b''.join(heads), MESSAGE_HEAD)
        channels, times = messages['channel'], messages['log']
        sizes = messages['length'] + np.uint64(RECORD.size)
        offsets = np.uint64(len(self._pending)) + np.cumsum(sizes) - sizes
        size = sum(map(len, contents))

        checksum = _checksum(contents)
        if self._compression:
            contents = [self._compress(b''.join(contents))]
        stored = sum(map(len, contents))

        first, last = int(times.min()), int(times.max())
        head = b''.join(
            (
                struct.pack('<QQQI', first, last, size, checksum),
                _text(self._compression),
                struct.pack('<Q', stored),
            )
        )
        record = [RECORD.pack(CHUNK, len(head) + stored), head, *contents]
        length = sum(map(len, record))
        indexes, places = [], []
        at = self._end + length
        present, counts = (each.tolist() for each in np.unique(channels, return_counts=True))
        for channel in present:
            chosen = channels == channel
            listing = np.column_stack((times[chosen], offsets[chosen])).astype('<u8').tobytes()
            indexes.append(
                _record(MESSAGE_INDEX, struct.pack('<HI', channel, len(listing)) + listing)
            )
            places.append(struct.pack('<HQ', channel, at))
            at += len(indexes[-1])
        listing = b''.join(places)
        chunk_index = _record(
            CHUNK_INDEX,
            b''.join(
                (
                    struct.pack('<QQQQI', first, last, self._end, length, len(listing)),
                    listing,
                    struct.pack('<Q', at - self._end - length),
                    _text(self._compression),
                    struct.pack('<QQ', stored, size),
                )
            ),
        )

        before = list(self.counts), self.first_ns, self.last_ns, self._chunk_count
        for channel, count in zip(present, counts, strict=True):
            self.counts[channel - 1] += count
        self.first_ns = min(first, self.first_ns) if self._chunk_count else first
        self.last_ns = max(last, self.last_ns)
        self._chunk_count += 1
        self._chunk_indexes += chunk_index
        try:
            self._write([*record, b''.join(indexes)])
        except OSError:
            del self._chunk_indexes[-len(chunk_index) :]
            self.counts, self.first_ns, self.last_ns, self._chunk_count = before
            self._mend()
            raise
        self._pending = b''

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a metadata record after all chunks, and complete the file again."""
        self.check()
        record = _record(METADATA, _text(name) + _map(values))
        self._metadata_count += 1
        index = _record(METADATA_INDEX, struct.pack('<QQ', self._end, len(record)) + _text(name))
        self._metadata_indexes += index
        try:
            self._write([record])
        except OSError:
            self._metadata_count -= 1
            del self._metadata_indexes[-len(index) :]
            self._mend()
            raise

    def close(self) -> None:
        """Close the file, which is already complete."""
        os.close(self._descriptor)

    @property
    def message_count(self) -> int:
        """Message count in the file."""
        return sum(self.counts)

    @property
    def size(self) -> int:
        """File size without the summary [bytes]."""
        return self._end

    def _write(self, pieces: Sequence[_Bytes]) -> None:
        """Append the pieces of one record and a summary; an OSError leaves neither in the file."""
        end = self._end + sum(map(len, pieces))
        checksum = _checksum(pieces, self._data_checksum)
        summary = self._summary(end, checksum)
        pieces = [*pieces, *summary]
        try:
            # readers recover a file without a summary as truncated; they would take a file with a
            # half-overwritten one for complete
            os.ftruncate(self._descriptor, self._end)
            _write_all(self._descriptor, pieces, self._end)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            self.file_size = os.fstat(self._descriptor).st_size
            raise
        self._end, self._data_checksum = end, checksum
        size = sum(map(len, summary))
        self.summary_size, self.file_size = size, end + size

    def _mend(self) -> None:
        """Restore the summary after a failed write; it fitted on the disk before."""
        with contextlib.suppress(OSError):
            _write_all(self._descriptor, self._summary(self._end, self._data_checksum), self._end)
        self.file_size = os.fstat(self._descriptor).st_size

    def _summary(self, start: int, checksum: int) -> list[_Bytes]:
        """Return all bytes after the data. start: the data's end. checksum: the data's CRC-32."""
        data_end = _record(DATA_END, struct.pack('<I', checksum))
        start += len(data_end)
        schemas = b''.join(
            _record(SCHEMA, struct.pack('<H', number) + body)
            for number, body in enumerate(self._schemas, 1)
        )
        counts = b''.join(
            struct.pack('<HQ', channel, count) for channel, count in enumerate(self.counts, 1)
        )
        statistics = _record(
            STATISTICS,
            b''.join(
                (
                    struct.pack(
                        '<QHIIIIQQI',
                        self.message_count,
                        len(self._schemas),
                        len(self._channels),
                        0,
                        self._metadata_count,
                        self._chunk_count,
                        self.first_ns,
                        self.last_ns,
                        len(counts),
                    ),
                    counts,
                )
            ),
        )
        groups: dict[int, _Bytes] = {
            SCHEMA: schemas,
            CHANNEL: b''.join(self._channels),
            STATISTICS: statistics,
            # the largest part in a long file, therefore not copied
            CHUNK_INDEX: self._chunk_indexes,
            METADATA_INDEX: self._metadata_indexes,
        }
        at, offsets = start, []
        for opcode, group in groups.items():
            if group:
                offsets.append(
                    _record(SUMMARY_OFFSET, struct.pack('<BQQ', opcode, at, len(group)))
                )
            at += len(group)
        footer = RECORD.pack(FOOTER, 20) + struct.pack('<QQ', start, at)
        body: list[_Bytes] = [*groups.values(), *offsets, footer]
        return [data_end, *body, struct.pack('<I', _checksum(body)), MAGIC]


def _checksum(pieces: Sequence[_Bytes], checksum: int = 0) -> int:
    """Return the CRC-32 for pieces, continued from the given checksum."""
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return checksum


def _write_all(descriptor: int, pieces: Sequence[_Bytes], place: int) -> None:
    """Write at an offset; also raises OSError if space runs out after a partial write."""
    left = sum(map(len, pieces))
    while left:
        written = os.pwritev(descriptor, pieces[:_MOST_PIECES], place)
        left, place = left - written, place + written
        if left:
            pieces = [memoryview(b''.join(pieces))[written:]]


def _record(opcode: int, body: bytes) -> bytes:
    return RECORD.pack(opcode, len(body)) + body


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack('<I', len(data)) + data


def _map(values: Mapping[str, str]) -> bytes:
    data = b''.join(_text(key) + _text(value) for key, value in values.items())
    return struct.pack('<I', len(data)) + data


def _schema_body(type_name: str, definition: str) -> bytes:
    return _text(type_name) + _text('ros2msg') + _text(definition)
