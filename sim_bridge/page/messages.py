"""Messages between a simulator and its page: length and content, on a Unix socket."""

from __future__ import annotations

from contextlib import suppress
import json
import pickle
import socket
import struct
import threading
from typing import NamedTuple

from sim_bridge.page.channel import Sizes
from sim_bridge.page.records import Notice, Request, Reshaping, Structure

_LENGTH = struct.Struct('<q')
_MOST_REQUEST = 1_000_000  # bytes; the simulator's limit for a message from the page


class Scene(NamedTuple):
    """New structure. sizes: frame sizes in the memory file sent with it."""

    structure: Structure
    sizes: Sizes


class SimulatorEnd:
    """Simulator's end of the connection. Each method is called by one thread only."""

    def __init__(self, own: socket.socket):
        """Take a connected socket."""
        self._socket = own

    def tell(self, message: Scene | Reshaping | Notice, memory: int | None = None) -> None:
        """Send a message, with a memory file's descriptor. Raises OSError at the end."""
        _send(self._socket, pickle.dumps(message, pickle.HIGHEST_PROTOCOL), memory)

    def request(self) -> Request:
        """Wait for a request from the page. Raises EOFError at the end."""
        # JSON, since data from outside must not create objects
        content, _ = _receive(self._socket, _MOST_REQUEST)
        name, values = json.loads(content)
        return Request(str(name), dict(values))

    def close(self) -> None:
        """End the connection; waiting threads get EOFError."""
        _close(self._socket)

    def leave(self) -> None:
        """Close this process's descriptor; the connection lasts in the parent process."""
        self._socket.close()


class PageEnd:
    """Page's end of the connection; requests may come from any thread."""

    def __init__(self, own: socket.socket):
        """Take a connected socket."""
        self._socket, self._lock = own, threading.Lock()

    def message(self) -> tuple[Scene | Reshaping | Notice, int | None]:
        """Wait for a message and a descriptor. Raises EOFError after the simulator's end."""
        content, memory = _receive(self._socket)
        return pickle.loads(content), memory

    def request(self, request: Request) -> None:
        """Send a request; without effect after the simulator's end."""
        content = json.dumps([request.name, request.values]).encode()
        with self._lock:
            try:
                _send(self._socket, content, None)
            except OSError:
                # `message` reports this by EOFError
                return

    def close(self) -> None:
        """End the connection."""
        _close(self._socket)


def _send(own: socket.socket, content: bytes, descriptor: int | None) -> None:
    header = _LENGTH.pack(len(content))
    if descriptor is None:
        own.sendall(header)
    else:
        socket.send_fds(own, [header], [descriptor])
    own.sendall(content)


def _receive(own: socket.socket, most: int | None = None) -> tuple[bytes, int | None]:
    try:
        header, descriptors, _, _ = socket.recv_fds(own, _LENGTH.size, 1)
        while header and len(header) < _LENGTH.size:
            header += _exactly(own, _LENGTH.size - len(header))
        if not header:
            raise EOFError
        (length,) = _LENGTH.unpack(header)
        if most is not None and length > most:
            raise EOFError
        return _exactly(own, length), descriptors[0] if descriptors else None
    except OSError:
        raise EOFError from None


def _exactly(own: socket.socket, length: int) -> bytes:
    content = bytearray(length)
    rest = memoryview(content)
    while rest:
        count = own.recv_into(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return bytes(content)


def _close(own: socket.socket) -> None:
    with suppress(OSError):  # the other end closed first
        own.shutdown(socket.SHUT_RDWR)
    own.close()
