"""Step reports, from the numbers that kernels have recorded."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.contact_problem import Solution
from sim_bridge.sensors.step_and_sample import PIVOTS, TAKEN, UNCONVERGED
from sim_bridge.simulation.records import StepReport, Worst


def report_of(
    progress: np.ndarray, solution: Solution, contacts: int, tolerance: float
) -> StepReport:
    """
    Return the report of the last call of `step`.

    progress: (3,) as `sensors.step_and_sample` numbers it. contacts: in the last step.
    tolerance: of the solver [m/s].
    """
    islands, sweeps, newtons = solution.effort.tolist() if contacts else (0, 0, 0)
    residual, complementarity, penetration = solution.residual.tolist()
    taken, pivots, unconverged = (int(progress[at]) for at in (TAKEN, PIVOTS, UNCONVERGED))
    return StepReport(
        taken, pivots, unconverged == 0 and residual <= tolerance, contacts, islands, sweeps,
        newtons, residual, complementarity, penetration, tolerance)


def take_worst(worst_inout: np.ndarray) -> Worst:
    """Return what `sensors.step_and_sample` has summed up, (9,), and begin anew."""
    *counts, residual, complementarity, penetration = worst_inout.tolist()
    unconverged, pivots, contacts, islands, sweeps, newton_steps = map(int, counts)
    worst_inout[:] = 0.0
    return Worst(
        unconverged, pivots, contacts, islands, sweeps, newton_steps, residual, complementarity,
        penetration)
