"""Reading the messages of bags, including those whose writer was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import importlib
from pathlib import Path
import struct
from typing import BinaryIO, NamedTuple

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.mcap_file import CHANNEL, CHUNK, DATA_END, MAGIC, MESSAGE, RECORD, SCHEMA

_MESSAGE = struct.Struct('<HIQQ')
_CHUNK = struct.Struct('<QQQI')

# by the name of a compression: the modules that undo it, each with a function `decompress`
_DECOMPRESSORS = {
    'zstd': ('compression.zstd', 'backports.zstd', 'zstandard'), 'lz4': ('lz4.frame',)}


class Message(NamedTuple):
    """A message in a bag. time_ns: recording time [ns]."""

    topic: str
    type_name: str
    time_ns: int
    data: bytes


def read_messages(bag: Path) -> Iterator[Message]:
    """
    Yield all messages in the order they were written.

    bag: folder of a rosbag2 bag with MCAP storage, or an .mcap file. A file that is cut off within
    a record ends before that record. Raises ReplayError if there is no such bag or it cannot be
    read.
    """
    for path in _storage_of(bag):
        try:
            with path.open('rb') as file:
                yield from _read_file(file, path)
        except OSError as err:
            raise ReplayError(f'bag {str(path)!r} cannot be read: {err.strerror}') from err


def _storage_of(bag: Path) -> list[Path]:
    if bag.is_file():
        return [bag]
    # rosbag2 numbers the files of a bag: bag_0.mcap, bag_1.mcap … bag_10.mcap
    files = sorted(bag.glob('*.mcap'), key=lambda path: (len(path.name), path.name))
    if not files:
        kinds = sorted({path.suffix for path in bag.glob('*.*')} - {'.yaml'})
        there = f', but {", ".join(kinds)}; `ros2 bag convert` makes one' if kinds else ''
        raise ReplayError(f'bag {str(bag)!r}: expected a folder with .mcap files{there}')
    return files


def _read_file(file: BinaryIO, path: Path) -> Iterator[Message]:
    if file.read(len(MAGIC)) != MAGIC:
        raise ReplayError(f'bag {str(path)!r}: this is no MCAP file')
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}

    def messages_in(opcode: int, body: bytes) -> Iterator[Message]:
        if opcode == MESSAGE:
            channel, _, time_ns, _ = _MESSAGE.unpack_from(body)
            yield Message(*channels[channel], time_ns, body[_MESSAGE.size:])
        elif opcode == SCHEMA:
            schemas[int.from_bytes(body[:2], 'little')] = _text(body, 2)[0]
        elif opcode == CHANNEL:
            number, schema = struct.unpack_from('<HH', body)
            channels[number] = _text(body, 4)[0], schemas.get(schema, '')
        elif opcode == CHUNK:
            size = _CHUNK.unpack_from(body)[2]
            compression, place = _text(body, _CHUNK.size)
            content = body[place + 8:]
            if compression:
                content = _decompressor(compression, path)(content)
            if len(content) != size:
                raise ReplayError(f'bag {str(path)!r}: a chunk is damaged')
            place = 0
            while place < size:
                inner, length = RECORD.unpack_from(content, place)
                place += RECORD.size
                yield from messages_in(inner, content[place : place + length])
                place += length

    while True:
        head = file.read(RECORD.size)
        if len(head) < RECORD.size:
            return
        opcode, length = RECORD.unpack(head)
        body = file.read(length)
        if opcode == DATA_END or len(body) < length:
            return
        yield from messages_in(opcode, body)


def _text(data: bytes, place: int) -> tuple[str, int]:
    """Return a string and the offset of its end."""
    end = place + 4 + int.from_bytes(data[place : place + 4], 'little')
    return data[place + 4 : end].decode(), end


def _decompressor(compression: str, path: Path) -> Callable[[bytes], bytes]:
    names = _DECOMPRESSORS.get(compression, ())
    for name in names:
        try:
            decompress: Callable[[bytes], bytes] = importlib.import_module(name).decompress
            return decompress
        except ImportError:
            continue
    needed = ' or '.join(names) or 'something that is not known here'
    raise ReplayError(f'bag {str(path)!r} is compressed by {compression!r}, which needs {needed}')
