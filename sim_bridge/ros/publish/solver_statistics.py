"""Solver statistics over many control steps."""

from __future__ import annotations

import sim_bridge as sb
from sim_bridge.simulation.records import Worst


class SolverStatistics:
    """
    Solver statistics, written by the physics thread and read by another thread.

    unconverged: calls to `World.step` since the start that left a joint law or contact law
    unsatisfied. A reader may miss a call in progress, which no summary then includes; this avoids
    a lock.
    """

    def __init__(self, world: sb.World) -> None:
        """Start counting."""
        self._world = world
        self.unconverged = 0
        world.take_worst()

    def take(self) -> Worst:
        """Return a summary of the solver's work since the last call."""
        worst: Worst = self._world.take_worst()
        self.unconverged += worst.unconverged
        return worst
