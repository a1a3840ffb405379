"""Regular expressions on names, compared with Python's where both agree."""

from __future__ import annotations

import random
import re

import pytest

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.services.standard.name_filter import MOST_PARTS, NameFilter

ATOMS = ['a', 'b', 'c', '.', '[ab]', '[^a]', '[a-b_]', r'\w', r'\W', r'\.', '_']
REPETITIONS = ['*', '+', '?', '{2}', '{1,}', '{0,2}', '{2,3}', '{0}']


def expression(source: random.Random, depth: int) -> str:
    """Create a random expression with this many levels."""
    kind = source.random()
    if depth == 0 or kind < 0.35:
        return source.choice(ATOMS)
    one = expression(source, depth - 1)
    if kind < 0.6:
        return one + expression(source, depth - 1)
    if kind < 0.75:
        return f'({one}|{expression(source, depth - 1)})'
    if kind < 0.95:
        return f'({one}){source.choice(REPETITIONS)}'
    return source.choice(['(^|a)', '(b|$)', '^', '$'])


@pytest.mark.filterwarnings('ignore:Possible nested set')
def test_expressions_match_like_pythons():
    """Agree on 8000 names matched, or not, by expressions of all kinds."""
    source, found = random.Random(1), 0
    for _ in range(1000):
        text = expression(source, 3)
        text = source.choice(['', '', '^']) + text + source.choice(['', '', '$'])
        by_name, truth = NameFilter(text), re.compile(text)
        for _ in range(8):
            name = ''.join(source.choice('abc_.') for _ in range(source.randrange(1, 7)))
            assert by_name.matches(name) == bool(truth.search(name)), (text, name)
            found += by_name.matches(name)
    assert 2000 < found < 6000


@pytest.mark.parametrize(
    ('text', 'found', 'others'),
    [
        ('', ['', 'a'], []),
        ('^$', [''], ['a']),
        ('[]x]y', [']y', 'xy'], ['y']),
        ('^[^]x]$', ['y'], [']', 'x']),
        ('a[x-]', ['a-', 'ax'], ['a']),
        ('^[[:alpha:]_][[:digit:]]*$', ['r2', '_'], ['2', 'rr']),
        (r'^\(\$\)$', ['($)'], ['$']),
        ('^rød$', ['rød'], ['rod']),
    ],
)
def test_sets_and_anchors_follow_posix(text, found, others):
    """Read sets, classes and anchors like POSIX."""
    by_name = NameFilter(text)
    assert all(by_name.matches(name) for name in found)
    assert not any(by_name.matches(name) for name in others)


@pytest.mark.parametrize(
    'text',
    [
        '(a+)+$',
        '(a|a)*$',
        '(a|aa)+$',
        '(a?){100}$',
        '(.*.*.*.*){20}$',
        '(a*)*$',
        '(' * 100 + 'a' + ')+' * 100 + '$',
    ],
)
def test_expressions_take_time_linear_in_their_length_and_the_names(text):
    """Find nothing in cases that keep Python's own expressions busy forever."""
    assert NameFilter(f'^{text}').matches('a' * 100)
    assert not NameFilter(f'^{text[:-1]}!$').matches('a' * 100)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('a**', 'a second repetition'),
        ('a+?', 'a second repetition'),
        ('(?:a)', "a '?' with nothing to repeat"),
        ('a|*', "a '*' with nothing to repeat"),
        ('a)', "a ')' without '('"),
        ('(a', "a '(' without ')'"),
        ('[a', "a set without ']'"),
        ('[[:letters:]]', 'with an unknown class'),
        (r'[\d]', 'a backslash'),
        ('[b-a]', "a range from 'b' to 'a'"),
        (r'(a)\1', r"not '\\1'"),
        ('a{3,2}', "the bounds '{3,2}'"),
        ('a{1000}', 'a second repetition, or one other than'),
        ('x' * (MOST_PARTS + 1), 'more than 255 characters and groups'),
        ('((((){255}){255}){255}){255}', 'more than 255 characters and groups'),
        (f'[{"a" * 1000}]', 'more than 1000 characters'),
        ('|' * 1001, 'more than 1000 characters'),
        ('(' * 254, "a '(' without ')'"),
    ],
)
def test_invalid_filters_are_refused(text, said):
    """Name the place and the error, in little time."""
    with pytest.raises(InvalidValueError, match='filter = .*character') as raised:
        NameFilter(text)
    assert said in str(raised.value)
