"""
Satellite navigation receivers in plugins of Gazebo Classic.

hector_gazebo_ros_gps (hector_gazebo_plugins) is a plugin of the model, with its own place on the
Earth and its own noise. gazebo_ros_gps_sensor (gazebo_plugins) is a plugin in a sensor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
import math
from types import MappingProxyType

from sim_bridge.description.model import NoiseDescription, SensorDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.origin import Origin
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.plugin_topics import name_in, read_topic, topics_of
from sim_bridge.description.sensor_kinds import (
    AXES,
    FIX_SERVICES,
    FIX_STATUS,
    NAVSAT,
    NavSatSettings,
)
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown
from sim_bridge.foundation.errors import InvalidValueError

_FILE = 'hector_gazebo_ros_gps'
_VELOCITY_OUTPUTS = ('~/vel', 'vel')

# hector_gazebo's defaults: place [deg, m, deg from north], rate [Hz], drift frequency [1/s]
_PLACE = {
    'referenceLatitude': 49.9,
    'referenceLongitude': 8.9,
    'referenceAltitude': 0.0,
    'referenceHeading': 0.0,
}
_RATE, _DRIFT_FREQUENCY = 4.0, 1.0 / 3600.0
_NUMBERS = {
    **{name: Numbers() for name in _PLACE},
    'updateRate': Numbers(minimum=0.0),
    'status': Numbers(),
    'service': Numbers(),
}
_MODEL = ('offset', 'drift', 'driftFrequency', 'gaussianNoise')
_NAMES = ('robotNamespace', 'bodyName', 'frameId', 'topicName', 'velocityTopicName', 'ros')


def is_gps_plugin(node: Element) -> bool:
    """Return whether an element is hector_gazebo's plugin for a receiver."""
    return node.tag == 'plugin' and _FILE in node.get('filename')


def read_gps_plugin(
    node: Element, links: Collection[str | None], findings: Findings
) -> SensorDescription:
    """Return a hector_gazebo plugin's receiver; links: the robot's link names."""
    name = node.get('name') or 'gps'
    place = Place('plugin', name, node.line)
    models = [f'{prefix}{word}' for prefix, word in _models()]
    warn_of_unknown(node, {*_NAMES, *_NUMBERS, *models}, place, findings)
    given = read_numbers(node, _NUMBERS, place, findings)
    body = _text(node, 'bodyName')
    if body not in links:
        message = unknown('link', body, [link for link in links if link]) if body else 'missing'
        findings.error('unknown-reference', place, message, 'bodyName', body)
    topics = topics_of(node)
    topic, velocity = (
        read_topic(topics.resolved(_text(node, tag) or default), place, findings)
        for tag, default in (('topicName', 'fix'), ('velocityTopicName', 'fix_velocity'))
    )
    return SensorDescription(
        name,
        NAVSAT,
        body,
        update_rate=given.get('updateRate', _RATE),
        noise=MappingProxyType(
            {
                **_noise(node, 'position', '', place, findings),
                **_noise(node, 'velocity', 'velocity', place, findings),
            }
        ),
        settings=NavSatSettings(
            _origin(given, place, findings),
            _word(given, 'status', FIX_STATUS, 'fix', place, findings),
            _word(given, 'service', FIX_SERVICES, 'gps', place, findings),
            'nwu',
            velocity_topic=velocity,
        ),
        frame_id=_text(node, 'frameId'),
        topic=topic,
        line=node.line,
    )


def velocity_output(
    settings: NavSatSettings, sensor: Element, place: Place, findings: Findings
) -> NavSatSettings:
    """Return the settings with the velocity topic that a gazebo_ros plugin in a sensor names."""
    names = (topics_of(plugin).remapped(*_VELOCITY_OUTPUTS) for plugin in sensor.findall('plugin'))
    topic = read_topic(next(filter(None, names), ''), place.child('topic', sensor.line), findings)
    return replace(settings, velocity_topic=topic) if topic else settings


def _text(node: Element, tag: str) -> str:
    element = node.find(tag)
    return '' if element is None else name_in(element)


def _origin(given: Mapping[str, float], place: Place, findings: Findings) -> Origin | None:
    """Return the reference place; in hector_gazebo x has a heading from the north."""
    latitude, longitude, altitude, heading = (given.get(key, _PLACE[key]) for key in _PLACE)
    try:
        return Origin(latitude, longitude, altitude, 90.0 - heading)
    except InvalidValueError as err:
        findings.error('out-of-range', place, str(err), 'reference')
        return None


def _word(
    given: Mapping[str, float],
    key: str,
    words: Mapping[str, int],
    default: str,
    place: Place,
    findings: Findings,
) -> str:
    """Return the word for a number in sensor_msgs/NavSatStatus."""
    number = given.get(key, float(words[default]))
    word = next((word for word, own in words.items() if own == number), '')
    if not word:
        accepted = ', '.join(f'{own} ({word})' for word, own in words.items())
        message = f'must be one of {accepted}; {default} is used'
        findings.warning('bad-value', place, message, key, f'{number:g}')
    return word or default


def _models() -> Iterator[tuple[str, str]]:
    """Yield prefix and name for each number in the error models."""
    for word in _MODEL:
        yield '', word
        yield 'velocity', word[0].upper() + word[1:]


def _noise(
    node: Element, quantity: str, prefix: str, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """
    Return the noise by channel, from hector_gazebo's error model.

    The drift is a Gauss-Markov process: `drift` is its standard deviation, `driftFrequency` the
    reciprocal correlation time. The axes in the file are north, west and up.
    """
    offset, drift, frequency, white = (
        _triple(node, f'{prefix}{word[0].upper() + word[1:]}' if prefix else word, place, findings)
        for word in _MODEL
    )
    channels = {}
    # the position's noise is along east, north and up
    order, signs = ((0, 1, 2), (1.0, 1.0, 1.0)) if prefix else ((1, 0, 2), (-1.0, 1.0, 1.0))
    for axis, k, sign in zip(AXES, order, signs, strict=True):
        tau = 1.0 / (frequency[k] if frequency[k] > 0.0 else _DRIFT_FREQUENCY)
        noise = NoiseDescription(
            'gaussian',
            sign * offset[k],
            abs(white[k]),
            dynamic_bias_stddev=abs(drift[k]) * math.sqrt(2.0 / tau),
            dynamic_bias_correlation_time=tau,
        )
        if offset[k] or drift[k] or white[k]:
            channels[f'{quantity}.{axis}'] = noise
    return channels


def _triple(
    node: Element, tag: str, place: Place, findings: Findings
) -> tuple[float, float, float]:
    """Return three numbers, or one for all axes; zeros without the element."""
    element = node.find(tag)
    if element is None:
        return 0.0, 0.0, 0.0
    text = element_text(element)
    count = 1 if len(text.split()) == 1 else 3
    inner = place.child(tag, element.line)
    values = parse_numbers(text, Numbers(count), inner, findings, '') or [0.0]
    x, y, z = values if len(values) == 3 else values * 3
    return x, y, z
