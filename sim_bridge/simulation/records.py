"""World reports: energy, momentum and step reports; and the sleep settings."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

from sim_bridge.engine.data.contact_problem import Solution
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import number_from
from sim_bridge.sensors.step_and_sample import PIVOTS, TAKEN, UNCONVERGED

_AT_LEAST_0 = 'a number of at least 0'
_MOST_STEPS = 1_000_000


class Energy(NamedTuple):
    """
    Energy [J].

    Potential: gravity and force fields, uniform ones zero at the world's origin; and the energy
    stored in springs, elastic stops, and compliant joints and contacts. Servos, and gravity and
    fields defined by functions, have none. Kinetic: from the masses themselves, without a medium's
    added mass.
    """

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Their sum [J]."""
        return self.kinetic + self.potential


class Momentum(NamedTuple):
    """
    Momentum, world axes.

    linear: (3,) [kg m/s]. angular: (3,) [kg m²/s], about the world's origin.
    """

    linear: FloatArray
    angular: FloatArray


class StepReport(NamedTuple):
    """
    How the last `step` call went; over several steps the worst.

    steps: number taken. pivots: the most changes to the set of joints locked by stops and
    friction that one step needed. converged: whether in every step every stop, motor, friction and
    contact law holds, contacts to the tolerance, and loops are closed to 1e-6, dependent
    rows to 1e-3 (joints, and motors without limits, may contradict each other).
    contacts, islands: in the last step. sweeps, newton_steps: the most that an island took in the
    last step. residual: the contacts' natural map [m/s]: 0 for an exact solution, else a
    velocity unaccounted for. complementarity: |normal impulse times velocity| [J]. penetration:
    deepest at a step's start [m]. tolerance: the residual that the world's solver aims at
    [m/s]. Larger residuals converge, too, if they cannot be seen: up to 1e-7 m/s at rest, for
    bodies in motion up to 1e-4 of their velocity, in impacts up to 1e-3 of the velocity change in
    the step, at most 1e-2 m/s.
    """

    steps: int = 0
    pivots: int = 0
    converged: bool = True
    contacts: int = 0
    islands: int = 0
    sweeps: int = 0
    newton_steps: int = 0
    residual: float = 0.0
    complementarity: float = 0.0
    penetration: float = 0.0
    tolerance: float = 0.0


class Worst(NamedTuple):
    """
    The greatest figures in the reports on several `World.step` calls, as in `StepReport`.

    unconverged: number of calls without convergence.
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


@dataclass(frozen=True)
class Sleep:
    """
    When bodies at rest fall asleep, ODE's auto-disable; a disturbance wakes them.

    linear, angular: speed limits for a body at rest [m/s, rad/s]; infinite: any. steps, time:
    duration at rest, in steps and in seconds; bodies touching each other fall asleep together.
    average_samples: number of steps over which velocities are averaged.
    """

    linear: float = 0.01
    angular: float = 0.01
    steps: int = 10
    time: float = 0.0
    average_samples: int = 1

    def __post_init__(self) -> None:
        """Raise InvalidValueError unless a value is a number >= 0."""
        for name in ('linear', 'angular'):
            if getattr(self, name) != math.inf:
                number_from(name, getattr(self, name), 0.0, math.inf, 'Sleep', _AT_LEAST_0)
        number_from('time', self.time, 0.0, math.inf, 'Sleep', _AT_LEAST_0)
        for name, least in (('steps', 0), ('average_samples', 1)):
            expected = f'a whole number from {least} to {_MOST_STEPS}'
            value = number_from(name, getattr(self, name), least, _MOST_STEPS, 'Sleep', expected)
            if value != int(value):
                raise InvalidValueError(name, value, expected, 'Sleep')
            object.__setattr__(self, name, int(value))


def report_of(
    progress: FloatArray, solution: Solution, contacts: int, tolerance: float
) -> StepReport:
    """
    Return the report on the last `step` call.

    progress: (4,) as numbered in `sensors.step_and_sample`. contacts: in the last step.
    tolerance: the solver's [m/s].
    """
    islands, sweeps, newtons = solution.effort.tolist() if contacts else (0, 0, 0)
    residual, complementarity, penetration, excess = solution.residual.tolist()
    taken, pivots, unconverged = (int(progress[at]) for at in (TAKEN, PIVOTS, UNCONVERGED))
    return StepReport(
        taken,
        pivots,
        unconverged == 0 and excess <= 1.0,
        contacts,
        islands,
        sweeps,
        newtons,
        residual,
        complementarity,
        penetration,
        tolerance,
    )


def take_worst(worst_inout: FloatArray) -> Worst:
    """Return the figures summed up by `sensors.step_and_sample`, (9,), and clear them."""
    *counts, residual, complementarity, penetration = worst_inout.tolist()
    worst_inout[:] = 0.0
    return Worst._make([*map(int, counts), residual, complementarity, penetration])
