"""Tuning files: robot, motion, varied gains, minimised measure and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description.mechanism.base import BASES, FILE, FIXED, FREE
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.near_files import path_meant
from sim_bridge.foundation.validation import finite_number, finite_vector, positive_number
from sim_bridge.tuning.measures import Constraint, Measure

KEYS = (
    'robot',
    'scene',
    'base',
    'gravity',
    'duration',
    'time_step',
    'period',
    'start',
    'targets',
    'gains',
    'vary',
    'minimise',
    'constraints',
)
# former key for the base, with true or false
_OLD_BASE = 'fixed_base'
ATTRIBUTES = {
    'p': 'kp',
    'd': 'kd',
    'max_effort': 'max_effort',
    'damping': 'damping',
    'friction': 'friction',
    'armature': 'armature',
    'stiffness': 'stiffness',
}
"""Varied joint attributes by their names in tuning files."""

# a range with at least this ratio of its limits is searched logarithmically
_LOGARITHMIC = 10.0


@dataclass(frozen=True)
class Range:
    """
    Varied range: one value for `attribute` of all `joints`; name: as in the file.

    lower, upper: limits, in the attribute's unit.
    """

    name: str
    joints: tuple[str, ...]
    attribute: str
    lower: float
    upper: float

    @property
    def is_logarithmic(self) -> bool:
        """Whether the range is searched logarithmically."""
        return self.lower > 0.0 and self.upper >= _LOGARITHMIC * self.lower

    def value(self, share: Any) -> Any:
        """Return the value at a share of the range, from 0 to 1."""
        if self.is_logarithmic:
            return self.lower * (self.upper / self.lower) ** share
        return self.lower + (self.upper - self.lower) * share


@dataclass(frozen=True, eq=False)
class Tuning:
    """
    Checked tuning file content.

    targets: by joint, (k, 2) times [s] and positions [rad or m], linear between them and constant
    before and after. gains: (p, d) for servos with constant gains. period: sampling time for
    signals [s].
    """

    place: str
    robot: str
    scene: str
    base: str
    gravity: FloatArray
    duration: float
    time_step: float
    period: float
    start: Mapping[str, float]
    targets: Mapping[str, FloatArray]
    gains: Mapping[str, tuple[float, float]]
    vary: tuple[tuple[str, tuple[float, float]], ...]
    minimise: Measure
    constraints: tuple[Constraint, ...]
    folder: Path


def read_tuning(source: str | Path | Mapping[str, Any]) -> Tuning:
    """
    Read a tuning file, or a mapping with its contents; docs/identification.md lists the keys.

    Raises InvalidValueError and UnknownNameError naming the key.
    """
    if isinstance(source, Mapping):
        content, place, folder = source, 'tuning', Path()
    elif isinstance(source, (str, Path)):
        path = Path(source)
        content, place, folder = _content(path), f'tuning {str(path)!r}', path.parent
    else:
        raise InvalidValueError('tuning', source, 'the path of a tuning file, or a mapping')
    if not isinstance(content, Mapping):
        raise InvalidValueError('content', content, f'keys {", ".join(KEYS)}', place)
    for key in content:
        if key not in (*KEYS, _OLD_BASE):
            raise UnknownNameError('key', key, KEYS, place)
    for key in ('duration', 'vary', 'minimise'):
        if key not in content:
            raise InvalidValueError(key, 'missing', 'a value: it has no default', place)
    if 'robot' not in content and 'scene' not in content:
        raise InvalidValueError('robot', 'missing', 'a robot, or a scene with one', place)
    time_step = positive_number(
        'time_step', content.get('time_step', 1e-3), 'a time above 0 [s]', place
    )
    constraints = content.get('constraints') or ()
    if isinstance(constraints, str) or not isinstance(constraints, (list, tuple)):
        raise InvalidValueError('constraints', constraints, 'a list of constraints', place)
    return Tuning(
        place,
        str(content.get('robot', '')),
        str(content.get('scene', '')),
        _base(content, place),
        finite_vector('gravity', content.get('gravity', (0.0, 0.0, -9.81)), 3, place),
        positive_number('duration', content['duration'], 'a time above 0 [s]', place),
        time_step,
        positive_number(
            'period', content.get('period', max(time_step, 2e-3)), 'a time above 0 [s]', place
        ),
        {
            str(joint): finite_number(f'start of {joint}', value, place)
            for joint, value in _mapping('start', content, place).items()
        },
        {
            str(joint): _target(joint, value, place)
            for joint, value in _mapping('targets', content, place).items()
        },
        {
            str(joint): _gains(joint, value, place)
            for joint, value in _mapping('gains', content, place).items()
        },
        tuple(
            (str(name), _limits(name, value, place))
            for name, value in _mapping('vary', content, place).items()
        ),
        Measure(content['minimise'], f'{place}, minimise'),
        tuple(Constraint(text, f'{place}, constraints') for text in constraints),
        folder,
    )


def _base(content: Mapping[str, Any], place: str) -> str:
    """Return the setting `base`, also from its former key."""
    if _OLD_BASE in content and 'base' not in content:
        warn_renamed(f'{place}: key {_OLD_BASE}', "base, with 'fixed' or 'free',")
        given = content[_OLD_BASE]
        if given not in (None, True, False):
            raise InvalidValueError(_OLD_BASE, given, 'true or false', place)
        return FILE if given is None else FIXED if given else FREE
    base = content.get('base', FILE)
    if base not in BASES:
        raise InvalidValueError('base', base, f'one of {", ".join(BASES)}', place)
    return str(base)


def _content(path: Path) -> Any:
    """Return the YAML in a tuning file; raise InvalidValueError if it cannot be read."""
    try:
        return load_yaml(read_file(path))
    except YamlTextError as err:
        raise InvalidValueError('tuning file', str(path), f'YAML ({err})') from err
    except (OSError, ValueError) as err:
        reason = getattr(err, 'strerror', None) or str(err)
        raise InvalidValueError(
            'tuning file', str(path), f'a file that can be read: {reason}' + path_meant(path)
        ) from err


def _mapping(key: str, content: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    value = content.get(key) or {}
    if not isinstance(value, Mapping):
        raise InvalidValueError(key, value, 'values by joint', place)
    return value


def _target(joint: object, value: Any, place: str) -> FloatArray:
    """Return (k, 2) times and positions; a single number is a target from the beginning."""
    if isinstance(value, (list, tuple)):
        expected = 'a position, or a list of [time, position] in order of time'
        try:
            points = np.array(value, float)
        except (TypeError, ValueError):
            points = np.empty(0)
        if (
            points.ndim != 2
            or points.shape[1] != 2
            or not np.isfinite(points).all()
            or (np.diff(points[:, 0]) <= 0.0).any()
        ):
            raise InvalidValueError(f'target of {joint}', value, expected, place)
        return points
    return np.array([[0.0, finite_number(f'target of {joint}', value, place)]])


def _gains(joint: object, value: Any, place: str) -> tuple[float, float]:
    if not isinstance(value, Mapping) or set(value) - {'p', 'd'}:
        raise InvalidValueError(f'gains of {joint}', value, '{p: NUMBER, d: NUMBER}', place)
    found = [
        finite_number(f'{name} of {joint}', value.get(name, 0.0), place) for name in ('p', 'd')
    ]
    return found[0], found[1]


def _limits(name: object, value: Any, place: str) -> tuple[float, float]:
    expected = 'two numbers [LEAST, MOST] of at least 0, the first below the second'
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InvalidValueError(f'vary {name}', value, expected, place)
    lower, upper = (finite_number(f'vary {name}', each, place) for each in value)
    if not 0.0 <= lower < upper:
        raise InvalidValueError(f'vary {name}', value, expected, place)
    return lower, upper
