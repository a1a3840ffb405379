"""Standard streams of the command: also closed, full, and in encodings without all characters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TextIO

from sim_bridge.foundation.errors import OutputError

_ESCAPED = 'sim_bridge_escaped'


class _Output(io.FileIO):
    """Descriptor that raises OutputError, so that no other file is taken for it."""

    def write(self, data: object) -> int | None:  # type: ignore[override]
        """Write bytes; raises BrokenPipeError without a reader, else OutputError."""
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error) from None


def prepare_streams() -> None:
    """
    Open closed standard streams on the null device, and let stdout and stderr take any text.

    A file opened later would otherwise get the descriptor of a closed stream, and with it the
    output of libraries. Characters missing in an encoding are written as in JSON.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
    codecs.register_error(_ESCAPED, _escaped)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), 'utf-8')
    sys.stdout = _writer(sys.stdout, 1)
    sys.stderr = _writer(sys.stderr, 2)


def tell(text: str) -> None:
    """Print an error; without effect if stderr cannot be written."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Write a stream's rest to the null device: flushing at exit must not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _writer(stream: TextIO | None, descriptor: int) -> TextIO:
    """Return a stream for a descriptor, with the encoding and buffering of the present one."""
    raw = _Output(descriptor, 'w', closefd=False)
    if not isinstance(stream, io.TextIOWrapper):
        return io.TextIOWrapper(io.BufferedWriter(raw), 'utf-8', _ESCAPED)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        stream.encoding,
        _ESCAPED,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Replace characters by their escapes in JSON."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    units = text.encode('utf-16-be', 'surrogatepass')
    pairs = (units[k : k + 2].hex() for k in range(0, len(units), 2))
    return ''.join(f'\\u{pair}' for pair in pairs), error.end
