"""Reductions for measures: from a series over time to a number or to a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.bag.expressions import applied, Function, FUNCTIONS, Series


def _number(value: Series | np.float64, what: str) -> float:
    if isinstance(value, Series):
        raise InvalidValueError(what, 'a series over time', 'a number')
    return float(value)


def _column(series: Series, what: str) -> FloatArray:
    """Return the values (n,) of a series with one column."""
    if series.values.shape[1] != 1:
        raise StateError(
            f'{what} takes one value over time, but the series has {len(series.labels)}: '
            f'{", ".join(series.labels)}. Name one in brackets, or use norm(…)'
        )
    column: FloatArray = series.values[:, 0]
    return column


def _of_all(reduce: Callable[[FloatArray], float], name: str) -> Function:
    """Return a function over all values in a series, in all columns."""

    def value(series: Series) -> np.float64:
        _need(series, name)
        number: np.float64 = np.float64(reduce(series.values))
        return number

    return Function(range(1, 2), over_time=value)


def _of_one(reduce: Callable[..., float], name: str, arguments: int = 0) -> Function:
    """Return a function of times, one column's values, and some numbers."""

    def value(series: Series, *more: Series | np.float64) -> np.float64:
        _need(series, name)
        number: np.float64 = np.float64(
            reduce(
                series.times,
                _column(series, name),
                *(_number(each, f'argument of {name}') for each in more),
            )
        )
        return number

    return Function(range(1 + arguments, 2 + arguments), over_time=value)


def _extreme(
    reduce: Callable[[FloatArray], float], between: Callable[..., FloatArray], name: str
) -> Function:
    """Return max or min: over all values in one series, or between two arguments at each time."""

    def value(first: Series | np.float64, *second: Series | np.float64) -> Series | np.float64:
        if second:
            return applied(between, [first, *second], _same)
        if not isinstance(first, Series):
            return first
        _need(first, name)
        number: np.float64 = np.float64(reduce(first.values))
        return number

    return Function(range(1, 3), over_time=value, takes_numbers=True)


def _part(name: str, count: int, keeps: Callable[..., np.ndarray]) -> Function:
    """Return a function that selects a part from a series; keeps: returns the mask by times."""

    def part(series: Series, *more: Series | np.float64) -> Series:
        kept = keeps(series.times, *(_number(each, f'argument of {name}') for each in more))
        if not kept.any():
            raise StateError(
                f'{name} leaves nothing: there are values from {series.times[0]:.6g} to '
                f'{series.times[-1]:.6g} s'
                if len(series.times)
                else f'{name} of a series without values'
            )
        return Series(series.times[kept], series.values[kept], series.labels, series.units)

    return Function(range(1 + count, 2 + count), over_time=part)


def settling_time(times: FloatArray, values: FloatArray, target: float, band: float) -> float:
    """
    Return the time from which all values stay within a band around a target [s].

    times, values: (n,). The result is the time of the first value inside; inf if the last value is
    outside.
    """
    outside = np.flatnonzero(~(np.abs(values - target) <= band))
    if not outside.size:
        return float(times[0])
    return float(times[outside[-1] + 1]) if outside[-1] + 1 < len(times) else np.inf


def crossing(times: FloatArray, values: FloatArray, level: float) -> float:
    """Return the first time with a value at or above a level [s]; inf for never."""
    above = np.flatnonzero(values >= level)
    return float(times[above[0]]) if above.size else np.inf


def time_above(times: FloatArray, values: FloatArray, level: float) -> float:
    """Return how long values were above a level [s]; each value holds until the next."""
    return float(np.diff(times)[values[:-1] > level].sum())


def at(times: FloatArray, values: FloatArray, time: float) -> float:
    """Return the value at a time [s], linearly interpolated; raises StateError outside."""
    if not times[0] <= time <= times[-1]:
        raise StateError(
            f'there is no value at {time:g} s: the first is at {times[0]:.6g} s, the last at '
            f'{times[-1]:.6g} s'
        )
    return float(np.interp(time, times, values))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _percentile(times: FloatArray, values: FloatArray, percent: float) -> float:
    if not 0.0 <= percent <= 100.0:
        raise InvalidValueError('percentile', percent, 'a number from 0 to 100')
    return float(np.percentile(values, percent))


def _need(series: Series, name: str) -> None:
    if not len(series.times):
        raise StateError(f'{name} of a series without values')


_same = FUNCTIONS['min'].of_units

REDUCTIONS: Mapping[str, Function] = {
    'max': _extreme(np.max, np.maximum, 'max'),
    'min': _extreme(np.min, np.minimum, 'min'),
    'mean': _of_all(np.mean, 'mean'),
    'rms': _of_all(_rms, 'rms'),
    'std': _of_all(np.std, 'std'),
    'first': _of_one(lambda times, values: float(values[0]), 'first'),
    'last': _of_one(lambda times, values: float(values[-1]), 'last'),
    'at': _of_one(at, 'at', 1),
    'percentile': _of_one(_percentile, 'percentile', 1),
    'settling_time': _of_one(settling_time, 'settling_time', 2),
    'crossing': _of_one(crossing, 'crossing', 1),
    'time_above': _of_one(time_above, 'time_above', 1),
    'after': _part('after', 1, lambda times, begin: times >= begin),
    'before': _part('before', 1, lambda times, end: times <= end),
    'between': _part('between', 2, lambda times, begin, end: (times >= begin) & (times <= end)),
}
"""Functions that reduce a time series to a number, or to the part within a time span."""

MEASURING: Mapping[str, Function] = {**FUNCTIONS, **REDUCTIONS}
"""All functions for measures."""
