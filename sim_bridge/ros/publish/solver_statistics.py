"""How the solver fares, summed up over many control steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.simulation.records import Worst


class SolverStatistics:
    """
    Written by the physics thread, where steps are taken, and read by another.

    unconverged: calls of `World.step` since the start that left a law of a joint or a contact
    unfulfilled. A reader may miss one that is under way, which is in no summary then; so there is
    no lock.
    """

    def __init__(self, world: sb.World) -> None:
        """Start counting."""
        self._world = world
        self.unconverged = 0
        world.take_worst()

    def take(self) -> Worst:
        """Sum up what the world did since the last call."""
        worst: Worst = self._world.take_worst()
        self.unconverged += worst.unconverged
        return worst
