"""How the solver fares, summed up over many control steps."""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.records import StepReport


@dataclasses.dataclass
class SolverSummary:
    """
    The worst of some control steps; the units are those of `StepReport`.

    unconverged: how many left a law of a joint or a contact unfulfilled.
    """

    unconverged: int = 0
    pivots: int = 0
    contacts: int = 0
    islands: int = 0
    sweeps: int = 0
    newton_steps: int = 0
    residual: float = 0.0
    complementarity: float = 0.0
    penetration: float = 0.0


# what a summary takes from reports: the greatest of all but the first
_FIELDS = dataclasses.fields(SolverSummary)[1:]
_values = attrgetter(*(field.name for field in _FIELDS))


class _Tally:
    """What a summary is made of."""

    def __init__(self) -> None:
        self.unconverged = 0
        self.greatest = [field.default for field in _FIELDS]
        self.latest: tuple[float, ...] = ()


class SolverStatistics:
    """
    Written by the physics thread, read by another.

    unconverged: control steps since the start that did not converge. A reader may miss a step that
    is being recorded, which is in no summary then; so there is no lock.
    """

    def __init__(self) -> None:
        """Start counting."""
        self.unconverged = 0
        self._tally = _Tally()

    def record(self, report: StepReport) -> None:
        """Take account of a control step."""
        tally = self._tally
        if not report.converged:
            self.unconverged += 1
            tally.unconverged += 1
        values = _values(report)
        # where nothing touches they stay as they are
        if values != tally.latest:
            tally.latest = values
            tally.greatest = list(map(max, tally.greatest, values))

    def take(self) -> SolverSummary:
        """Sum up what was recorded since the last call."""
        tally, self._tally = self._tally, _Tally()
        return SolverSummary(tally.unconverged, *tally.greatest)
