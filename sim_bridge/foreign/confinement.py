"""
Confinement of a process before it reads a foreign file; it cannot be undone.

On Linux, Landlock denies access to files and the network. seccomp denies every system call not
needed for computing and reading: no writing, sockets, programs, threads or signals. Resource
limits hold on every POSIX system. The kernel is called through ctypes, because the Landlock
bindings on PyPI are development versions, and the seccomp bindings need a system library.

Sources: landlock(7), seccomp(2), and the kernel's system call tables.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys

# landlock_create_ruleset, landlock_add_rule, landlock_restrict_self: equal on all processors
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# number of file rights known to each Landlock version, and rights to TCP ports
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS, _SCOPES = 0b11, 0b11

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_SET_PARENT_DEATH_SIGNAL, _SIGKILL = 1, 9
# errors from a kernel without Landlock or seccomp, or in a container that forbids them
_NOT_HERE = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM)

# filter instructions: load a word, jump if equal, jump if any bit is set, return
_LOAD, _IF_EQUAL, _IF_ANY, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, 16
# O_TMPFILE contains O_DIRECTORY; that bit must stay permitted for reading folders
_TEMPORARY = getattr(os, 'O_TMPFILE', 0) & ~getattr(os, 'O_DIRECTORY', 0)
_WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _TEMPORARY
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)

# processor number in the filter data, and numbers of the permitted system calls
_X86_64 = (
    0xC000003E,
    {
        'read': 0,
        'write': 1,
        'open': 2,
        'close': 3,
        'stat': 4,
        'fstat': 5,
        'lstat': 6,
        'poll': 7,
        'lseek': 8,
        'mmap': 9,
        'mprotect': 10,
        'munmap': 11,
        'brk': 12,
        'rt_sigaction': 13,
        'rt_sigprocmask': 14,
        'rt_sigreturn': 15,
        'pread64': 17,
        'readv': 19,
        'writev': 20,
        'access': 21,
        'sched_yield': 24,
        'mremap': 25,
        'madvise': 28,
        'dup': 32,
        'nanosleep': 35,
        'getpid': 39,
        'exit': 60,
        'uname': 63,
        'fcntl': 72,
        'getcwd': 79,
        'readlink': 89,
        'gettimeofday': 96,
        'getrlimit': 97,
        'getrusage': 98,
        'sysinfo': 99,
        'times': 100,
        'getuid': 102,
        'getgid': 104,
        'geteuid': 107,
        'getegid': 108,
        'getppid': 110,
        'sigaltstack': 131,
        'gettid': 186,
        'time': 201,
        'futex': 202,
        'sched_getaffinity': 204,
        'getdents64': 217,
        'restart_syscall': 219,
        'fadvise64': 221,
        'clock_gettime': 228,
        'clock_getres': 229,
        'clock_nanosleep': 230,
        'exit_group': 231,
        'openat': 257,
        'newfstatat': 262,
        'readlinkat': 267,
        'faccessat': 269,
        'prlimit64': 302,
        'getcpu': 309,
        'getrandom': 318,
        'statx': 332,
        'rseq': 334,
        'faccessat2': 439,
    },
)
_AARCH64 = (
    0xC00000B7,
    {
        'getcwd': 17,
        'dup': 23,
        'fcntl': 25,
        'faccessat': 48,
        'openat': 56,
        'close': 57,
        'getdents64': 61,
        'lseek': 62,
        'read': 63,
        'write': 64,
        'readv': 65,
        'writev': 66,
        'pread64': 67,
        'ppoll': 73,
        'readlinkat': 78,
        'newfstatat': 79,
        'fstat': 80,
        'exit': 93,
        'exit_group': 94,
        'futex': 98,
        'nanosleep': 101,
        'clock_gettime': 113,
        'clock_getres': 114,
        'clock_nanosleep': 115,
        'sched_getaffinity': 123,
        'sched_yield': 124,
        'restart_syscall': 128,
        'sigaltstack': 132,
        'rt_sigaction': 134,
        'rt_sigprocmask': 135,
        'rt_sigreturn': 139,
        'times': 153,
        'uname': 160,
        'getrlimit': 163,
        'getrusage': 165,
        'getcpu': 168,
        'gettimeofday': 169,
        'getpid': 172,
        'getppid': 173,
        'getuid': 174,
        'geteuid': 175,
        'getgid': 176,
        'getegid': 177,
        'gettid': 178,
        'sysinfo': 179,
        'brk': 214,
        'munmap': 215,
        'mremap': 216,
        'mmap': 222,
        'fadvise64': 223,
        'mprotect': 226,
        'madvise': 233,
        'prlimit64': 261,
        'getrandom': 278,
        'statx': 291,
        'rseq': 293,
        'faccessat2': 439,
    },
)
_MOST_FILES = 64
_PROCESSORS = {'x86_64': _X86_64, 'aarch64': _AARCH64}


def confine(seconds: int, memory_bytes: int, *, may_read: bool) -> tuple[str, ...]:
    """
    Give up all rights not needed for reading a file; return which of 'landlock', 'seccomp' hold.

    seconds: processor time limit; the system then ends the process. memory_bytes: address space
    limit. may_read: whether files may be opened for reading. The process must have one thread.
    Raises OSError if the kernel supports one of the two but refuses it.
    """
    _limit(seconds, memory_bytes)
    if sys.platform != 'linux':
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    held = []
    if _forbid_files(libc, may_read):
        held.append('landlock')
    if _forbid_calls(libc):
        held.append('seccomp')
    return tuple(held)


def end_with_parent(parent: int) -> None:
    """End this process when its starting thread ends (Linux only); parent: its process id."""
    if sys.platform == 'linux':
        libc = ctypes.CDLL(None, use_errno=True)
        _checked(libc.prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL, 0, 0, 0))
        if os.getppid() != parent:
            # the parent ended before the signal was requested
            os._exit(1)


def _limit(seconds: int, memory_bytes: int) -> None:
    """Set resource limits; lower limits set by the user stay."""
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MOST_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        # at the soft limit of processor time the process gets SIGXCPU, revealing the cause of
        # its end; at the hard limit, SIGKILL
        resource.setrlimit(kind, (limit, hard if kind == resource.RLIMIT_CPU else limit))


def _forbid_files(libc: ctypes.CDLL, may_read: bool) -> bool:
    """Deny access to files (except permitted reading) and to TCP ports."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        _check_absent()
        return False
    rights = (1 << _FILE_RIGHTS.get(version, _FILE_RIGHTS[5])) - 1
    attributes = struct.pack('=Q', rights)
    if version >= 4:
        attributes += struct.pack('=Q', _TCP_RIGHTS)
    if version >= 6:
        attributes += struct.pack('=Q', _SCOPES)
    rules = _checked(
        libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    )
    if may_read:
        root = os.open('/', os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack('=Qi', _READ_FILE | _READ_DIR, root)
        _checked(libc.syscall(_ADD_RULE, rules, _RULE_PATH_BENEATH, rule, 0))
        os.close(root)
    _checked(libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)
    return True


def _forbid_calls(libc: ctypes.CDLL) -> bool:
    """Deny all system calls except the listed ones; denied calls fail with EPERM."""
    if platform.machine() not in _PROCESSORS:
        return False
    program = b''.join(_filter(*_PROCESSORS[platform.machine()]))

    class Program(ctypes.Structure):
        _fields_ = (('length', ctypes.c_ushort), ('instructions', ctypes.c_char_p))

    pointer = ctypes.byref(Program(len(program) // 8, program))
    if libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, pointer, 0, 0) != 0:
        _check_absent()
        return False
    return True


def _filter(processor: int, numbers: dict[str, int]) -> list[bytes]:
    """Return the filter instructions for a system call."""
    program = [
        _instruction(_LOAD, _PROCESSOR),
        _instruction(_IF_EQUAL, processor, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    for name, number in numbers.items():
        decision = _decision(name)
        program.append(_instruction(_IF_EQUAL, number, 0, len(decision)))
        program += decision
    return [*program, _instruction(_RETURN, _REFUSE)]


def _decision(name: str) -> list[bytes]:
    """Return the filter instructions for a call's arguments."""
    allow, refuse = _instruction(_RETURN, _ALLOW), _instruction(_RETURN, _REFUSE)
    if name in ('open', 'openat'):
        flags = _argument(1 if name == 'open' else 2)
        return [_instruction(_LOAD, flags), _instruction(_IF_ANY, _WRITING, 1, 0), allow, refuse]
    if name == 'fcntl':
        known = len(_FCNTL_COMMANDS)
        return [
            _instruction(_LOAD, _argument(1)),
            *(
                _instruction(_IF_EQUAL, command, known - k, 0)
                for k, command in enumerate(_FCNTL_COMMANDS)
            ),
            refuse,
            allow,
        ]
    if name == 'prlimit64':
        # limits may be read but not set: the pointer to new limits must be null
        new = _argument(2)
        return [
            _instruction(_LOAD, new),
            _instruction(_IF_EQUAL, 0, 0, 3),
            _instruction(_LOAD, new + 4),
            _instruction(_IF_EQUAL, 0, 0, 1),
            allow,
            refuse,
        ]
    return [allow]


def _argument(index: int) -> int:
    """Return the offset of an argument's lower half in the filter data (little-endian)."""
    return _ARGUMENTS + 8 * index


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack('=HBBI', code, if_true, if_false, value)


def _checked(result: int) -> int:
    """Return a system call's result; raises OSError if it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _check_absent() -> None:
    """Raise OSError, unless the kernel lacks the feature requested last."""
    if ctypes.get_errno() not in _NOT_HERE:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
