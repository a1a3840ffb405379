"""Values in body files: both key spellings, angle units, ranges, poses."""

from __future__ import annotations

import math
from pathlib import Path
import re
from typing import NamedTuple

import numpy as np

from sim_bridge.description.numbers import LARGEST
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.rotation import matrix_from_axis_angle

_UNLIMITED = ('unlimited', 'inf', '-inf')
_LEAST_AXIS = 1e-6
_AXES = {'X': (1.0, 0.0, 0.0), 'Y': (0.0, 1.0, 0.0), 'Z': (0.0, 0.0, 1.0)}


class Reading(NamedTuple):
    """
    Data shared by the readers of all parts of a file.

    angle: the file's angle unit [rad]. base: the first file's folder. folder: this file's folder
    relative to base, '' for the same. inside: files including this one.
    """

    findings: Findings
    angle: float
    base: Path = Path()
    folder: str = ''
    inside: tuple[Path, ...] = ()


def key_of(section: Section, *names: str) -> str:
    """Return the key used in a section, in snake case or camel case; else the first name."""
    known = [word for name in names for word in (name, _camel(name))]
    used = [word for word in known if section.has(word)]
    for word in known:
        section.knows(word)
    for word in dict.fromkeys(used[1:]):
        if word != used[0]:
            section.error(word, section.peek(word), f'{used[0]} is given too and means the same')
    return used[0] if used else names[0]


def _camel(name: str) -> str:
    return re.sub('_([a-z])', lambda found: found[1].upper(), name)


def name_in(section: Section, key: str) -> str:
    """Return a name, also one that YAML reads as a number; '' if absent."""
    given = section.peek(key)
    section.knows(key)
    if given is None or isinstance(given, str):
        return given or ''
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    section.error(key, given, 'must be a text')
    return ''


def note_unread(section: Section, place: Place, findings: Findings) -> None:
    """Warn of unread keys: Choreonoid stores keys for its plugins too."""
    for key in section.unread():
        findings.warning('unknown-key', section.place(key), 'unknown key, ignored', key)


def translation(section: Section, key: str = 'translation') -> np.ndarray:
    """Return a translation (3,) [m], or the sum over a list of translations; zero if absent."""
    rows = _rows(section, key, 3)
    return np.zeros(3) if rows is None else rows.sum(axis=0)


def rotation(section: Section, reading: Reading, key: str = 'rotation') -> np.ndarray:
    """Return the rotation (3, 3) from axis and angle, or the product of listed rotations."""
    turned = np.eye(3)
    rows = _rows(section, key, 4)
    for *axis, angle in () if rows is None else rows:
        length = math.hypot(*axis)
        if length < _LEAST_AXIS:
            section.error(key, section.peek(key), 'the axis has no direction')
            return np.eye(3)
        turned = turned @ matrix_from_axis_angle(
            np.array(axis) / length, float(angle) * reading.angle
        )
    return turned


def _rows(section: Section, key: str, size: int) -> np.ndarray | None:
    """Return finite numbers (n, size) from a list or nested lists; None if absent or bad."""
    if section.peek(key) == []:
        section.knows(key)
        return None
    rows = section.matrix(key)
    if rows is None:
        return None
    rows = np.atleast_2d(rows)
    if rows.ndim != 2 or rows.shape[1] != size or not np.isfinite(rows).all():
        section.error(
            key, section.peek(key), f'must be a list of {size} finite numbers, or of such lists'
        )
        return None
    return rows


def finite(section: Section, key: str, default: float, least: float = -math.inf) -> float:
    """Return a number between `least` and LARGEST; the default, with an error, for others."""
    value = section.number(key, default)
    if not abs(value) <= LARGEST or value < least:
        bound = '' if least == -math.inf else f' of at least {least:g}'
        section.error(key, value, f'must be a finite number{bound}, and {LARGEST:g} at most')
        return default
    return value


def positive(section: Section, key: str) -> float:
    """Return a size [m]; 1, with an error noted, if it is missing or not above 0."""
    value = section.number(key, None)
    if value is None or not 0.0 < value <= LARGEST:
        section.error(
            key, section.peek(key), f'must be a finite number above 0, and {LARGEST:g} at most'
        )
        return 1.0
    return value


def limit(section: Section, key: str) -> float:
    """Return a limit, at least 0; infinite if absent or 'unlimited'."""
    lower, upper = limits(section, key)
    return max(abs(lower), abs(upper))


def limits(section: Section, key: str) -> tuple[float, float]:
    """Return a pair of limits, or a number and its opposite; infinite: no limit."""
    section.knows(key)
    given = section.peek(key)
    if given is None:
        return -math.inf, math.inf
    pair = given if isinstance(given, list) else [None, given]
    values = [_limit(section, key, value) for value in pair]
    if len(values) != 2:
        section.error(key, given, 'must be a number, or a list of two')
        return -math.inf, math.inf
    lower, upper = values
    lower = -upper if not isinstance(given, list) else -math.inf if lower == math.inf else lower
    if not lower <= upper:
        section.error(key, given, 'the lower limit must be below the upper one')
        return -math.inf, math.inf
    return lower, upper


def _limit(section: Section, key: str, value: object) -> float:
    if value is None or value in _UNLIMITED:
        return -math.inf if value == '-inf' else math.inf
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value):
        return float(value)
    section.error(key, value, f'must be a number or {_UNLIMITED[0]!r}')
    return math.inf


def axis(section: Section, key: str, findings: Findings) -> np.ndarray:
    """Return a unit vector from three numbers, or from a letter as in '-Y'; z if absent."""
    given = section.peek(key)
    if isinstance(given, str):
        section.knows(key)
        sign, letter = (-1.0, given[1:]) if given.startswith('-') else (1.0, given)
        if letter.upper() not in _AXES:
            section.error(key, given, 'must be 3 numbers, or one of X, Y, Z, -X, -Y, -Z')
            return np.array(_AXES['Z'])
        return sign * np.array(_AXES[letter.upper()])
    vector = np.array(section.vector(key, 3, _AXES['Z']))
    length = math.hypot(*vector)
    if not length:
        findings.error('zero-axis', section.place(key), 'has no direction', key)
        return np.array(_AXES['Z'])
    return vector / length
