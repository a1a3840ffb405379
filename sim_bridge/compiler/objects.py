"""
Cache of compiled units by content, shared between all processes of a user.

The file name is the unit's key (see `unit`). Files are therefore never stale, and clones,
environments and Python versions share them. Each file contains a digest of its content; a damaged
file counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
from functools import cache
import hashlib
import os
from pathlib import Path
import re
import stat
import time
from typing import NamedTuple
import warnings

_MAGIC = b'sim_bridge kernel 1\n'
_KEEP_UNUSED_S = 30 * 24 * 3600.0
_TOUCH_S = 24 * 3600.0
_OURS = re.compile(r'[0-9a-f]{32}\.(object|lock|.*\.new)')

VARIABLE = 'SIM_BRIDGE_CACHE_DIR'


class Object(NamedTuple):
    """code: object file for the linker. facts: data stored by `unit`, one line."""

    code: bytes
    facts: str


# objects used by this process, or impossible to write
_memory: dict[str, Object] = {}


@cache
def folder() -> Path | None:
    """
    Return the cache folder for compiled units, None if none is writable.

    Candidates in order: SIM_BRIDGE_CACHE_DIR alone if set; else the user's cache folder, then a
    private temporary folder.
    """
    for path in _candidates():
        with contextlib.suppress(OSError):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_trusted(path) and os.access(path, os.W_OK):
            return path
    return None


@cache
def warn_unless_kept() -> None:
    """
    Warn, once per process, if compiled units are lost at the process's end.

    Called only before compilation: a process finding all units needs no writable folder.
    """
    if folder() is None:
        tried = ' or '.join(map(str, _candidates()))
        warnings.warn(
            f'compiled kernels cannot be kept: no writable folder of yours at {tried}; every '
            f'process compiles them again. Set {VARIABLE} to a folder',
            RuntimeWarning,
            stacklevel=3,
        )


@cache
def readable() -> tuple[Path, ...]:
    """Return the folders to search; a read-only one may have been prepared in advance."""
    folder()  # creates it if necessary
    return tuple(path for path in _candidates() if _is_trusted(path))


def _is_trusted(path: Path) -> bool:
    """Return whether a folder's code may run: named by the user, or writable by no one else."""
    try:
        status = path.stat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    is_own = status.st_uid in (0, os.getuid()) and not status.st_mode & stat.S_IWOTH
    return is_own or str(path) == os.environ.get(VARIABLE)


def _candidates() -> Iterator[Path]:
    given = os.environ.get(VARIABLE)
    if given:
        yield Path(given)
        return
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    yield Path(home) / 'sim_bridge' / 'kernels'
    # imported late, here and below: a process finding its kernels does not need it
    import tempfile

    try:
        temporary = tempfile.gettempdir()
    except OSError:  # no temporary folder
        return
    yield Path(temporary) / f'sim_bridge-kernels-{os.getuid()}'


def find(key: str) -> Object | None:
    """Return the object for a key, None if it is missing or damaged."""
    if key in _memory:
        return _memory[key]
    for where in readable():
        path = where / f'{key}.object'
        try:
            found = _parse(path.read_bytes())
        except OSError:
            continue
        if found is not None:
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _TOUCH_S:
                    os.utime(path)
            _memory[key] = found
            return found
    return None


def keep(key: str, made: Object) -> None:
    """Keep an object for this process and, if the folder is writable, for others."""
    _memory[key] = made
    path = _path(key)
    if path is None:
        return
    payload = made.facts.encode() + b'\n' + made.code
    content = _MAGIC + hashlib.sha256(payload).hexdigest().encode() + b'\n' + payload
    import tempfile

    temporary = ''
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'{key}.', suffix='.new')
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
        os.replace(temporary, path)
        _prune()
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        warnings.warn(
            f'a compiled kernel cannot be kept in {path.parent}: {error}; the next '
            'process compiles it again',
            RuntimeWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def alone(key: str, *, wait: bool) -> Iterator[bool]:
    """
    Lock a key's object for compilation; yields whether this process has the lock.

    wait: wait until other processes release it. Without lock support, every process gets it.
    """
    path = _path(key)
    if path is None:
        yield True
        return
    try:
        lock = os.open(path.with_suffix('.lock'), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:
            # file systems without locks: several processes may compile the unit
            pass
        yield True
    finally:
        os.close(lock)


def _path(key: str) -> Path | None:
    where = folder()
    return None if where is None else where / f'{key}.object'


def _parse(content: bytes) -> Object | None:
    if not content.startswith(_MAGIC):
        return None
    digest, _, payload = content[len(_MAGIC) :].partition(b'\n')
    if hashlib.sha256(payload).hexdigest().encode() != digest:
        return None
    facts, _, code = payload.partition(b'\n')
    return Object(code, facts.decode())


@cache
def _prune() -> None:
    """Delete objects unused for a month; once per process."""
    where = folder()
    for path in where.iterdir() if where is not None else ():
        with contextlib.suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > _KEEP_UNUSED_S
            if is_old and _OURS.fullmatch(path.name):
                path.unlink()
