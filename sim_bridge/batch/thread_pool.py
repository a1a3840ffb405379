"""Thread pool for stepping a batch; each thread has its own workspace."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np

from sim_bridge.batch.rows import Rows
from sim_bridge.compiler.calls import Call
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
    rows in common arrays.
    """

    def __init__(self, simulations: Sequence[Simulation]) -> None:
        """Take one simulation for each thread, all with the same structure."""
        self._simulations = simulations
        self._advance: list[Call] = []
        self._observe: list[Call] = []
        self._pool: ThreadPoolExecutor | None = None

    def start_again(self) -> None:
        """Start other threads at the next call, in a forked child process."""
        self._pool = None

    @property
    def _threads(self) -> ThreadPoolExecutor:
        """The threads beside the calling one."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._simulations) - 1, 'batch')
        return self._pool

    def connect(self, rows: Rows, task: np.ndarray) -> None:
        """Use these arrays from now on. task: (n, TASK_SIZE), see `advance_worlds`."""
        self._advance, self._observe = [], []
        for simulation in self._simulations:
            simulation.cache.make_room(rows.contact_room)
            simulation.runner.warm_up()
            calls, places = simulation.cache.stepper.calls, rows.places_in(simulation)
            nobody = np.zeros(0, np.int64)
            self._advance.append(
                advance_worlds.prepare(
                    np.array(calls.advance, np.int64),
                    calls.words,
                    calls.first,
                    calls.result,
                    places,
                    nobody,
                    task,
                )
            )
            self._observe.append(
                observe_worlds.prepare(
                    calls.observer,
                    np.array(calls.observe, np.int64),
                    places,
                    nobody,
                    task,
                    simulation.run.time_step,
                )
            )

    def advance(self, which: np.ndarray) -> None:
        """Advance worlds by their tasks. which: (k,) world numbers."""
        self._share(self._advance, _WHICH, which)

    def observe(self, which: np.ndarray) -> None:
        """Write the worlds' observed sites at their present states."""
        self._share(self._observe, _OBSERVED, which)

    def _share(self, calls: Sequence[Call], argument: int, which: np.ndarray) -> None:
        """Run calls for worlds; each thread takes one portion at a time."""
        has_threads = len(calls) > 1
        share = max(-(-len(which) // (_SHARES * len(calls))), 1)
        if not has_threads:
            share = max(len(which), 1)
        # the interpreter lock makes `next` atomic
        shares = count(0, share)

        def work(call: Call) -> None:
            while (first := next(shares)) < len(which):
                call.replace(argument, which[first : first + share])
                call()

        others = []
        if has_threads and len(which) > share:
            others = [self._threads.submit(work, call) for call in calls[1:]]
        work(calls[0])
        for other in others:
            other.result()
