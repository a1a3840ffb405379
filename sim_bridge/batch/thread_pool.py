"""Thread pool for stepping a batch; each thread has its own workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from sim_bridge.batch.rows import Rows
from sim_bridge.compiler.calls import Call
from sim_bridge.foundation import forks
from sim_bridge.sensors.advance_worlds import advance_worlds, observe_worlds
from sim_bridge.simulation.simulation import Simulation

# work portions per thread, since some take longer than others
_SHARES = 4
# argument indices in `advance_worlds` and `observe_worlds`
_WHICH, _OBSERVED = 5, 3


class ThreadPool:
    """
    Thread pool for stepping worlds; a world's results do not depend on its thread, to the bit.

    Each thread uses one simulation's arrays as workspace. Arrays that belong to worlds are
    rows in common arrays. An interrupted call leaves threads running: make it once more,
    which first waits for them.
    """

    def __init__(self, simulations: Sequence[Simulation], rows: Rows, task: np.ndarray) -> None:
        """
        Take one simulation for each thread, all with the same structure.

        task: (n, TASK_SIZE), see `advance_worlds`.
        """
        self._simulations, self._rows, self._task = simulations, rows, task
        self._advance: list[Call] = []
        self._observe: list[Call] = []
        self._connected: Mapping[str, np.ndarray] | None = None
        self._portions: Iterator[np.ndarray] | None = None
        self._start_again()
        forks.in_child(self, ThreadPool._start_again)

    def __len__(self) -> int:
        """Return the number of threads, with the calling one."""
        return len(self._simulations)

    def _start_again(self) -> None:
        """Start other threads at the next call, in a forked child process."""
        self._pool: ThreadPoolExecutor | None = None
        self._busy = [Lock() for _ in self._simulations[1:]]

    @property
    def _threads(self) -> ThreadPoolExecutor:
        """The threads beside the calling one."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self) - 1, 'batch')
        return self._pool

    def connect(self) -> None:
        """Use the present rows from now on."""
        rows = self._rows.all
        if self._connected is rows:
            return
        advance, observe = [], []
        for simulation in self._simulations:
            simulation.cache.make_room(self._rows.contact_room)
            simulation.runner.warm_up()
            calls, places = simulation.cache.stepper.calls, self._rows.places_in(simulation)
            nobody = np.zeros(0, np.int64)
            advance.append(
                advance_worlds.prepare(
                    np.array(calls.advance, np.int64),
                    calls.words,
                    calls.first,
                    calls.result,
                    places,
                    nobody,
                    self._task,
                )
            )
            observe.append(
                observe_worlds.prepare(
                    calls.observer,
                    np.array(calls.observe, np.int64),
                    places,
                    nobody,
                    self._task,
                    simulation.run.time_step,
                )
            )
        self._advance, self._observe, self._connected = advance, observe, rows

    def wait(self) -> None:
        """Wait until the threads of an interrupted call have ended their present portions."""
        self._portions = None
        for busy in self._busy:
            with busy:
                pass

    def advance(self, which: np.ndarray) -> None:
        """Advance worlds by their tasks. which: (k,) world numbers."""
        self.wait()
        self.connect()
        self._share(self._advance, _WHICH, which)

    def observe(self, which: np.ndarray) -> None:
        """Write the worlds' observed sites at their present states."""
        self.wait()
        self.connect()
        self._share(self._observe, _OBSERVED, which)

    def _share(self, calls: Sequence[Call], argument: int, which: np.ndarray) -> None:
        """Run calls for worlds; each thread takes one portion at a time."""
        shares = _SHARES * len(calls) if len(calls) > 1 else 1
        size = max(-(-len(which) // shares), 1)
        # the interpreter lock makes `next` atomic
        portions = self._portions = iter(
            [which[first : first + size] for first in range(0, len(which), size)]
        )
        others = []
        if len(which) > size:
            others = [
                self._threads.submit(self._work_beside, busy, portions, call, argument)
                for busy, call in zip(self._busy, calls[1:], strict=True)
            ]
        self._work(portions, calls[0], argument)
        for other in others:
            other.result()

    def _work_beside(
        self, busy: Lock, portions: Iterator[np.ndarray], call: Call, argument: int
    ) -> None:
        with busy:
            self._work(portions, call, argument)

    def _work(self, portions: Iterator[np.ndarray], call: Call, argument: int) -> None:
        """Run a call for one portion after the other, while these are the wanted ones."""
        while self._portions is portions:
            portion = next(portions, None)
            if portion is None:
                return
            call.replace(argument, portion)
            call()
