"""Executor with processes on this machine, the default."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from multiprocessing.connection import wait
import os
from typing import Protocol

from sim_bridge.sweep.host import Host, Job
from sim_bridge.sweep.rows import CRASHED, Row
from sim_bridge.sweep.study import Study

_LONGEST_WAIT_S = 0.5
ATTEMPTS = 2
"""Number of attempts for a run whose process dies; then the crash is its result."""


class Executor(Protocol):
    """Executor for many runs."""

    def rows(self, study: Study, runs: Iterable[int]) -> Generator[list[Row], None, None]:
        """
        Yield rows as they arrive, each run once, in any order; [] at intervals in between.

        All processes end when the iterator is closed.
        """

    def describe(self) -> str:
        """Return the executor's processes in words, for example '8 processes'."""


class LocalExecutor:
    """Executor with processes on this machine."""

    def __init__(self, processes: int, timeout_s: float, keeps: bool = False) -> None:
        """
        Set up the executor.

        processes: how many processes. timeout_s: time limit for a run [s]. keeps: whether idle
        processes are kept for further runs in the same study, until `close`.
        """
        self._count, self._timeout_s, self._keeps = processes, timeout_s, keeps
        self.hosts: list[Host] = []
        """Running worker processes."""

    def describe(self) -> str:
        """Return the process count in words."""
        return '1 process' if self._count == 1 else f'{self._count} processes'

    def rows(self, study: Study, runs: Iterable[int]) -> Generator[list[Row], None, None]:
        """Yield rows, see `Executor`; raises StateError if a process cannot make any run."""
        pending, again = iter(runs), deque[Job]()
        is_warm = bool(self.hosts)
        try:
            while True:
                # the first run compiles kernels, and the other processes load them
                most = self._count if is_warm else 1
                idle = [host for host in self.hosts if host.job is None]
                while len(idle) + sum(host.job is not None for host in self.hosts) < most:
                    job = again.popleft() if again else _next(pending)
                    if job is None:
                        break
                    host = Host(study, self._timeout_s)
                    self.hosts.append(host)
                    host.begin(job)
                for host in idle:
                    job = again.popleft() if again else _next(pending)
                    if job is None:
                        break
                    host.begin(job)
                busy = [host for host in self.hosts if host.job is not None]
                if not busy:
                    return
                soonest = min(host.left_s for host in busy)
                wait([host.connection for host in busy], max(min(soonest, _LONGEST_WAIT_S), 0.0))
                found = []
                for host in busy:
                    job = host.job
                    row = host.result()
                    if row is None:
                        continue
                    if not host.is_alive:
                        self.hosts.remove(host)
                    assert job is not None
                    if row.status == CRASHED and job.attempt < ATTEMPTS:
                        again.append(job._replace(attempt=job.attempt + 1))
                        continue
                    is_warm = True
                    found.append(row)
                yield found
        finally:
            self.close(self._keeps)

    def close(self, keeps_idle: bool = False) -> None:
        """End all processes, or only busy ones if keeps_idle."""
        for host in list(self.hosts):
            if not keeps_idle or host.job is not None:
                self.hosts.remove(host)
                host.close()


def _next(runs: Iterator[int]) -> Job | None:
    run = next(runs, None)
    return None if run is None else Job(run)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
