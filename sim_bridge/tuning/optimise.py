"""Search for a tuning's best values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import differential_evolution, NonlinearConstraint
import yaml

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InfeasibleError, InvalidValueError
from sim_bridge.foundation.validation import whole_number
from sim_bridge.tuning.candidates import Candidates
from sim_bridge.tuning.measures import Constraint, Measure, Signals
from sim_bridge.tuning.tuning_file import read_tuning, Tuning

# cost if the simulation fails or the measure is not finite
_FAILED = 1e12
_LEAST_POPULATION, _BY_RANGE = 16, 10
_TOLERANCE = 1e-4
# a constraint binds at a smaller relative distance to its limit
_NEAR = 1e-2
# argument name since scipy 1.15
_GENERATOR = 'rng' if 'rng' in signature(differential_evolution).parameters else 'seed'


class Limit(NamedTuple):
    """Constraint: text, measure value, whether it is allowed, whether it is at the limit."""

    text: str
    value: float
    holds: bool
    binds: bool


@dataclass(frozen=True, eq=False)
class Tuned:
    """
    Tuning result.

    values: by the names under `vary`. cost: minimised measure. limits: constraints. evaluations:
    simulated candidates. is_converged: whether the search converged. at_limit: names whose values
    are at the ends of their ranges; a better value may lie beyond. gains: p and d by joint, for
    all servos.
    """

    values: dict[str, float]
    cost: float
    limits: tuple[Limit, ...]
    evaluations: int
    is_converged: bool
    at_limit: tuple[str, ...]
    gains: dict[str, dict[str, float]]

    def __repr__(self) -> str:
        """Show values and cost."""
        values = ', '.join(f'{name}: {value:.4g}' for name, value in self.values.items())
        return f'<Tuned {values}; cost {self.cost:.4g} by {self.evaluations} simulations>'

    def as_plain(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            'values': self.values,
            'cost': self.cost,
            'constraints': [each._asdict() for each in self.limits],
            'evaluations': self.evaluations,
            'converged': self.is_converged,
            'at_limit': list(self.at_limit),
            'gains': self.gains,
        }

    def parameters(self) -> str:
        """Return a node parameter file with the joints' control modes and gains."""
        content = {
            '/**/sim_bridge': {
                'ros__parameters': {
                    'control': dict.fromkeys(self.gains, 'servo'),
                    'gains': self.gains,
                }
            }
        }
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def optimise(
    tuning: str | Path | Mapping[str, Any],
    *,
    seed: int = 0,
    rounds: int = 60,
    population: int | None = None,
    progress: Callable[[int, float], None] = lambda done, cost: None,
) -> Tuned:
    """
    Return the values that minimise a measure of simulated motion, within constraints.

    tuning: a tuning file or a mapping with its contents. seed: equal seeds give equal searches.
    rounds: maximum generations in scipy's differential evolution. population: candidates
    per generation, simulated at once; None: by the number of ranges. progress: called after each
    generation with its number and the least cost so far.

    Raises InvalidValueError and UnknownNameError naming the error in the file, and InfeasibleError
    if no candidate fulfils the constraints.
    """
    read = read_tuning(tuning)
    seed, rounds = whole_number('seed', seed), whole_number('rounds', rounds)
    if rounds < 1:
        raise InvalidValueError('rounds', rounds, 'at least 1')
    count = len(read.vary)
    if population is None:
        population = max(_BY_RANGE * count, _LEAST_POPULATION)
    elif whole_number('population', population) < 5:
        raise InvalidValueError('population', population, 'at least 5 candidates')
    search = _Search(read, population)
    limits = (
        [
            NonlinearConstraint(
                search.measures,
                [-np.inf if each.is_upper else each.bound for each in read.constraints],
                [each.bound if each.is_upper else np.inf for each in read.constraints],
            )
        ]
        if read.constraints
        else ()
    )
    done = [0]

    def report(share: FloatArray, convergence: float) -> None:
        done[0] += 1
        progress(done[0], float(search.costs(share[:, np.newaxis])[0]))

    ranges = search.candidates.ranges
    start = np.random.default_rng(seed).uniform(size=(population, count))
    # the first candidates include all ranges' ends and middles
    start[:3] = np.array([[0.0], [0.5], [1.0]])
    # report errors in measures before scipy wraps them in its own error
    search.costs(start.T)
    # scipy requests a whole generation's costs at once
    found = differential_evolution(
        search.costs,
        [(0.0, 1.0)] * count,
        init=start,
        maxiter=rounds,
        tol=_TOLERANCE,
        atol=0.0,
        vectorized=True,
        updating='deferred',
        polish=False,
        constraints=limits,
        callback=report,
        **{_GENERATOR: np.random.default_rng(seed)},
    )
    best = np.clip(found.x, 0.0, 1.0)
    cost = float(search.costs(best[:, np.newaxis])[0])
    measured = search.measures(best[:, np.newaxis])[:, 0] if read.constraints else ()
    told = tuple(
        Limit(each.text, float(value), each.holds(float(value)), _binds(each, float(value)))
        for each, value in zip(read.constraints, measured, strict=True)
    )
    broken = [each for each in told if not each.holds]
    if broken:
        raise InfeasibleError(
            f'{read.place}: none of {search.evaluations} candidates fulfils '
            + ' and '.join(f'{each.text!r} (nearest: {each.value:.6g})' for each in broken)
            + '; widen the ranges under vary, or loosen the constraint'
        )
    if cost >= _FAILED:
        raise InvalidValueError(
            'minimise',
            read.minimise.text,
            'a measure that is finite for some of the candidates',
            read.place,
        )
    values = {
        each.name: float(each.value(share)) for each, share in zip(ranges, best, strict=True)
    }
    at_limit = tuple(
        each.name
        for each, share in zip(ranges, best, strict=True)
        if not 1e-3 < share < 1.0 - 1e-3
    )
    return Tuned(
        values, cost, told, search.evaluations, bool(found.success), at_limit, search.gains(values)
    )


class _Search:
    """Candidates' costs and measures, stored for repeated requests."""

    def __init__(self, tuning: Tuning, population: int) -> None:
        self._tuning, self._population = tuning, population
        self.candidates = Candidates(tuning, population)
        self.evaluations = 0
        self._known: dict[bytes, FloatArray] = {}

    def costs(self, shares: FloatArray) -> FloatArray:
        """Return (S,) costs for candidates (ranges, S)."""
        return self._rows(shares)[:, 0]

    def measures(self, shares: FloatArray) -> FloatArray:
        """Return (constraints, S) measures for candidates (ranges, S)."""
        return self._rows(np.atleast_2d(shares.T).T)[:, 1:].T

    def gains(self, values: dict[str, float]) -> dict[str, dict[str, float]]:
        """Return all servo gains, including constant ones."""
        found = {joint: {'p': p, 'd': d} for joint, (p, d) in self._tuning.gains.items()}
        for each in self.candidates.ranges:
            if each.attribute in ('kp', 'kd'):
                for joint in each.joints:
                    found.setdefault(joint, {'p': 0.0, 'd': 0.0})[each.attribute[1]] = values[
                        each.name
                    ]
        return found

    def _rows(self, shares: FloatArray) -> FloatArray:
        """Return (S, 1 + constraints); stored, because scipy requests costs and constraints."""
        columns = shares[:, np.newaxis] if shares.ndim == 1 else shares
        points = np.ascontiguousarray(np.clip(columns.T, 0.0, 1.0))
        if not len(points):
            return np.empty((0, 1 + len(self._tuning.constraints)))
        new = [point for point in points if point.tobytes() not in self._known]
        for begin in range(0, len(new), self._population):
            part = np.array(new[begin : begin + self._population])
            values = np.stack(
                [each.value(part[:, k]) for k, each in enumerate(self.candidates.ranges)], axis=-1
            )
            signals, failed = self.candidates.signals(values)
            rows = np.stack(
                [
                    _finite(each, signals, failed)
                    for each in (
                        self._tuning.minimise,
                        *(one.measure for one in self._tuning.constraints),
                    )
                ],
                -1,
            )
            for column, each in enumerate(self._tuning.constraints, 1):
                if not each.is_upper:
                    rows[rows[:, column] == _FAILED, column] = -_FAILED
            self.evaluations += len(part)
            for point, row in zip(part, rows, strict=True):
                self._known[point.tobytes()] = row
        return np.array([self._known[point.tobytes()] for point in points])


def _finite(measure: Measure, signals: Signals, failed: FloatArray) -> FloatArray:
    """Return a measure (S,); worlds that failed, or whose measure is not finite, get _FAILED."""
    values = measure.of(signals)
    found: FloatArray = np.where(failed | ~np.isfinite(values), _FAILED, values)
    return found


def _binds(constraint: Constraint, value: float) -> bool:
    return abs(value - constraint.bound) <= _NEAR * max(abs(constraint.bound), 1e-9)
