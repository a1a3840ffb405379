"""gz-sim's plugin MulticopterVelocityControl."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import TYPE_CHECKING

from sim_bridge.description.plugin_inputs import FlightInput, FlightRotor
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_tags import plugins_of, PluginTags, POSITIVE

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element

_NOISE = tuple(
    f'{kind}VelocityNoise{moment}'
    for kind in ('linear', 'angular')
    for moment in ('Mean', 'StdDev')
)
_ANY = (math.inf, math.inf, math.inf)


def is_flight(node: Element) -> bool:
    """Return whether a plugin controls a multicopter's velocity."""
    return 'multicopter-control-system' in node.get('filename', '')


def read_flights(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[FlightInput]:
    """Yield the plugins' inputs; defective ones are left out."""
    for node in plugins_of(root):
        if not is_flight(node):
            continue
        own = Findings()
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        entry = _flight(PluginTags(node, place, description, own))
        if findings.take_part(own, 'velocity control'):
            yield entry


def _flight(tags: PluginTags) -> FlightInput:
    for tag in ('velocityGain', 'attitudeGain', 'angularRateGain'):
        if tags.last(tag) is None:
            place = tags.place.child(tag, tags.place.line)
            tags.findings.error('missing-tag', place, 'missing')
    for tag in _NOISE:
        child = tags.last(tag)
        if child is not None and any(tags.vector(tag)):
            message = 'is not simulated, ignored'
            tags.findings.warning('not-simulated', tags.at(child), message, value=child.text)
    namespace = tags.text('robotNamespace', default=tags.description.name)
    command, enable = (
        tags.topic(f'{namespace}/{tags.text(tag, default=usual)}', tag)
        for tag, usual in (('commandSubTopic', 'cmd_vel'), ('enableSubTopic', 'enable'))
    )
    zero = (0.0, 0.0, 0.0)
    entry = FlightInput(
        command,
        enable,
        tags.link('comLinkName'),
        tuple(_rotors(tags)),
        tags.vector('velocityGain', zero),
        tags.vector('attitudeGain', zero),
        tags.vector('angularRateGain', zero),
        tags.vector('maximumLinearAcceleration', _ANY),
        tuple(map(abs, tags.vector('maximumLinearVelocity', _ANY))),
        abs(tags.vector('maximumAngularVelocity', _ANY)[2]),
        tags.node.line,
    )
    tags.close()
    return entry


def _rotors(tags: PluginTags) -> Iterator[FlightRotor]:
    """Yield the rotors in `rotorConfiguration`, which must be at least four."""
    configuration = tags.last('rotorConfiguration')
    rotors = [] if configuration is None else tags.inside(configuration).children('rotor')
    if len(rotors) < 4:
        place = tags.place.child('rotorConfiguration', tags.place.line)
        message = f'must have at least four rotors, has {len(rotors)}'
        tags.findings.error('missing-tag', place, message)
    for node in rotors:
        inner = tags.inside(node)
        joint = inner.axis('jointName')
        direction = inner.number('direction', 1.0)
        yield FlightRotor(
            '' if joint is None else joint.name,
            inner.number('forceConstant', 8.54858e-06, POSITIVE),
            inner.number('momentConstant', 0.016),
            -1 if direction < 0.0 else 1,
        )
        inner.close()
