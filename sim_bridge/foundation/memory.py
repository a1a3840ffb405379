"""Memory of this process: the largest amount the system allows."""

from __future__ import annotations

from contextlib import suppress
import os
from pathlib import Path
import resource

# limits of containers and services; the second for the first version of control groups
_GROUPS = ('/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes')


def memory_limit() -> int:
    """Return the smallest limit: the machine's memory, the control group's, the user's [bytes]."""
    limits = [os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    for path in _GROUPS:
        # ValueError: 'max', no limit
        with suppress(OSError, ValueError):
            limits.append(int(Path(path).read_text()))
    return min(limits)
