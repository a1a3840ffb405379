"""Value texts in errors: bounded for any value."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.errors import brief, InvalidValueError, plain, UnknownNameError


class Mapping(dict):
    """A mapping class other than dict."""


def nested(levels: int) -> list:
    """Return nested lists, each with ten times the same list: 10**levels texts."""
    value: list = ['x'] * 10
    for _ in range(levels):
        value = [value] * 10
    return value


def looped() -> list:
    """Return a list containing itself."""
    value: list = []
    value.append(value)
    return value


VALUES = [
    nested(12),
    looped(),
    10**5000,
    -(10**5000),
    [10**5000],
    'x' * 10_000_000,
    b'x' * 10_000_000,
    Mapping({k: nested(12) for k in range(1000)}),
    {'a' * 10_000_000: 1},
    np.zeros((1000, 1000)),
    (nested(12), {1: nested(12)}),
    set(range(10_000)),
    list(range(1_000_000)),
]


@pytest.mark.parametrize('value', VALUES, ids=range(len(VALUES)))
def test_values_are_shown_in_short(value):
    """Show at most 2000 characters of any value, without building more."""
    assert len(brief(value)) < 2100
    assert len(plain(value)) < 2100 or isinstance(value, str)
    assert len(str(InvalidValueError('mass', value, 'a number'))) < 2200
    findings = Findings()
    findings.error('bad-value', Place('link', plain(value)), 'm' * 10**7, 'mass', plain(value))
    assert len(findings.report('f').to_json()) < 6000


@pytest.mark.parametrize('value', [1, 1.5, True, None, 'text', [1, 'a'], {'a': (1, 2)}])
def test_small_values_are_shown_as_python_does(value):
    """Show short values as their repr, and texts unchanged."""
    assert brief(value) == repr(value)
    assert plain(value) == str(value)


def test_all_parts_of_an_error_are_shortened():
    """Shorten names, places and expected values, too."""
    long = 'x' * 10**7
    assert len(str(InvalidValueError(long, 1, long, long))) < 5000
    assert len(str(UnknownNameError('joint', long, [long] * 100, long))) < 20_000
