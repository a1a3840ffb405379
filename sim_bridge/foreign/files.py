"""Reading files of any kind: also endless devices, and pipes without a writer."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import errno
import hashlib
import os
from pathlib import Path
import stat

# Robots, scenes and parameters with thousands of parts take a few MB; meshes with a million
# triangles 50 MB.
TEXT_BYTES = 32 << 20
DATA_BYTES = 256 << 20

# without O_NONBLOCK, opening a pipe would wait for its writer
_FLAGS = os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_CLOEXEC', 0)


_noted: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar(
    'noted', default=None
)


@contextlib.contextmanager
def noting_files() -> Iterator[dict[str, str]]:
    """Provide the SHA-256, by full path, of all files read in a block by this thread."""
    noted: dict[str, str] = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def read_file(path: str | Path, most_bytes: int = TEXT_BYTES) -> bytes:
    """Return a file's content; also raises OSError if it is not regular, or too large."""
    content, size = _read(path, most_bytes)
    if size > most_bytes:
        reason = f'{size} bytes, and at most {most_bytes} are read'
        raise OSError(errno.EFBIG, reason, str(path))
    noted = _noted.get()
    if noted is not None:
        noted[str(Path(path).resolve())] = hashlib.sha256(content).hexdigest()
    return content


def read_head(path: str | Path, most_bytes: int) -> bytes:
    """Return a file's first bytes, unnoted; also raises OSError if it is not regular."""
    return _read(path, most_bytes)[0]


def _read(path: str | Path, most_bytes: int) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, and its size."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, 'not a regular file', str(path))
        # it would refuse a folder, and leave the descriptor open
        with open(descriptor, 'rb', closefd=False) as file:
            return file.read(most_bytes), status.st_size
    finally:
        os.close(descriptor)
