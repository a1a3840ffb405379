"""
Owner and mode of files that are loaded as code, or trusted in another way.

Other users of the machine must be unable to change such a file, its folders, or the links on its
path. A check at one instant then holds: nobody else can exchange the file before its use.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import errno
import fcntl
from functools import cache
import os
from pathlib import Path
import stat
import warnings

_MOST_LINKS = 40  # Linux's limit for one path
_PRIVATE = 0o700
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
# O_NONBLOCK: opening a pipe would wait for its writer
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UntrustedFileError(PermissionError):
    """File, folder or link under another user's control."""


def check_folder(path: Path) -> None:
    """
    Check a folder, all folders above it, and the links on its path.

    Owners must be this user or root; only they may write. A shared folder with the sticky bit, as
    /tmp, may be above it. Raises UntrustedFileError with the reason; OSError for a missing folder.
    """
    _check_path(path, may_be_shared=False)


def check_tree(path: Path) -> None:
    """
    Check a folder like `check_folder`, and all files and folders in it.

    Raises UntrustedFileError; links in the folder are refused, too.
    """
    check_folder(path)
    for folder, folders, files in os.walk(path):
        for each in (os.path.join(folder, name) for name in (*folders, *files)):
            status = os.lstat(each)
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise _refusal(each, 'is neither a file nor a folder')
            _check_owner(each, status)
            _check_writers(each, status)


def read_trusted(path: Path) -> bytes:
    """
    Return a file's content, read from the checked descriptor.

    Raises UntrustedFileError for a file, folder or link under another user's control, and for a
    file that is a link or not regular; OSError for a missing one.
    """
    check_folder(path.parent)
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refusal(os.fspath(path), 'is a symbolic link') from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(os.fspath(path), 'is not a regular file')
        _check_owner(os.fspath(path), status)
        _check_writers(os.fspath(path), status)
        with open(descriptor, 'rb', closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def read_or_warn(path: Path, kind: str) -> bytes | None:
    """
    Return a cached file's content; None if it is missing, or refused, with a RuntimeWarning.

    kind: name for such files in the warning.
    """
    try:
        return read_trusted(path)
    except UntrustedFileError as error:
        warnings.warn(
            f'{kind} {path} is not used: {error.filename} {error.strerror}',
            RuntimeWarning,
            stacklevel=3,
        )
    except OSError:
        pass
    return None


def write_private(path: Path, content: bytes) -> None:
    """
    Write or replace a file at once; only this user may read it, whatever the umask.

    Raises OSError; then no part of the file remains.
    """
    # imported late: a process finding all its files does not need it
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'{path.stem}.', suffix='.new')
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def make_private(path: Path) -> None:
    """
    Make a folder and the missing ones above it, closed to other users, whatever the umask.

    Raises OSError; UntrustedFileError if other users control the folder where it would be made. An
    existing folder is not checked.
    """
    if path.exists():
        return
    make_private(path.parent)
    _check_path(path.parent, may_be_shared=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, _PRIVATE)


def close_to_others(path: Path) -> None:
    """
    Take the write permission of group and others from a file or folder of this user.

    Raises OSError.
    """
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid == os.getuid() and not stat.S_ISLNK(status.st_mode) and mode & _OTHERS:
        os.chmod(path, mode & ~_OTHERS)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """
    Lock a file, made if missing, during a block; yields whether this process has the lock.

    wait: wait for other processes. On a file system without locks, every process gets it. Raises
    OSError if the file cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:
            # a file system without locks
            pass
        yield True
    finally:
        # a child process forked meanwhile has the file open, too
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _check_path(path: Path, *, may_be_shared: bool) -> None:
    """
    Check the folders and links from the root to a folder, in the order of their use.

    may_be_shared: whether the folder itself may be shared, with the sticky bit.
    """
    whole = path if path.is_absolute() else Path(os.getcwd(), path)
    where, rest, links = '/', _names(os.fspath(whole)), 0
    _check_above(where, os.lstat(where))
    while rest:
        name = rest.pop()
        if name == '..':
            where = os.path.dirname(where)
            continue
        here = os.path.join(where, name)
        status = os.lstat(here)
        _check_above(here, status)
        if not stat.S_ISLNK(status.st_mode):
            where = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        target = os.readlink(here)
        where = '/' if os.path.isabs(target) else where
        rest += _names(target)
    if not may_be_shared:
        status = os.lstat(where)
        _check_owner(where, status)
        _check_writers(where, status)


def _names(path: str) -> list[str]:
    """Return the names in a path, last one first."""
    return [name for name in reversed(path.split('/')) if name not in {'', '.'}]


def _check_above(path: str, status: os.stat_result) -> None:
    """Check a folder above a trusted file, or a link to one."""
    if status.st_uid != _outside_user():
        _check_owner(path, status)
    if stat.S_ISLNK(status.st_mode):
        return
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    # in a folder with the sticky bit, only owners rename or remove entries
    if not status.st_mode & stat.S_ISVTX:
        _check_writers(path, status)


def _check_owner(path: str, status: os.stat_result) -> None:
    owner, user = status.st_uid, os.getuid()
    if owner not in (_ROOT, user):
        raise _refusal(path, f'belongs to user {owner}, neither to this user ({user}) nor to root')


def _check_writers(path: str, status: os.stat_result) -> None:
    mode = status.st_mode
    if mode & stat.S_IWOTH:
        raise _refusal(path, f'can be written by all users (mode {stat.S_IMODE(mode):04o})')
    if mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
        raise _refusal(
            path, f'can be written by group {status.st_gid} (mode {stat.S_IMODE(mode):04o})'
        )


def _refusal(path: str, reason: str) -> UntrustedFileError:
    return UntrustedFileError(errno.EPERM, reason, path)


@cache
def _is_own_group(group: int) -> bool:
    """Return whether a group has no other members: root's, or one with this user's name."""
    if group == _ROOT:
        return True
    # imported late: rarely needed
    import grp
    import pwd

    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return entry.gr_name == user and set(entry.gr_mem) <= {user}


@cache
def _outside_user() -> int | None:
    """Return the id shown for owners outside this process's user namespace; None without one."""
    try:
        counts = Path('/proc/self/uid_map').read_text().split()[2::3]
        if sum(map(int, counts)) >= 2**32 - 1:
            return None
        return int(Path('/proc/sys/kernel/overflowuid').read_text())
    except (OSError, ValueError):
        return None
