"""A reader taken over by a foreign file: it does what the request says."""

from __future__ import annotations

import os
from pathlib import Path
import pickle
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

MAY_READ = True

_count = 0


class _Trap:
    """Object that runs a program when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ('echo trap',)


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Do the action named by `request['do']`, with `request['path']`."""
    return _ACTIONS[request['do']](request.get('path', ''), data) or ({'done': True}, b'')


def _count_up(path: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    global _count
    _count += 1
    return {'count': _count}, data


def _raw(*pieces: bytes) -> None:
    for piece in pieces:
        os.write(1, piece)
    os._exit(0)


def _loop(path: str, data: bytes) -> None:
    while True:
        pass


def _allocate(path: str, data: bytes) -> None:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def _fork(path: str, data: bytes) -> None:
    if os.fork() == 0:
        os._exit(0)


def _write(path: str, data: bytes) -> None:
    with open(path, 'w') as file:
        file.write('written')


_ACTIONS: dict[str, Any] = {
    'count': _count_up,
    'loop': _loop,
    'sleep': lambda path, data: time.sleep(600),
    'allocate': _allocate,
    'read': lambda path, data: ({}, Path(path).read_bytes()),
    'write': _write,
    'append': lambda path, data: os.close(os.open(path, os.O_RDWR)),
    'remove': lambda path, data: os.remove(path),
    'rename': lambda path, data: os.rename(path, f'{path}~'),
    'mode': lambda path, data: os.chmod(path, 0),
    'folder': lambda path, data: os.mkdir(f'{path}-folder'),
    'link': lambda path, data: os.symlink('/etc/passwd', f'{path}-link'),
    'internet': lambda path, data: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    'local socket': lambda path, data: socket.socket(socket.AF_UNIX),
    'program': lambda path, data: subprocess.run(['/bin/sh', '-c', f'echo x > {path}']),
    'exec': lambda path, data: os.execv('/bin/sh', ['sh', '-c', f'echo x > {path}']),
    'fork': _fork,
    'thread': lambda path, data: threading.Thread(target=print).start(),
    'kill': lambda path, data: os.kill(os.getppid(), 0),
    'limits': lambda path, data: sys.modules['resource'].setrlimit(
        sys.modules['resource'].RLIMIT_NOFILE, (10, 10)
    ),
    'garbage': lambda path, data: _raw(b'\xff' * 100_000),
    'no end': lambda path, data: _raw(struct.pack('<QQ', 10, 0), b'{"a": '),
    'huge': lambda path, data: _raw(struct.pack('<QQ', 2, 1 << 60), b'{}'),
    'deep': lambda path, data: _raw(struct.pack('<QQ', 200_000, 0), b'[' * 200_000),
    'pickle': lambda path, data: ({}, pickle.dumps(_Trap())),
    'no fields': lambda path, data: _raw(struct.pack('<QQ', 2, 0), b'[]'),
    'crash': lambda path, data: os._exit(7),
    'terminal': lambda path, data: ({'error': 'x\x1b[2J\n' * 1_000_000}, b''),
}
