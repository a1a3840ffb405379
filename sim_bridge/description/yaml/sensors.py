"""
Sensors declared in YAML, as the node's `sensors` parameter takes them.

    sensors:
      wrist:                       # the sensor's name
        type: force_torque         # a sensor kind; see below
        joint: wrist_joint         # of a kind on a joint: the joint whose wrench is measured
        link: hand                 # of all other kinds: the link that carries the sensor
        position: [0, 0, 0.05]     # m, in that link; for a joint in its child link
        rpy: [0, 0, 0]             # rad; or orientation: [0, 0, 0, 1], a quaternion x y z w;
                                   # or look_at: [1, 0, 0], a point on the x axis, z upwards
        update_rate: 500.0         # Hz; 0 or absent: every step
        noise:                     # by quantity of the kind
          force:                   # SDF's keys, and density; keys of an axis override them
            stddev: 0.1
            z: {stddev: 0.3}
        frame_id: ''               # of the messages; '' for the default
        topic: ''                  # likewise
        truth: false               # publish the noise-free twin too

The kinds, with their quantities and further keys, are the records in
sim_bridge/description/sensor_kinds.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.model import NoiseDescription, Pose, SensorDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import facing, read_only, read_quaternion
from sim_bridge.description.report import DescriptionError, Findings, Place
from sim_bridge.description.sensor_kinds import (
    Choice,
    keys_of_all,
    KINDS,
    Names,
    NumberList,
    Section,
    Sections,
    SensorKind,
    Setting,
    Switch,
    Text,
    Texts,
    words_of,
)
from sim_bridge.description.yaml.noise import noise_from_mapping
from sim_bridge.foundation.errors import plain
from sim_bridge.foundation.rotation import matrix_from_rpy

_WORDS = ('joint', 'link', 'frame_id', 'topic')
_TURNS = {'rpy': Numbers(3), 'orientation': Numbers(4), 'look_at': Numbers(3)}
_POSE = {'position': Numbers(3), **_TURNS}
_RATE = Numbers(minimum=0.0)
_COMMON = ('type', 'joint', 'link', *_POSE, 'update_rate', 'noise', 'frame_id', 'topic', 'truth')
"""Keys allowed for every sensor kind."""


def sensors_from_mapping(
    mapping: Mapping[str, Mapping[str, object]], place: str = 'sensors'
) -> tuple[SensorDescription, ...]:
    """
    Return the sensors of a mapping from name to settings; the module's docstring has the keys.

    Links and joints are checked later, when the sensors are added to a robot. Raises
    DescriptionError with every defect if a key or a value is wrong. place: source of the mapping,
    for its messages.
    """
    findings = Findings()
    sensors = []
    if not isinstance(mapping, Mapping):
        findings.error(
            'bad-value',
            Place('sensors'),
            'must be a mapping from name to settings',
            value=plain(mapping),
        )
        mapping = {}
    for name, settings in mapping.items():
        at = Place('sensor', plain(name))
        if not isinstance(settings, Mapping):
            findings.error('bad-value', at, 'must be a mapping of settings', value=plain(settings))
        else:
            sensor = _sensor(plain(name), settings, at, findings)
            if sensor is not None:
                sensors.append(sensor)
    report = findings.report(place)
    if not report.ok:
        raise DescriptionError(report)
    return tuple(sensors)


def _sensor(
    name: str, settings: Mapping[str, object], place: Place, findings: Findings
) -> SensorDescription | None:
    word = settings.get('type')
    if not isinstance(word, str) or word not in KINDS:
        message = f'must be one of {", ".join(KINDS)}'
        findings.error('sensor-type', place, message, 'type', '' if word is None else plain(word))
        return None
    kind, owners = KINDS[word], keys_of_all()
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key in kind.keys:
            read = _setting(key, kind.keys[key], value, place, findings)
            if read is not None:
                values[key] = read
        elif key in owners and key not in _COMMON:
            message = f'only {words_of(owners[key])} sensors have this key'
            findings.error('unknown-key', place, message, key, plain(value))
        elif key not in _COMMON:
            message = f'the keys are {", ".join((*_COMMON, *kind.keys))}'
            findings.error('unknown-key', place, message, plain(key), plain(value))
    words = {key: _word(key, settings[key], place, findings) for key in _WORDS if key in settings}
    if not words.get('link') and not words.get('joint'):
        needed = 'joint or link' if kind.on_joint else 'link'
        findings.error('unplaced-sensor', place, 'missing: where the sensor sits', needed)
    # a kind's own key is read above
    noise = {} if 'noise' in kind.keys else settings.get('noise', {})
    return SensorDescription(
        name=name,
        kind=kind,
        link=words.get('link', ''),
        joint=words.get('joint', ''),
        pose=_pose(settings, place, findings),
        update_rate=_rate(settings.get('update_rate', 0.0), place, findings),
        noise=_noise(noise, kind, place, findings),
        settings=kind.settings_from(values, place, findings),
        frame_id=words.get('frame_id', ''),
        topic=words.get('topic', ''),
        truth=_switch('truth', settings.get('truth', False), place, findings),
    )


def _word(key: str, value: object, place: Place, findings: Findings) -> str:
    if not isinstance(value, str):
        findings.error('bad-value', place, 'must be text', key, plain(value))
    return plain(value)


def _switch(key: str, value: object, place: Place, findings: Findings) -> bool:
    if not isinstance(value, bool):
        findings.error('bad-value', place, 'must be true or false', key, plain(value))
    return bool(value)


def _rate(value: object, place: Place, findings: Findings) -> float:
    numbers = parse_numbers(plain(value), _RATE, place, findings, 'update_rate')
    return numbers[0] if numbers else 0.0


def _noise(
    value: object, kind: SensorKind, place: Place, findings: Findings
) -> Mapping[str, NoiseDescription]:
    if not isinstance(value, Mapping):
        message = 'must be a mapping from quantity to noise keys'
        findings.error('bad-value', place, message, 'noise', plain(value))
        return MappingProxyType({})
    at = Place('sensor/noise', place.name)
    return MappingProxyType(noise_from_mapping(value, kind, at, findings))


def _setting(
    key: str, setting: Setting, value: object, place: Place, findings: Findings
) -> object | None:
    """Return a setting's value; None, with an error noted, if it is wrong."""
    if isinstance(setting, Choice):
        if value not in setting.choices:
            message = f'must be one of {", ".join(setting.choices)}'
            findings.error('bad-value', place, message, key, plain(value))
            return None
        return plain(value)
    if isinstance(setting, Switch):
        return _switch(key, value, place, findings)
    if isinstance(setting, Names):
        names = value if isinstance(value, (list, tuple)) else (value,)
        if not all(isinstance(name, str) and name for name in names):
            findings.error('bad-value', place, 'must be a list of names', key, plain(value))
            return None
        return tuple(map(plain, names))
    if isinstance(setting, Text):
        return _word(key, value, place, findings)
    if isinstance(setting, Section):
        return _section(key, setting, value, place, findings)
    if isinstance(setting, Sections):
        return _sections(key, setting, value, place, findings)
    if isinstance(setting, Texts):
        return _texts(key, setting, value, place, findings)
    if isinstance(setting, NumberList):
        count = len(value) if isinstance(value, (list, tuple)) else 1
        numbers = parse_numbers(_joined(value), Numbers(count), place, findings, key)
        return None if numbers is None else tuple(numbers)
    is_one = setting.numbers.count == 1
    text = plain(value) if is_one else _joined(value)
    numbers = parse_numbers(text, setting.numbers, place, findings, key)
    if numbers is None:
        return None
    return numbers[0] if is_one else tuple(numbers)


def _section(
    key: str, setting: Section, value: object, place: Place, findings: Findings
) -> dict[str, float]:
    """Return a section's numbers by key."""
    if not isinstance(value, Mapping):
        findings.error('bad-value', place, 'must be a mapping of numbers', key, plain(value))
        return {}
    given, inner = {}, Place(f'sensor/{key}', place.name)
    for name, number in value.items():
        if name not in setting.keys:
            message = f'the keys are {", ".join(setting.keys)}'
            findings.error('unknown-key', inner, message, plain(name), plain(number))
            continue
        numbers = parse_numbers(plain(number), setting.keys[name], inner, findings, name)
        if numbers:
            given[name] = numbers[0]
    return given


def _sections(
    key: str, setting: Sections, value: object, place: Place, findings: Findings
) -> dict[str, dict[str, float]]:
    """Return the sections' numbers by both keys."""
    if not isinstance(value, Mapping):
        findings.error('bad-value', place, 'must be a mapping of sections', key, plain(value))
        return {}
    given, inner = {}, Place(f'sensor/{key}', place.name)
    for name, numbers in value.items():
        if name not in setting.keys:
            message = f'the keys are {", ".join(setting.keys)}'
            findings.error('unknown-key', inner, message, plain(name), plain(numbers))
            continue
        section = Section(setting.example, setting.doc, keys=setting.keys[name])
        given[name] = _section(f'{key}/{name}', section, numbers, place, findings)
    return given


def _texts(
    key: str, setting: Texts, value: object, place: Place, findings: Findings
) -> dict[str, str] | None:
    """Return texts by key."""
    if not isinstance(value, Mapping):
        findings.error('bad-value', place, 'must be a mapping of texts', key, plain(value))
        return None
    inner = Place(f'sensor/{key}', place.name)
    unknown = [name for name in value if name not in setting.keys]
    for name in unknown:
        message = f'the keys are {", ".join(setting.keys)}'
        findings.error('unknown-key', inner, message, plain(name), plain(value[name]))
    return {
        name: _word(name, text, inner, findings)
        for name, text in value.items()
        if name not in unknown
    }


def _joined(value: object) -> str:
    """Return numbers as a text with spaces in between."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ' '.join(map(plain, value))
    return plain(value)


def _pose(settings: Mapping[str, object], place: Place, findings: Findings) -> Pose:
    given: dict[str, list[float]] = {}
    for key, numbers in _POSE.items():
        if key in settings:
            values = parse_numbers(_joined(settings[key]), numbers, place, findings, key)
            if values is not None:
                given[key] = values
    turns = [key for key in _TURNS if key in settings]
    if len(turns) > 1:
        message = f'both {" and ".join(turns[:2])} are given; keep one'
        findings.error('two-rotations', place, message, turns[1])
    position = read_only(given.get('position', [0.0, 0.0, 0.0]))
    if 'look_at' in given:
        return Pose(position, _facing(position, given['look_at'], place, findings))
    if 'orientation' in given:
        text = ' '.join(map(repr, given['orientation']))
        return Pose(position, read_quaternion(text, place, findings, 'orientation'))
    return Pose(position, read_only(matrix_from_rpy(given.get('rpy', [0.0, 0.0, 0.0]))))


def _facing(
    position: np.ndarray, target: Sequence[float], place: Place, findings: Findings
) -> np.ndarray:
    """Return the rotation (3, 3) with x towards a target [m], and z as far up as possible."""
    ahead = np.subtract(target, position)
    if not ahead.any():
        findings.error('out-of-range', place, 'must not be the position', 'look_at', str(target))
        return read_only(np.eye(3))
    return read_only(facing(ahead))
