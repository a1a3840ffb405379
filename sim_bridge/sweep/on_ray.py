"""
Executor on a Ray cluster of any size.

A task makes a batch of runs in a separate process, like `local`. Crashes and timeouts in this
process are results for their runs; runs lost with a Ray worker or node are repeated elsewhere. A
batch takes about two seconds, so that the task overhead is small. The last batches are small,
so that all processors finish together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
import contextlib
import itertools
import logging
import os
from pathlib import Path
import socket
import time
from typing import Any, NamedTuple

from sim_bridge.foundation.errors import SimBridgeError, StateError
from sim_bridge.sweep.local import LocalExecutor
from sim_bridge.sweep.rows import CRASHED, processor, Row
from sim_bridge.sweep.study import read_study, Study

# set before the import of Ray: no usage statistics, and no warning about future changes
os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
os.environ.setdefault('RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO', '0')

import ray
import ray.exceptions

LOCAL = 'local'

_BATCH_S = 2.0
_LARGEST_BATCH = 500
# tasks for each processor, so that none waits for its next task
_AHEAD = 2
_LONGEST_WAIT_S = 0.5
_LOOK_S = 5.0
_ANSWER_S = 10.0
# Ray's workers and nodes may be lost for reasons outside the run
_ATTEMPTS = 5


class Batch(NamedTuple):
    """
    Runs for one task.

    source: the study's file; only its name if its folder was sent. digest: the study's digest.
    attempt: from 1.
    """

    source: str
    digest: str
    timeout_s: float
    runs: tuple[int, ...]
    attempt: int = 1


class RayExecutor:
    """Executor on a Ray cluster."""

    def __init__(self, address: str, timeout_s: float, ships: bool = False) -> None:
        """
        Set up the executor.

        address: cluster address, `auto` for a cluster on this machine, `local` to start
        one. timeout_s: time limit for a run [s]. ships: whether the study's folder is sent to the
        nodes.
        """
        self._address, self._timeout_s, self._ships = address, timeout_s, ships
        self._run_s = 0.0
        self._capacity, self._looked = 1, -_LOOK_S

    def describe(self) -> str:
        """Return the cluster in words."""
        return (
            'a Ray cluster here'
            if self._address == LOCAL
            else (f'the Ray cluster {self._address}')
        )

    def rows(self, study: Study, runs: Iterable[int]) -> Generator[list[Row], None, None]:
        """Yield rows, see `Executor`; raises StateError if the cluster cannot make any run."""
        self._connect(study)
        source = study.source.name if self._ships else str(study.source.resolve())
        pending, again = iter(runs), deque[Batch]()
        left = study.design.count
        tasks: dict[Any, Batch] = {}
        task = ray.remote(num_cpus=1, max_retries=0)(make_batch)
        try:
            while True:
                while len(tasks) < _AHEAD * self._processors():
                    batch = again.popleft() if again else self._next(study, source, pending, left)
                    if batch is None:
                        break
                    left -= len(batch.runs)
                    tasks[task.remote(batch)] = batch
                if not tasks:
                    return
                ready, _ = ray.wait(list(tasks), num_returns=1, timeout=_LONGEST_WAIT_S)
                if ready:
                    ready, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=0.0)
                found: list[Row] = []
                for reference in ready:
                    batch = tasks.pop(reference)
                    found += self._result(study, reference, batch, again)
                yield found
        finally:
            for reference in tasks:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)
            ray.shutdown()

    def _connect(self, study: Study) -> None:
        """Connect to the cluster, or start one; raises StateError without a cluster."""
        environment: dict[str, Any] = {}
        if self._ships:
            environment['working_dir'] = str(study.folder)
            # results may be large, and runs do not need them
            environment['excludes'] = ['*_results']
        try:
            _look_for(self._address)
            ray.init(
                address=self._address,
                runtime_env=environment or None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
        except (OSError, RuntimeError, ValueError) as err:
            said = str(err).splitlines()[0].rstrip('.')
            if _asks_for_token(err):
                raise StateError(
                    f'the Ray cluster {self._address!r} asks for a token: set RAY_AUTH_MODE=token '
                    "and give the cluster's token to Ray, as described in Ray's documentation"
                ) from err
            raise StateError(
                f'there is no Ray cluster at {self._address!r}: {said}. '
                'Start one with `ray start --head`, or let --ray local start one here'
            ) from err

    def _processors(self) -> int:
        """Return how many processors the cluster has now."""
        if time.monotonic() - self._looked > _LOOK_S:
            self._looked = time.monotonic()
            self._capacity = max(1, int(ray.cluster_resources().get('CPU', 1)))
        return self._capacity

    def _next(self, study: Study, source: str, pending: Iterator[int], left: int) -> Batch | None:
        """Return the next batch, None without further runs. left: remaining runs, at most."""
        # the first batch has one run, since the time per run is unknown
        size = min(_LARGEST_BATCH, int(_BATCH_S / self._run_s)) if self._run_s > 0.0 else 1
        size = min(size, left // (_AHEAD * self._capacity))
        runs = tuple(itertools.islice(pending, max(size, 1)))
        return Batch(source, study.digest, self._timeout_s, runs) if runs else None

    def _result(
        self, study: Study, reference: Any, batch: Batch, again: deque[Batch]
    ) -> list[Row]:
        """Return an ended task's rows; append runs to repeat to `again`."""
        try:
            rows: list[Row] = ray.get(reference)
        except ray.exceptions.RayTaskError as err:
            cause = err.cause if isinstance(err, ray.exceptions.RayTaskError) else None
            if isinstance(cause, SimBridgeError):
                raise StateError(str(cause)) from err
            raise StateError(f'a task of Ray failed: {str(err).splitlines()[-1]}') from err
        except ray.exceptions.RayError as err:
            # lost worker or node: the state of its runs is unknown
            if batch.attempt < _ATTEMPTS:
                again.extend(
                    batch._replace(runs=(run,), attempt=batch.attempt + 1) for run in batch.runs
                )
                return []
            return [_lost(study, run, batch.attempt, err) for run in batch.runs]
        for row in rows:
            row.attempts += batch.attempt - 1
        mean = sum(row.wall_s for row in rows) / max(len(rows), 1)
        self._run_s = mean if not self._run_s else 0.9 * self._run_s + 0.1 * mean
        return rows


def _asks_for_token(error: BaseException | None) -> bool:
    """Return whether an error, or any cause behind it, is a missing token."""
    while error is not None:
        if isinstance(error, ray.exceptions.AuthenticationError) or (
            'InvalidAuthToken' in str(error)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def _look_for(address: str) -> None:
    """Raise OSError if nobody listens at HOST:PORT; Ray would retry for minutes."""
    host, _, port = address.removeprefix('ray://').rpartition(':')
    if host and port.isdigit():
        socket.create_connection((host, int(port)), _ANSWER_S).close()


def _lost(study: Study, run: int, attempt: int, error: Exception) -> Row:
    """Return the row for a run lost with several workers."""
    kind, said = type(error).__name__, (str(error).splitlines() or [''])[0]
    return Row(
        run,
        CRASHED,
        f'{attempt} Ray workers were lost during this run, the last by {kind}: {said}',
        False if study.criteria else None,
        study.design.of(run),
        noise_seed=study.design.noise_seed(run),
        attempts=attempt,
        host=socket.gethostname(),
        processor=processor(),
    )


_kept: dict[tuple[str, str, float], tuple[Study, LocalExecutor]] = {}


def make_batch(batch: Batch) -> list[Row]:
    """
    Make a batch's runs; a Ray task.

    The worker process is kept for the next batch. Raises StateError if the study's file differs on
    this node.
    """
    key = batch.source, batch.digest, batch.timeout_s
    if key not in _kept:
        for _, executor in _kept.values():
            executor.close()
        _kept.clear()
        study = read_study(Path(batch.source))
        if study.digest != batch.digest:
            raise StateError(
                f'the study {batch.source} on {socket.gethostname()} has other content: share the '
                'files between nodes, or send them with --ship'
            )
        _kept[key] = study, LocalExecutor(1, batch.timeout_s, keeps=True)
    study, executor = _kept[key]
    return [row for rows in executor.rows(study, batch.runs) for row in rows]
