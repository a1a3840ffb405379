"""
Process that reads foreign files: `python worker.py MODULE`, started by `reader_process`.

It imports the reader's libraries once. Then it reads requests from standard input. For each one it
forks a child. The child confines itself, reads one file and writes the answer to standard output.
No file can therefore influence how the next one is read, and each file has the full limits.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import gc
import importlib
import io
import json
import os
import struct
import sys
from typing import Any, BinaryIO

# lengths of the JSON object and of the data after it
FRAME = struct.Struct('<QQ')
_LONGEST_REASON = 2000


def write_frame(stream: BinaryIO, fields: dict[str, Any], data: bytes = b'') -> None:
    """Write a request or an answer."""
    text = json.dumps(fields).encode()
    stream.write(FRAME.pack(len(text), len(data)) + text)
    stream.write(data)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Return the next request; None at the end."""
    head = stream.read(FRAME.size)
    if len(head) < FRAME.size:
        return None
    text_size, data_size = FRAME.unpack(head)
    return json.loads(stream.read(text_size)), stream.read(data_size)


def main() -> None:
    """Answer requests until standard input ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    first = read_frame(requests)
    if first is None:
        return
    setup, _ = first
    # use the parent process's import paths
    sys.path[:] = setup['path']
    try:
        confinement = importlib.import_module('sim_bridge.foreign.confinement')
        reader = importlib.import_module(sys.argv[1])
    except Exception as err:  # noqa: BLE001  the parent process reports it
        write_frame(answers, {'error': _reason(err)})
        return
    confinement.end_with_parent(setup['parent'])
    own = os.getpid()
    # avoids copying untouched memory pages for each child
    gc.freeze()
    write_frame(answers, {})
    # printed text would corrupt the answers
    sys.stdout = sys.stderr = io.StringIO()
    while (request := read_frame(requests)) is not None:
        child = os.fork()
        if child == 0:
            # the child must not read later requests, nor flush the parent's buffers
            os.close(requests.fileno())
            confinement.end_with_parent(own)
            confine = functools.partial(
                confinement.confine,
                setup['seconds'],
                setup['memory_bytes'],
                may_read=reader.MAY_READ,
            )
            _answer(confine, reader, request, answers)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            # the child may have written half an answer; anything after it would be misread
            write_frame(answers, {'ended': code})
            return


def _answer(
    confine: Callable[[], object],
    reader: Any,
    request: tuple[dict[str, Any], bytes],
    answers: BinaryIO,
) -> None:
    """Read one file, answer, and end the process."""
    code = 1
    gc.disable()
    try:
        confine()
        write_frame(answers, *reader.read(*request))
        code = 0
    except BaseException as err:  # noqa: BLE001  foreign files can raise anything
        # releases the objects that fill the memory
        err.__traceback__ = None
        write_frame(answers, {'error': _reason(err)})
        code = 0
    finally:
        os._exit(code)


def _reason(err: BaseException) -> str:
    return f'{type(err).__name__}: {err}'[:_LONGEST_REASON]


if __name__ == '__main__':
    main()
