"""The user's cache folder: compiled kernels, convex hulls, generated message packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
from functools import cache
import os
from pathlib import Path
from typing import NamedTuple

from sim_bridge.trust import ownership

VARIABLE = 'SIM_BRIDGE_CACHE_DIR'


class Folders(NamedTuple):
    """
    Cache folders of this process.

    searched: folders to read from; a read-only one may have been prepared in advance. written:
    folder for new files, one of them; None if none is writable. refused: reasons of folders in
    another user's power.
    """

    searched: tuple[Path, ...]
    written: Path | None
    refused: tuple[str, ...]


@cache
def folders() -> Folders:
    """
    Return the cache folders; makes the written one.

    Candidates in order: SIM_BRIDGE_CACHE_DIR alone if set; else the user's cache folder, then a
    private temporary folder. A candidate is used only if the earlier ones cannot be written, or
    are refused by `ownership.check_folder`.
    """
    searched: list[Path] = []
    refused: list[str] = []
    for path in candidates():
        with contextlib.suppress(OSError):
            ownership.make_private(path)
        try:
            ownership.check_folder(path)
        except ownership.UntrustedFileError as error:
            refused.append(f'{error.filename} {error.strerror}')
            continue
        except OSError:
            continue
        searched.append(path)
        if os.access(path, os.W_OK):
            return Folders(tuple(searched), path, tuple(refused))
    return Folders(tuple(searched), None, tuple(refused))


def folder() -> Path | None:
    """Return the folder for new files, None if none is writable."""
    return folders().written


def subfolder(name: str) -> Path | None:
    """
    Return a folder in the cache folder, made if missing and closed to other writers.

    Returns None without a cache folder, or if it cannot be made.
    """
    cache = folder()
    if cache is None:
        return None
    path = cache / name
    try:
        ownership.make_private(path)
        ownership.close_to_others(path)
    except OSError:
        return None
    return path


def runtime_folder(environment: Mapping[str, str]) -> Path | None:
    """
    Return a folder for locks, closed to other users; None without one.

    Candidates in order: XDG_RUNTIME_DIR from `environment`, a private temporary folder, the cache
    folder. A folder under another user's control is not used.
    """
    given = environment.get('XDG_RUNTIME_DIR', '')
    if os.path.isabs(given) and _is_usable(Path(given)):
        return Path(given)
    for temporary in _temporary('sim_bridge'):
        with contextlib.suppress(OSError):
            ownership.make_private(temporary)
        if _is_usable(temporary):
            return temporary
    return folder()


def _is_usable(path: Path) -> bool:
    """Return whether this user, and nobody else, can write a folder."""
    try:
        ownership.check_folder(path)
    except OSError:
        return False
    return os.access(path, os.W_OK)


def _temporary(name: str) -> Iterator[Path]:
    """Yield this user's folder in the temporary folder, if there is one."""
    # imported late: a process with a home does not need it
    import tempfile

    with contextlib.suppress(OSError):  # no temporary folder
        yield Path(tempfile.gettempdir()) / f'{name}-{os.getuid()}'


def candidates() -> Iterator[Path]:
    """Yield the folders that may serve as cache, best first."""
    given = os.environ.get(VARIABLE)
    if given:
        yield Path(given).absolute()
        return
    home = os.environ.get('XDG_CACHE_HOME', '')
    if not os.path.isabs(home):  # the XDG specification ignores a relative one
        home = os.path.join(os.path.expanduser('~'), '.cache')
    if os.path.isabs(home):  # a user without an entry has no home
        yield Path(home) / 'sim_bridge' / 'kernels'
    yield from _temporary('sim_bridge-kernels')
