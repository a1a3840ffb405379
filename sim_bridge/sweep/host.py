"""
Host: separate process for runs, supervised by its parent.

A run that crashes its process, exhausts the memory or takes too long costs this process and no
other run. Processes end with their parent.
"""

from __future__ import annotations

import contextlib
from multiprocessing.connection import Connection
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, NamedTuple, TYPE_CHECKING

from sim_bridge.foundation.errors import shortened, StateError
from sim_bridge.sweep.rows import CRASHED, HUNG, processor, Row
from sim_bridge.trust.child import python_module

if TYPE_CHECKING:
    from sim_bridge.sweep.study import Study

_WORKER = 'sim_bridge.sweep.worker'
LOADED = 'loaded'
"""Message of a process after it has built the world of a run."""

# time limit for building a world: kernels may compile for minutes on shared processors [s]
_LOADING_S = 900.0
# longest quote from a process's output in reasons [bytes]
_TAIL = 600
_READ = 1 << 16
_FATAL, _MODULES = 'Fatal Python error: ', '\nExtension modules: '
_MOST_OUTPUT = 1 << 20


class Job(NamedTuple):
    """Run to make. bag: folder for its recording, '' for none. attempt: from 1."""

    run: int
    bag: str = ''
    attempt: int = 1


class Host:
    """Process for one run at a time."""

    def __init__(self, study: Study, timeout_s: float) -> None:
        """Start the process; timeout_s: time limit for a run, after its world is built [s]."""
        self._study, self._timeout_s = study, timeout_s
        self._output = tempfile.TemporaryFile(prefix='sim_bridge_sweep_')  # noqa: SIM115
        self.job: Job | None = None
        self._deadline = self._begun = 0.0
        self._limit_s = 0.0
        ours, theirs = socket.socketpair()
        with theirs:
            self.connection = Connection(ours.detach())
            environment = {
                # matrices are small, and each run has one processor
                'OPENBLAS_NUM_THREADS': '1',
                **os.environ,
                'PYTHONPATH': os.pathsep.join(each or os.getcwd() for each in sys.path),
                'PYTHONFAULTHANDLER': '1',
            }
            try:
                self._process = subprocess.Popen(
                    python_module(_WORKER, str(theirs.fileno()), str(study.source.resolve())),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                self.connection.close()
                self._output.close()
                raise

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def left_s(self) -> float:
        """Remaining time for the present run [s]."""
        return self._deadline - time.monotonic()

    def begin(self, job: Job) -> None:
        """Begin a run; the process must be idle."""
        self.job = job
        self._begun = time.monotonic()
        self._allow(_LOADING_S)
        # output from earlier runs does not explain this one
        if os.fstat(self._output.fileno()).st_size > _MOST_OUTPUT:
            os.ftruncate(self._output.fileno(), 0)
        # `result` detects an ended process
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def result(self) -> Row | None:
        """
        Return the present run's row if it has ended in any way, else None.

        If the process died or took too long, it is closed: `is_alive` is False. Raises StateError
        if the process cannot make runs at all.
        """
        job = self.job
        assert job is not None
        try:
            while self.connection.poll(0.0):
                found = self.connection.recv()
                if found == LOADED:
                    self._allow(self._timeout_s)
                    continue
                if isinstance(found, str):
                    raise StateError(f'a worker process cannot make runs: {found}')
                row: Row = found
                self.job = None
                row.attempts = job.attempt
                return row
        except (EOFError, OSError):
            self._process.wait()
            return self._failed(CRASHED, f'its process {self._end()}')
        if self.left_s <= 0.0:
            return self._failed(HUNG, f'took longer than {self._limit_s:g} s')
        return None

    def _allow(self, seconds: float) -> None:
        """Set the run's time limit, from now [s]."""
        self._limit_s, self._deadline = seconds, time.monotonic() + seconds

    @property
    def is_alive(self) -> bool:
        """Whether the process can make another run."""
        return not self.connection.closed

    def close(self) -> None:
        """Kill the process and all its children."""
        if self.connection.closed:
            return
        self.connection.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._output.close()

    def _failed(self, status: str, reason: str) -> Row:
        """Return the row for a run without a result, and close the process."""
        job, said = self.job, said_by(self._output)
        assert job is not None
        self.job = None
        self.close()
        study = self._study
        return Row(
            job.run,
            status,
            shortened(f'{reason}{said}', 2 * _TAIL),
            False if study.criteria else None,
            study.design.of(job.run),
            noise_seed=study.design.noise_seed(job.run),
            attempts=job.attempt,
            wall_s=time.monotonic() - self._begun,
            host=socket.gethostname(),
            processor=processor(),
        )

    def _end(self) -> str:
        """Return in words how the process ended."""
        code = self._process.returncode
        if code >= 0:
            return f'ended with exit code {code}'
        with contextlib.suppress(ValueError):
            return f'was ended by {signal.Signals(-code).name}'
        return f'was ended by signal {-code}'


def said_by(output: IO[bytes]) -> str:
    """
    Return the end of a process's output file, for the reason in a row.

    For a Python crash, return the crash location without the module list after it.
    """
    size = os.fstat(output.fileno()).st_size
    output.seek(max(0, size - _READ))
    text = output.read().decode(errors='replace')
    before, fatal, after = text.rpartition(_FATAL)
    if fatal:
        # the latest calls come first; other threads are idle
        text = (fatal + after).partition(_MODULES)[0][:_TAIL]
    text = text.strip()[-_TAIL:]
    return f'; it said: {text}' if text else ''


def run_apart(study: Study, run: int, timeout_s: float, bag: str = '') -> Row:
    """
    Make one run in a separate process and return its row.

    bag: folder for its recording. Raises StateError, RecordingError.
    """
    host = Host(study, timeout_s)
    try:
        host.begin(Job(run, bag))
        while True:
            host.connection.poll(max(min(host.left_s, 1.0), 0.0))
            row = host.result()
            if row is not None:
                return row
    finally:
        host.close()
