"""Values and distributions of study inputs, defined by quantiles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sim_bridge.description.yaml.section import Section

# probabilities closer to 0 or 1 have no finite normal quantile in double precision
_LEAST = 2.0**-54

FLOAT, INTEGER, FLAG, TEXT, JSON = 'float', 'integer', 'flag', 'text', 'json'
"""Value kinds for tables; JSON: lists, mappings and values of mixed kinds, as text."""


class Distribution(ABC):
    """Distribution of an input's values."""

    kind: str
    """Value kind, for example FLOAT."""

    @abstractmethod
    def quantile(self, u: float) -> Any:
        """Return the quantile for a probability u, 0 <= u < 1."""


@dataclass(frozen=True)
class Values(Distribution):
    """Finite set: values with equal probability."""

    values: tuple[Any, ...]

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Common value kind."""
        kinds = {_kind_of(value) for value in self.values}
        if kinds == {INTEGER, FLOAT}:
            return FLOAT
        return kinds.pop() if len(kinds) == 1 else JSON

    def quantile(self, u: float) -> Any:
        """Return value number floor(u n) of n."""
        return self.at(min(int(u * len(self.values)), len(self.values) - 1))

    def at(self, k: int) -> Any:
        """Return value number k."""
        return float(self.values[k]) if self.kind == FLOAT else self.values[k]


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform distribution from low to high; of the logarithms if is_log."""

    low: float
    high: float
    is_log: bool = False
    kind = FLOAT

    def quantile(self, u: float) -> float:
        """Return the quantile."""
        if self.is_log:
            return float(self.low * (self.high / self.low) ** u)
        return float(self.low + u * (self.high - self.low))


@dataclass(frozen=True)
class Integers(Distribution):
    """Uniform distribution over whole numbers from low to high, both included."""

    low: int
    high: int
    kind = INTEGER

    def quantile(self, u: float) -> int:
        """Return the quantile."""
        return min(self.low + int(u * (self.high - self.low + 1)), self.high)


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal distribution, truncated to low to high."""

    mean: float
    deviation: float
    low: float = -math.inf
    high: float = math.inf
    kind = FLOAT

    def quantile(self, u: float) -> float:
        """Return the quantile."""
        ends = [float(ndtr((end - self.mean) / self.deviation)) for end in (self.low, self.high)]
        share = min(max(ends[0] + u * (ends[1] - ends[0]), _LEAST), 1.0 - 2.0 * _LEAST)
        value = self.mean + self.deviation * float(ndtri(share))
        return min(max(value, self.low), self.high)


def read_distribution(section: Section) -> Distribution | None:
    """Read an input's distribution; report an error and return None unless there is one."""
    given = [key for key in READERS if section.has(key)]
    for key in READERS:
        section.knows(key)
    if len(given) != 1:
        section.error(
            given[1] if given else 'values',
            '' if not given else section.peek(given[1]),
            f'must have exactly one of {", ".join(READERS)}'
            + (f'; {given[0]} is given too' if given else ''),
        )
        return None
    return READERS[given[0]](section, given[0])


def _values(section: Section, key: str) -> Distribution | None:
    values = section.peek(key)
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        section.error(key, values, 'must be a list of values')
        return None
    return Values(tuple(values))


def _range(section: Section, key: str) -> Distribution | None:
    numbers = section.vector(key, 3, None)
    if numbers is None:
        _note_missing(section, key, 'first, last and count')
        return None
    first, last, count = numbers
    is_log = key == 'log_range'
    if count < 1 or count != int(count) or count > 1e6 or is_log and min(first, last) <= 0.0:
        section.error(
            key,
            section.peek(key),
            'must be first, last and count' + (', the first two above 0' if is_log else ''),
        )
        return None
    space: Callable[..., Any] = np.geomspace if is_log else np.linspace
    return Values(tuple(space(first, last, int(count)).tolist()))


def _uniform(section: Section, key: str) -> Distribution | None:
    ends = section.vector(key, 2, None)
    if ends is None:
        _note_missing(section, key, 'least and greatest value')
        return None
    is_log = key == 'log_uniform'
    if not ends[0] < ends[1] or is_log and ends[0] <= 0.0:
        section.error(
            key,
            section.peek(key),
            'must be two numbers, the lesser first' + (', both above 0' if is_log else ''),
        )
        return None
    return Uniform(ends[0], ends[1], is_log)


def _integers(section: Section, key: str) -> Distribution | None:
    ends = section.vector(key, 2, None)
    if ends is None:
        _note_missing(section, key, 'least and greatest value')
        return None
    if not ends[0] <= ends[1] or any(end != int(end) or abs(end) > 2**53 for end in ends):
        section.error(key, section.peek(key), 'must be two whole numbers, the lesser first')
        return None
    return Integers(int(ends[0]), int(ends[1]))


def _normal(section: Section, key: str) -> Distribution | None:
    numbers, ends = section.vector(key, 2, None), section.vector('within', 2, None)
    if numbers is None:
        _note_missing(section, key, 'mean and standard deviation')
        return None
    if numbers[1] <= 0.0:
        section.error(key, section.peek(key), 'must be mean and standard deviation, above 0')
        return None
    low, high = (-math.inf, math.inf) if ends is None else ends
    if not low < high or ndtr((high - numbers[0]) / numbers[1]) == ndtr(
        (low - numbers[0]) / numbers[1]
    ):
        section.error(
            'within',
            section.peek('within'),
            'must be two numbers, the lesser first, that contain a part of the distribution',
        )
        return None
    return Normal(numbers[0], numbers[1], low, high)


def _note_missing(section: Section, key: str, what: str) -> None:
    if section.peek(key) is None:
        section.error(key, '', f'missing: {what}')


READERS: Mapping[str, Callable[[Section, str], Distribution | None]] = {
    'values': _values,
    'range': _range,
    'log_range': _range,
    'uniform': _uniform,
    'log_uniform': _uniform,
    'integers': _integers,
    'normal': _normal,
}
"""Readers of an input's distribution, by key."""


def _kind_of(value: object) -> str:
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return FLOAT
    return TEXT if isinstance(value, str) else JSON
