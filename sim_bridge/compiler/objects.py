"""
Cache of compiled units by content, shared between all processes of a user.

The file name is the unit's key (see `unit`). Files are therefore never stale, and clones,
environments and Python versions share them. Each file contains a digest of its content; a damaged
file counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from functools import cache
import hashlib
import os
from pathlib import Path
import re
import time
from typing import NamedTuple
import warnings

from sim_bridge.trust.folders import candidates, folder, folders, VARIABLE
from sim_bridge.trust.ownership import locked, read_or_warn, write_private

_MAGIC = b'sim_bridge kernel 1\n'
_KEEP_UNUSED_S = 30 * 24 * 3600.0
_TOUCH_S = 24 * 3600.0
_OURS = re.compile(r'[0-9a-f]{32}\.(object|lock|.*\.new)')


class Object(NamedTuple):
    """code: object file for the linker. facts: data stored by `unit`, one line."""

    code: bytes
    facts: str


# objects used by this process, or impossible to write
_memory: dict[str, Object] = {}


@cache
def warn_unless_kept() -> None:
    """
    Warn, once per process, if the cache folder is refused, or no folder keeps compiled units.

    Called only before compilation: a process finding all units needs no writable folder.
    """
    found = folders()
    refused = '; '.join(found.refused)
    if found.written is None:
        tried = ' or '.join(map(str, candidates()))
        reason = refused or f'no writable folder of yours at {tried}'
        warnings.warn(
            f'compiled kernels cannot be kept: {reason}; every process compiles them again. Set '
            f'{VARIABLE} to a folder that only you can write',
            RuntimeWarning,
            stacklevel=3,
        )
    elif refused:
        warnings.warn(
            f'compiled kernels are kept in {found.written}: {refused}',
            RuntimeWarning,
            stacklevel=3,
        )


def find(key: str) -> Object | None:
    """Return the object for a key, None if it is missing or damaged."""
    if key in _memory:
        return _memory[key]
    for where in folders().searched:
        path = where / f'{key}.object'
        content = read_or_warn(path, 'the compiled kernel')
        found = None if content is None else _parse(content)
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
    try:
        write_private(path, content)
        _prune()
    except OSError as error:
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
    with contextlib.ExitStack() as stack:
        try:
            has_it = stack.enter_context(locked(path.with_suffix('.lock'), wait=wait))
        except OSError:
            has_it = True
        yield has_it


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
