"""Noise declarations: SDF's `noise` elements and the node's YAML, both to `NoiseDescription`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sim_bridge.description.model import NoiseDescription, SensorKind
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.gazebo import element_text
from sim_bridge.description.urdf.clean import parse_numbers
from sim_bridge.description.urdf.schema import Numbers

if TYPE_CHECKING:
    from sim_bridge.description.urdf.document import Element

AXES = ('x', 'y', 'z')
KINDS = ('none', 'gaussian', 'gaussian_quantized')

# the three-channel quantities of each kind of sensor
QUANTITIES = {
    SensorKind.FORCE_TORQUE: ('force', 'torque'),
    SensorKind.GYRO: ('angular_velocity',),
    SensorKind.ACCELEROMETER: ('linear_acceleration',),
    SensorKind.IMU: ('angular_velocity', 'linear_acceleration'),
}

_NOT_NEGATIVE = Numbers(minimum=0.0)
KEYS = {
    'mean': Numbers(),
    'stddev': _NOT_NEGATIVE,
    'bias_mean': Numbers(),
    'bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_correlation_time': _NOT_NEGATIVE,
    'precision': _NOT_NEGATIVE,
    'density': _NOT_NEGATIVE,
}

# SDF 1.4 had one noise element per sensor, with these children
_CLASSIC = {'rate': 'angular_velocity', 'accel': 'linear_acceleration'}


def read_axis_noise(
    quantity: Element, name: str, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """Read `<x><noise>` … `<z><noise>` inside the element of a quantity, into 'quantity.axis'."""
    channels = {}
    for axis in quantity:
        inner = place.child(axis.tag, axis.line)
        if axis.tag not in AXES:
            findings.warning('unknown-tag', inner, 'unknown tag, ignored')
            continue
        for node in axis.findall('noise'):
            noise = _read_noise(
                node, node.get('type', 'none'), inner.child('noise', node.line), findings
            )
            if noise.kind != 'none':
                channels[f'{name}.{axis.tag}'] = noise
    return channels


def read_classic_noise(
    node: Element, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """Read SDF 1.4's `<noise><type/><rate/><accel/></noise>` of an imu, alike for all axes."""
    kind = next(
        (element_text(element) for element in node.findall('type')), node.get('type', 'none')
    )
    channels = {}
    for element in node:
        inner = place.child(element.tag, element.line)
        if element.tag in _CLASSIC:
            noise = _read_noise(element, kind, inner, findings)
            if noise.kind != 'none':
                channels.update({f'{_CLASSIC[element.tag]}.{axis}': noise for axis in AXES})
        elif element.tag != 'type':
            findings.warning('unknown-tag', inner, 'unknown tag, ignored')
    return channels


def _read_noise(node: Element, kind: str, place: Place, findings: Findings) -> NoiseDescription:
    if kind not in KINDS:
        message = f'unknown, no noise; the types are {", ".join(KINDS)}'
        findings.warning('noise-type', place, message, 'type', kind)
        return NoiseDescription()
    values = {}
    for element in node:
        inner = place.child(element.tag, element.line)
        if element.tag in KEYS:
            numbers = parse_numbers(element_text(element), KEYS[element.tag], inner, findings, '')
            if numbers is not None:
                values[element.tag] = numbers[0]
        elif element.tag != 'type':
            findings.warning('unknown-tag', inner, 'unknown tag, ignored')
    return NoiseDescription(kind=kind, **values)


def noise_from_mapping(
    mapping: Mapping[str, object], kind: SensorKind, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """
    Read the `noise` of a sensor in YAML, such as `{force: {stddev: 0.1, z: {stddev: 0.3}}}`.

    What is said of a quantity holds for its three axes; what is said of an axis comes on top.
    """
    channels = {}
    for quantity, entries in mapping.items():
        inner = Place(f'{place.element}/{quantity}', place.name)
        if quantity not in QUANTITIES[kind]:
            known = ', '.join(QUANTITIES[kind])
            findings.error('unknown-key', inner, f'a {kind.value} sensor has noise of {known}')
        elif not isinstance(entries, Mapping):
            findings.error(
                'bad-value', inner, 'must be a mapping of noise keys', value=str(entries)
            )
        else:
            common = {key: value for key, value in entries.items() if key not in AXES}
            noise = _noise_of(common, NoiseDescription(), inner, findings)
            for axis in AXES:
                own = entries.get(axis, {})
                at = Place(f'{inner.element}/{axis}', place.name)
                if not isinstance(own, Mapping):
                    findings.error(
                        'bad-value', at, 'must be a mapping of noise keys', value=str(own)
                    )
                    own = {}
                channels[f'{quantity}.{axis}'] = _noise_of(own, noise, at, findings)
    return {channel: noise for channel, noise in channels.items() if noise.kind != 'none'}


def _noise_of(
    entries: Mapping[str, object], base: NoiseDescription, place: Place, findings: Findings
) -> NoiseDescription:
    kind = entries.get('type', base.kind)
    values = {}
    for key, value in entries.items():
        if key == 'type':
            if value not in KINDS:
                findings.error(
                    'noise-type', place, f'the types are {", ".join(KINDS)}', key, str(value)
                )
                kind = 'none'
        elif key not in KEYS:
            findings.error(
                'unknown-key', place, f'the keys are type, {", ".join(KEYS)}', str(key), str(value)
            )
        else:
            numbers = parse_numbers(str(value), KEYS[key], place, findings, key)
            if numbers is not None:
                values[key] = numbers[0]
    # a number without a type means the plain model; a step without one, the quantised
    if 'type' not in entries and values and kind == 'none':
        kind = 'gaussian_quantized' if values.get('precision') else 'gaussian'
    return replace(base, kind=kind, **values)
