"""
Process that reads foreign files and can do nothing else.

Its answers are bytes preceded by two lengths: a JSON object and data. Both are bounded. Callers
check the content, because a file may have taken over the process. With `sharing`, several files
share one process; starting it costs more than reading a small file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
from contextvars import ContextVar
from dataclasses import dataclass
import json
import math
import os
from pathlib import Path
import selectors
import signal
import sys
import time
from typing import Any

from sim_bridge.foreign.worker import FRAME

_WORKER = Path(__file__).with_name('worker.py')
# location of this package; not in sys.path for editable installations
_ROOT = os.fspath(Path(__file__).resolve().parents[2])
# factor for wall time relative to processor time, for a busy machine
_PATIENCE = 3.0
_START_S = 60.0
_PIECE = 1 << 20
_LONGEST_TEXT = 1 << 20
_LONGEST_REASON = 1000

_shared: ContextVar[dict[tuple[str, Limits], ReaderProcess] | None] = ContextVar(
    '_shared', default=None
)


@dataclass(frozen=True)
class Limits:
    """Limits for one file: processor seconds, bytes of memory, bytes in the answer."""

    seconds: float
    memory_bytes: int
    answer_bytes: int


class ReadingError(Exception):
    """A foreign file cannot be read; the text is the reason."""


def read_apart(
    reader: str, limits: Limits, request: Mapping[str, object], data: bytes = b''
) -> tuple[dict[str, Any], bytes]:
    """
    Return a reader's answer to a request.

    reader: module that reads. data: file content, for readers not allowed to open files. Raises
    ReadingError if the file is rejected, or exceeds a limit.
    """
    with sharing():
        process = start(reader, limits)
        return process.read(request, data)


def start(reader: str, limits: Limits) -> ReaderProcess:
    """Return a reader's process in a `sharing` block, started if it is not running."""
    shared = _shared.get()
    if shared is None:
        raise LookupError('processes are started within a block of `sharing`')
    # limits are fixed per process
    process = shared.get((reader, limits))
    if process is None or process.is_closed:
        process = shared[reader, limits] = ReaderProcess(reader, limits)
    return process


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Share one process per reader between all files read in a block by this thread."""
    if _shared.get() is not None:
        yield
        return
    processes: dict[tuple[str, Limits], ReaderProcess] = {}
    token = _shared.set(processes)
    try:
        yield
    finally:
        _shared.reset(token)
        for process in processes.values():
            process.close()


class ReaderProcess:
    """Running process with one reader; it ends with `close`, or after an invalid answer."""

    def __init__(self, reader: str, limits: Limits):
        # late import: most worlds use no foreign files
        import subprocess

        self._limits = limits
        self._process = subprocess.Popen(
            # Without `site` it starts in half the time; it gets the paths by message. In its own
            # session it gets no terminal's signals.
            [sys.executable, '-I', '-S', os.fspath(_WORKER), reader],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # a process with several threads could not be confined
            env={**os.environ, 'OPENBLAS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1'},
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        self._streams = (stdin, stdout)
        self._input, self._output = stdin.fileno(), stdout.fileno()
        self.is_closed = self._is_ready = False
        # if the process has already ended, the first answer will show it
        with contextlib.suppress(BrokenPipeError):
            stdin.write(
                _frame(
                    {
                        'path': [*sys.path, _ROOT],
                        'parent': os.getpid(),
                        'memory_bytes': limits.memory_bytes,
                        'seconds': math.ceil(limits.seconds),
                    }
                )
            )
        os.set_blocking(self._input, False)

    def read(self, request: Mapping[str, object], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return a request's answer; an invalid one raises ReadingError and ends the process."""
        try:
            if not self._is_ready:
                # ready once its libraries are imported; this does not count as the file's time
                fields, _ = self._exchange(b'', _START_S)
                if fields:
                    raise ReadingError(self._explain_error(fields.get('error')))
                self._is_ready = True
            fields, answer = self._exchange(
                _frame(request, len(data)) + data, _PATIENCE * self._limits.seconds
            )
            if 'ended' in fields:
                raise ReadingError(self._explain_end(fields['ended']))
        except BaseException:
            self.close()
            raise
        if 'error' in fields:
            raise ReadingError(self._explain_error(fields['error']))
        return fields, answer

    def close(self) -> None:
        """End the process and its children."""
        if self.is_closed:
            return
        self.is_closed = True
        # the process group exists until its leader is waited for; some systems refuse to signal a
        # group whose processes have all ended
        with contextlib.suppress(PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in self._streams:
            stream.close()

    def _exchange(self, message: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Send a message and return the answer; it must arrive within some seconds."""
        deadline = time.monotonic() + seconds
        unsent, received, size = memoryview(message), bytearray(), FRAME.size
        with selectors.DefaultSelector() as selector:
            if unsent:
                selector.register(self._input, selectors.EVENT_WRITE)
            selector.register(self._output, selectors.EVENT_READ)
            while len(received) < size:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise ReadingError(self._too_slow())
                for key, _ in ready:
                    if key.fd == self._output:
                        piece = os.read(self._output, min(_PIECE, size - len(received)))
                        if not piece:
                            raise ReadingError('the process that reads it ended')
                        received += piece
                        if len(received) == FRAME.size:
                            size = self._size(received)
                        continue
                    # an ended process does not read; its output shows the end
                    with contextlib.suppress(BrokenPipeError):
                        unsent = unsent[os.write(self._input, unsent[:_PIECE]) :]
                    if not unsent:
                        selector.unregister(self._input)
        text_size, _ = FRAME.unpack_from(received)
        end = FRAME.size + text_size
        try:
            fields = json.loads(received[FRAME.size : end])
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise ReadingError('the process that reads it gave no answer')
        return fields, bytes(memoryview(received)[end:])

    def _size(self, head: bytearray) -> int:
        """Return the answer's total size; raises ReadingError if it is too large."""
        text_size, data_size = FRAME.unpack(head)
        if text_size > _LONGEST_TEXT:
            raise ReadingError('the process that reads it gave no answer')
        if data_size > self._limits.answer_bytes:
            raise ReadingError(
                f'it holds {data_size} bytes, and at most {self._limits.answer_bytes} are taken'
            )
        return FRAME.size + int(text_size) + int(data_size)

    def _too_slow(self) -> str:
        return f'it is not done within {self._limits.seconds:g} s'

    def _explain_end(self, code: object) -> str:
        """Return why a child was ended by a signal."""
        if code == -signal.SIGXCPU:
            return self._too_slow()
        return f'its reader ended with code {str(code)[:20]}; {self._memory()}'

    def _explain_error(self, error: object) -> str:
        """Return a reader's error as one line."""
        text = ' '.join(str(error)[:_LONGEST_REASON].split())
        text = ''.join(c if c.isprintable() else '?' for c in text)
        kind, _, reason = text.partition(':')
        if kind == 'MemoryError':
            return f'MemoryError; {self._memory()}'
        return text if reason else kind

    def _memory(self) -> str:
        return f'it may take {self._limits.memory_bytes >> 20} MB of memory'


def _frame(fields: Mapping[str, object], data_size: int = 0) -> bytes:
    """Return a request without its data."""
    text = json.dumps(fields).encode()
    return FRAME.pack(len(text), data_size) + text
