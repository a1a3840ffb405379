"""
Sensors declared in YAML, as the node's `sensors` parameter takes them.

    sensors:
      wrist:                       # the sensor's name
        type: force_torque         # or imu, gyro, accelerometer, range, lidar, contact,
                                   # magnetometer, altimeter, air_pressure, pose
        joint: wrist_joint         # force_torque: the joint whose wrench is measured
        link: hand                 # the others: the link that carries it
        position: [0, 0, 0.05]     # m, in that link, which is the joint's child link
        rpy: [0, 0, 0]             # rad; or orientation: [0, 0, 0, 1], a quaternion x y z w
        update_rate: 500.0         # Hz; 0 or absent: every step
        frame: sensor              # force_torque: axes of the wrench; or child, parent
        measure_direction: child_to_parent     # or parent_to_child
        horizontal: {samples: 360, min_angle: -3.14, max_angle: 3.14}    # range, lidar [rad];
        vertical: {samples: 16, min_angle: -0.26, max_angle: 0.26}       # 1 ray ahead if absent
        range: {min: 0.1, max: 30.0, resolution: 0.01}                   # range, lidar [m]
        radiation: infrared        # range; or ultrasound
        collisions: [pad]          # contact: names of collisions of the link; all if absent
        magnetic_field: [5.5645e-6, 22.8758e-6, -42.3884e-6]     # magnetometer: the world's [T]
        reference_altitude: 200.0  # air_pressure: of the world's origin above the sea [m]
        noise:                     # of force, torque, angular_velocity, linear_acceleration,
                                   # range, magnetic_field, vertical_position,
                                   # vertical_velocity, pressure, position (of pose)
          force:                   # SDF's keys, and density; an axis comes on top
            stddev: 0.1
            z: {stddev: 0.3}
        enable_orientation: true   # imu
        frame_id: ''               # of the messages; '' for the default
        topic: ''                  # likewise
        truth: false               # publish the noise-free twin too
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sim_bridge.description.model import (
    Pose,
    RADIATIONS,
    ScanDescription,
    SCANNING,
    SensorDescription,
    SensorKind,
    WRENCH_DIRECTIONS,
    WRENCH_FRAMES,
)
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only, read_quaternion
from sim_bridge.description.report import DescriptionError, Findings, Place
from sim_bridge.description.scans import ANGLES, RANGE, scan_of
from sim_bridge.description.yaml.noise import noise_from_mapping
from sim_bridge.foundation.errors import plain
from sim_bridge.foundation.rotation import matrix_from_rpy

TYPES = {kind.value: kind for kind in SensorKind}

_WORDS = ('joint', 'link', 'frame_id', 'topic')
_CHOICES = {'frame': WRENCH_FRAMES, 'measure_direction': WRENCH_DIRECTIONS}
_SWITCHES = ('enable_orientation', 'truth')
_POSE = {'position': Numbers(3), 'rpy': Numbers(3), 'orientation': Numbers(4)}
_NUMBERS = {'update_rate': Numbers(minimum=0.0), 'reference_altitude': Numbers()}
_FORCE_TORQUE_ONLY = ('frame', 'measure_direction')
_SCAN = {'horizontal': ANGLES, 'vertical': ANGLES, 'range': RANGE}
_OF_KINDS = {
    **dict.fromkeys(_FORCE_TORQUE_ONLY, frozenset({SensorKind.FORCE_TORQUE})),
    **dict.fromkeys(_SCAN, SCANNING),
    'radiation': frozenset({SensorKind.RANGE}),
    'collisions': frozenset({SensorKind.CONTACT}),
    'magnetic_field': frozenset({SensorKind.MAGNETOMETER}),
    'reference_altitude': frozenset({SensorKind.AIR_PRESSURE}),
}
KEYS = (
    'type',
    'joint',
    'link',
    *_POSE,
    'noise',
    *_CHOICES,
    *_SCAN,
    'radiation',
    'collisions',
    'magnetic_field',
    *_NUMBERS,
    *_SWITCHES,
    'frame_id',
    'topic',
)


def sensors_from_mapping(
    mapping: Mapping[str, Mapping[str, object]], place: str = 'sensors'
) -> tuple[SensorDescription, ...]:
    """
    Return the sensors of a mapping from name to settings; the keys are in this module's docstring.

    Their links and joints are checked when they are added to a robot. Raises
    DescriptionError, with every defect, if a key or a value is wrong; `place` says in its messages
    where the mapping came from.
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
    if not isinstance(word, str) or word not in TYPES:
        message = f'must be one of {", ".join(TYPES)}'
        findings.error('sensor-type', place, message, 'type', '' if word is None else plain(word))
        return None
    kind = TYPES[word]
    values: dict[str, Any] = {'link': ''}
    for key, value in settings.items():
        if key not in KEYS:
            findings.error(
                'unknown-key', place, f'the keys are {", ".join(KEYS)}', plain(key), plain(value)
            )
        elif kind not in _OF_KINDS.get(key, (kind,)):
            owners = ' and '.join(sorted(each.value for each in _OF_KINDS[key]))
            findings.error(
                'unknown-key', place, f'only {owners} sensors have this key', key, plain(value)
            )
        elif key not in ('type', 'radiation', *_POSE, *_SCAN):
            values[key] = _value(key, value, kind, place, findings)
    needed = 'joint or link' if kind is SensorKind.FORCE_TORQUE else 'link'
    if not values.get('link') and not values.get('joint'):
        findings.error('unplaced-sensor', place, 'missing: where the sensor sits', needed)
    if kind in SCANNING:
        values['scan'] = _scan(settings, place, findings)
    return SensorDescription(name=name, kind=kind, pose=_pose(settings, place, findings), **values)


def _scan(settings: Mapping[str, object], place: Place, findings: Findings) -> ScanDescription:
    given: dict[str, dict[str, float]] = {key: {} for key in _SCAN}
    for key, allowed in _SCAN.items():
        inner, value = Place(f'sensor/{key}', place.name), settings.get(key, {})
        if not isinstance(value, Mapping):
            findings.error('bad-value', place, 'must be a mapping of numbers', key, plain(value))
            continue
        for name, number in value.items():
            if name not in allowed:
                findings.error(
                    'unknown-key',
                    inner,
                    f'the keys are {", ".join(allowed)}',
                    plain(name),
                    plain(number),
                )
                continue
            numbers = parse_numbers(plain(number), allowed[name], inner, findings, name)
            if numbers:
                given[key][name] = numbers[0]
    scan = scan_of(given['horizontal'], given['vertical'], given['range'], place, findings)
    radiation = settings.get('radiation', scan.radiation)
    if radiation not in RADIATIONS:
        findings.error(
            'bad-value',
            place,
            f'must be one of {", ".join(RADIATIONS)}',
            'radiation',
            plain(radiation),
        )
        return scan
    return replace(scan, radiation=plain(radiation))


def _value(key: str, value: object, kind: SensorKind, place: Place, findings: Findings) -> object:
    if key in _WORDS:
        if not isinstance(value, str):
            findings.error('bad-value', place, 'must be text', key, plain(value))
        return plain(value)
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            findings.error(
                'bad-value', place, f'must be one of {", ".join(_CHOICES[key])}', key, plain(value)
            )
        return value
    if key in _SWITCHES:
        if not isinstance(value, bool):
            findings.error('bad-value', place, 'must be true or false', key, plain(value))
        return bool(value)
    if key == 'collisions':
        names = value if isinstance(value, (list, tuple)) else (value,)
        if not all(isinstance(name, str) and name for name in names):
            findings.error('bad-value', place, 'must be a list of names', key, plain(value))
            return ()
        return tuple(map(plain, names))
    if key == 'magnetic_field':
        text = ' '.join(map(plain, value)) if isinstance(value, (list, tuple)) else plain(value)
        return tuple(parse_numbers(text, Numbers(3), place, findings, key) or (0.0, 0.0, 0.0))
    if key in _NUMBERS:
        numbers = parse_numbers(plain(value), _NUMBERS[key], place, findings, key)
        return numbers[0] if numbers else 0.0
    if not isinstance(value, Mapping):
        findings.error(
            'bad-value', place, 'must be a mapping from quantity to noise keys', key, plain(value)
        )
        return MappingProxyType({})
    return MappingProxyType(
        noise_from_mapping(value, kind, Place('sensor/noise', place.name), findings)
    )


def _pose(settings: Mapping[str, object], place: Place, findings: Findings) -> Pose:
    given: dict[str, list[float]] = {}
    for key, numbers in _POSE.items():
        if key in settings:
            value = settings[key]
            text = plain(value)
            if isinstance(value, Sequence) and not isinstance(value, str):
                text = ' '.join(map(plain, value))
            values = parse_numbers(text, numbers, place, findings, key)
            if values is not None:
                given[key] = values
    if 'rpy' in settings and 'orientation' in settings:
        findings.error(
            'two-rotations', place, 'both rpy and orientation are given; keep one', 'orientation'
        )
    position = read_only(given.get('position', [0.0, 0.0, 0.0]))
    if 'orientation' in given:
        text = ' '.join(map(repr, given['orientation']))
        return Pose(position, read_quaternion(text, place, findings, 'orientation'))
    return Pose(position, read_only(matrix_from_rpy(given.get('rpy', [0.0, 0.0, 0.0]))))
