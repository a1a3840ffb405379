"""World settings, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from types import MappingProxyType
from typing import Any, NamedTuple

from sim_bridge.description.origin import Origin
from sim_bridge.engine.contact.budget import MOST_WORK
from sim_bridge.engine.data.contact_materials import DIRECT, ITERATIVE, SPLIT
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import instance_of, number_from, one_of, truth, whole_number
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.simulation.records import Sleep

SOLVERS: Mapping[str, int] = MappingProxyType(
    {'direct': DIRECT, 'iterative': ITERATIVE, 'split': SPLIT}
)
_INTEGRATORS = ('midpoint', 'momentum', 'rk5')
_MOST_ITERATIONS = 1_000_000
_LEAST_BUDGET = 1000
STEP_BUDGET = 500_000
"""Default bound on the multiplications for a contact island in a step."""


class Settings(NamedTuple):
    """
    World settings; the checked arguments to `World`.

    time_step_ns, seed: constant. sleep: None: nothing sleeps. iterations: None: the solver's
    number. erp, cfm: for joints and contacts without their own. step_budget: None: no bound.
    origin: place on the Earth; None: not known. surroundings: light and sky for cameras.
    """

    time_step_ns: int
    seed: int
    solver: str
    integrator: str
    contact_margin: float
    sleep: Sleep | None
    iterations: int | None
    erp: float
    cfm: float
    step_budget: int | None
    origin: Origin | None = None
    surroundings: Surroundings = Surroundings()

    def changed(self, name: str, value: object) -> Settings:
        """Return them with another value, checked; raises InvalidValueError."""
        return self._replace(**{name: checked(name, value)})


def checked(name: str, value: object) -> Any:
    """Return a setting's value as in `Settings`; raises InvalidValueError."""
    return _CHECKS[name](value)


def _time_step_ns(value: object) -> int:
    seconds = number_from('time_step', value, 1e-9, 1.0, '', 'a number from 1e-9 to 1 [s]')
    return round(seconds * 1e9)


def _margin(value: object) -> float:
    if not isinstance(value, (int, float)) or not 0.0 <= value < 1.0:
        raise InvalidValueError('contact_margin', value, 'from 0 to below 1 [m]')
    return float(value)


def _sleep(value: object) -> Sleep | None:
    if value is None or isinstance(value, Sleep):
        return value
    return Sleep() if truth('sleep', value, expected='True, False or a sim_bridge.Sleep') else None


def _iterations(value: object) -> int | None:
    if value is None:
        return None
    number = whole_number('iterations', value)
    if not 1 <= number <= _MOST_ITERATIONS:
        raise InvalidValueError(
            'iterations', value, f'a whole number from 1 to {_MOST_ITERATIONS}, or None'
        )
    return number


def _budget(value: object) -> int | None:
    if value is None:
        return None
    number = whole_number('step_budget', value)
    if not _LEAST_BUDGET <= number <= MOST_WORK:
        raise InvalidValueError(
            'step_budget',
            value,
            f'a whole number from {_LEAST_BUDGET} to {MOST_WORK}, or None for no bound',
        )
    return number


def _origin(value: object) -> Origin | None:
    if value is None:
        return None
    return instance_of('origin', value, Origin, 'a sim_bridge.Origin, or None')


_CHECKS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        'time_step_ns': _time_step_ns,
        'seed': lambda value: whole_number('seed', value),
        'solver': lambda value: one_of('solver', value, SOLVERS),
        'integrator': lambda value: one_of('integrator', value, _INTEGRATORS),
        'contact_margin': _margin,
        'sleep': _sleep,
        'iterations': _iterations,
        'erp': lambda value: number_from('erp', value, 0.0, 1.0, '', 'a share from 0 to 1'),
        'cfm': lambda value: number_from(
            'cfm', value, 0.0, math.inf, '', 'a finite number of at least 0 [m/(N s), rad/(N m s)]'
        ),
        'step_budget': _budget,
        'origin': _origin,
        'surroundings': lambda value: instance_of(
            'surroundings', value, Surroundings, 'a sim_bridge.Surroundings'
        ),
    }
)
