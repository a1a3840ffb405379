"""Measures: numbers from series over time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.bag.expressions import Expression, Series
from sim_bridge.sweep.reductions import MEASURING

TIMES = np.linspace(0.0, 2.0, 201)
# second-order step response
DECAY = 1.0 - np.exp(-3.0 * TIMES) * np.cos(9.0 * TIMES)


def measure(text: str, **columns: np.ndarray) -> float:
    """Return a measure's value for the field /a.x, and others."""
    expression = Expression(text, MEASURING)
    given = {'x': DECAY, **columns}
    return expression.number(
        {
            reference: Series(
                TIMES,
                np.atleast_2d(given[reference.path[-1]].T).T
                if given[reference.path[-1]].ndim > 1
                else given[reference.path[-1]][:, None],
                tuple('abc'[: given[reference.path[-1]].shape[1]])
                if given[reference.path[-1]].ndim > 1
                else ('',),
            )
            for reference in expression.references
        }
    )


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('max(/a.x)', DECAY.max()),
        ('min(/a.x)', DECAY.min()),
        ('mean(/a.x)', DECAY.mean()),
        ('std(/a.x)', DECAY.std()),
        ('rms(/a.x - 1)', math.sqrt(np.mean((DECAY - 1.0) ** 2))),
        ('first(/a.x)', DECAY[0]),
        ('last(/a.x)', DECAY[-1]),
        ('at(/a.x, 0.505)', 0.5 * (DECAY[50] + DECAY[51])),
        ('percentile(/a.x, 50)', np.median(DECAY)),
        ('max(/a.x) / last(/a.x) - 1', None),
        ('max(after(/a.x, 1))', DECAY[100:].max()),
        ('min(before(/a.x, 1))', DECAY[:101].min()),
        ('mean(between(/a.x, 0.5, 1))', DECAY[50:101].mean()),
        ('max(/a.x, 1) ', 'series'),
        ('max(max(/a.x, 1))', DECAY.max()),
        ('max(max(/a.x), 7)', 7.0),
        ('crossing(/a.x, 1)', TIMES[np.argmax(DECAY >= 1.0)]),
        ('crossing(/a.x, 5)', math.inf),
        ('time_above(/a.x, 1)', 0.01 * np.sum(DECAY[:-1] > 1.0)),
    ],
)
def test_measures_match_numpy(text, value):
    """Compare each reduction with its definition."""
    if value == 'series':
        with pytest.raises(InvalidValueError, match='one number'):
            measure(text)
        return
    expected = DECAY.max() / DECAY[-1] - 1.0 if value is None else value
    assert measure(text) == pytest.approx(expected, rel=1e-12)


def test_settling_time_is_that_of_the_last_value_outside():
    """Return the time from which values stay in the band; inf for never."""
    settled = measure('settling_time(/a.x, 1, 0.05)')
    after = settled <= TIMES
    assert np.all(np.abs(DECAY[after] - 1.0) <= 0.05)
    assert abs(DECAY[~after][-1] - 1.0) > 0.05
    assert measure('settling_time(/a.x, 3, 0.05)') == math.inf
    assert measure('settling_time(/a.x, 1, 5)') == 0.0


def test_several_columns_need_a_suitable_reduction():
    """Take the greatest value over all columns, and require one column elsewhere."""
    both = np.stack([DECAY, 2.0 * DECAY], axis=1)
    assert measure('max(/a.y)', y=both) == 2.0 * DECAY.max()
    assert measure('last(norm(/a.y))', y=both) == pytest.approx(math.sqrt(5.0) * DECAY[-1])
    with pytest.raises(StateError, match='Name one in brackets'):
        measure('last(/a.y)', y=both)


def test_impossible_measures_are_reported():
    """Reject times without values, series without a reduction, wrong arguments."""
    with pytest.raises(StateError, match='after leaves nothing'):
        measure('max(after(/a.x, 3))')
    with pytest.raises(StateError, match='no value at 5 s'):
        measure('at(/a.x, 5)')
    with pytest.raises(InvalidValueError, match='a field over time'):
        measure('rms(1) + max(/a.x)')
    with pytest.raises(InvalidValueError, match='from 0 to 100'):
        measure('percentile(/a.x, 101)')
