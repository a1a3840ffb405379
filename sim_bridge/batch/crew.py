"""The threads that step the worlds of a batch, each with arrays to work in."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np

from sim_bridge.batch.rows import Rows
from sim_bridge.compiler.calls import Call
from sim_bridge.sensors.advance_worlds import advance_worlds
from sim_bridge.simulation.simulation import Simulation

# shares of the work for each thread: some take longer than others
_SHARES = 4
# argument of `advance_worlds`
_WHICH = 5


class Crew:
    """
    Steps worlds by several threads; which one steps a world changes no bit of it.

    A thread has the arrays of a simulation to work in: what steps write there before they read it
    is its own, what belongs to worlds is in the rows of common arrays.
    """

    def __init__(self, simulations: Sequence[Simulation]) -> None:
        """Take a simulation for each thread, all of the same structure."""
        self._simulations = simulations
        self._calls: list[Call] = []
        self._pool: ThreadPoolExecutor | None = None
        if len(simulations) > 1:
            self._pool = ThreadPoolExecutor(len(simulations) - 1, 'batch')

    def connect(self, rows: Rows, task: np.ndarray) -> None:
        """Use arrays from now on. task: (n, TASK_SIZE) as of `advance_worlds`."""
        self._calls = []
        for simulation in self._simulations:
            simulation.make_room(rows.contact_room)
            simulation.warm_up()
            run = simulation.stepper.run
            self._calls.append(advance_worlds.prepare(
                np.array(run.place, np.int64), run.words, run.first, run.result,
                rows.places_in(simulation), np.zeros(0, np.int64), task))

    def run(self, which: np.ndarray) -> None:
        """Advance worlds as their tasks say. which: (k,) their numbers."""
        share = max(-(-len(which) // (_SHARES * len(self._calls))), 1)
        # the interpreter's lock keeps two threads from the same number
        shares = count(0, share)

        def work(call: Call) -> None:
            while (first := next(shares)) < len(which):
                call.replace(_WHICH, which[first : first + share])
                call()

        if self._pool is None or len(which) <= share:
            share = max(len(which), 1)
            shares = count(0, share)
            work(self._calls[0])
            return
        others = [self._pool.submit(work, call) for call in self._calls[1:]]
        work(self._calls[0])
        for other in others:
            other.result()
