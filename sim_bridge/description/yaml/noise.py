"""Sensor noise in YAML, read into `NoiseDescription`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sim_bridge.description.model import NoiseDescription
from sim_bridge.description.noise import KEYS, KINDS
from sim_bridge.description.numbers import parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sensor_kinds import SensorKind
from sim_bridge.foundation.errors import plain


def noise_from_mapping(
    mapping: Mapping[str, object], kind: SensorKind, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """
    Return the noise models by channel, for a sensor's `noise` in YAML.

    For example `{force: {stddev: 0.1, z: {stddev: 0.3}}}`: keys of a quantity hold for all its
    axes, and keys of an axis override them. Some quantities, such as `range`, have no axes.
    """
    channels = {}
    quantities = kind.noisy
    for quantity, entries in mapping.items():
        inner = Place(f'{place.element}/{quantity}', place.name)
        if quantity not in quantities:
            known = ', '.join(quantities) or 'nothing'
            findings.error('unknown-key', inner, f'a {kind.word} sensor has noise of {known}')
        elif not isinstance(entries, Mapping):
            findings.error(
                'bad-value', inner, 'must be a mapping of noise keys', value=plain(entries)
            )
        else:
            axes = quantities[quantity].axes
            common = {key: value for key, value in entries.items() if key not in axes}
            noise = _noise_of(common, NoiseDescription(), inner, findings)
            if not axes:
                channels[quantity] = noise
            for axis in axes:
                own = entries.get(axis, {})
                at = Place(f'{inner.element}/{axis}', place.name)
                if not isinstance(own, Mapping):
                    findings.error(
                        'bad-value', at, 'must be a mapping of noise keys', value=plain(own)
                    )
                    own = {}
                channels[f'{quantity}.{axis}'] = _noise_of(own, noise, at, findings)
    return {channel: noise for channel, noise in channels.items() if noise.kind != 'none'}


def _noise_of(
    entries: Mapping[str, object], base: NoiseDescription, place: Place, findings: Findings
) -> NoiseDescription:
    kind, values = base.kind, {}
    for key, value in entries.items():
        if key == 'type':
            if value not in KINDS:
                findings.error(
                    'noise-type', place, f'the types are {", ".join(KINDS)}', key, plain(value)
                )
            kind = plain(value) if value in KINDS else 'none'
        elif key not in KEYS:
            findings.error(
                'unknown-key',
                place,
                f'the keys are type, {", ".join(KEYS)}',
                plain(key),
                plain(value),
            )
        else:
            numbers = parse_numbers(plain(value), KEYS[key], place, findings, key)
            if numbers is not None:
                values[key] = numbers[0]
    # without a type, a precision means the quantised model, any other number the plain one
    if 'type' not in entries and values and kind == 'none':
        kind = 'gaussian_quantized' if values.get('precision') else 'gaussian'
    return replace(base, kind=kind, **values)
