"""
Gazebo's plugins for aircraft and wind.

Tags and defaults are those of gz-sim's AdvancedLiftDrag and WindEffects.
"""

from __future__ import annotations

import math

import numpy as np

from sim_bridge.description.fluid_forces import AdvancedLiftDrag
from sim_bridge.description.force_fields import Wind
from sim_bridge.description.plugin_inputs import WindInput
from sim_bridge.description.sdf.plugin_effects import Effect, FieldNames
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, PluginTags, POSITIVE
from sim_bridge.description.xml.document import Element

# the coefficients' letters and the columns' suffixes, in AdvancedLiftDrag's order
_COEFFICIENTS = ('CD', 'CY', 'CL', 'Cell', 'Cem', 'Cen')
_COLUMNS = ('0', 'a', 'b', 'p', 'q', 'r')
_ABSENT = ('CDa', 'CDb', 'CY0', 'Cell0', 'Cen0')
_DEGREES = 180.0 / math.pi


def read_aircraft(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's aircraft with stability and control derivatives."""
    link = tags.link('link_name')
    for tag in ('AR', 'eff'):
        if tags.last(tag) is None:
            tags.findings.error('missing-tag', tags.place.child(tag, tags.place.line), 'missing')
    derivatives = np.zeros((6, 6))
    for row, coefficient in enumerate(_COEFFICIENTS):
        for column, suffix in enumerate(_COLUMNS):
            if coefficient + suffix not in _ABSENT:
                derivatives[row, column] = tags.number(coefficient + suffix, 0.0)
    surfaces = [_control_surface(tags, each) for each in _surfaces(tags)]
    found = [(joint, row) for joint, row in surfaces if joint]
    field = AdvancedLiftDrag(
        derivatives,
        tuple(joint for joint, _ in found),
        np.array([row for _, row in found]),
        tags.number('alpha_stall', 0.5 * math.pi, NOT_NEGATIVE),
        tags.number('Cema_stall', 0.0),
        tags.number('area', 1.0, POSITIVE),
        tags.number('AR', 1.0, POSITIVE),
        tags.number('eff', 1.0, POSITIVE),
        tags.number('mac', 0.0, NOT_NEGATIVE),
        tags.number('air_density', 1.2041, NOT_NEGATIVE),
        tags.vector('cp'),
        tags.vector('forward', (1.0, 0.0, 0.0)),
        tags.vector('upward', (0.0, 0.0, 1.0)),
    )
    names.new(link)
    # gz-sim reads these too, without effect
    tags.close(('radial_symmetry', 'control_joint_rad_to_cl'))
    return Effect('aircraft', ((field, (link,)),))


def _surfaces(tags: PluginTags) -> list[Element]:
    """Return the control surfaces that count: the first `num_ctrl_surfaces`."""
    surfaces = tags.children('control_surface')
    wanted = int(tags.number('num_ctrl_surfaces', 0.0, NOT_NEGATIVE))
    if wanted != len(surfaces):
        message = f'{len(surfaces)} control_surface elements; the first {wanted} have an effect'
        tags.findings.warning('bad-value', tags.place, message, 'num_ctrl_surfaces', str(wanted))
    return surfaces[:wanted]


def _control_surface(tags: PluginTags, node: Element) -> tuple[str, list[float]]:
    """Return the joint, and the coefficients' derivatives by its position [1/rad]."""
    inner = tags.inside(node)
    joint = inner.axis('name')
    # Gazebo's unit is 1/degree
    factor = _DEGREES * inner.number('direction', 1.0)
    row = [factor * inner.number(f'{each}_ctrl', 0.0) for each in _COEFFICIENTS]
    inner.children('index')
    inner.close()
    return '' if joint is None else joint.name, row


def read_wind(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's wind; its velocity comes by topic, or by the node's parameter."""
    speed, direction, vertical = (
        _part(tags, *path)
        for path in (('horizontal', 'magnitude'), ('horizontal', 'direction'), ('vertical',))
    )
    gust, gust_period = _sine(speed, 'amplitude_percent')
    swing, swing_period = _sine(direction, 'amplitude')
    field = Wind(
        rate=_rate(tags),
        rise_time=_rise_time(speed),
        turn_time=_rise_time(direction),
        vertical_rise_time=_rise_time(vertical),
        gust=gust,
        gust_period=gust_period,
        swing=math.radians(swing),
        swing_period=swing_period,
    )
    for part in (speed, direction, vertical):
        if part is not None:
            part.close()
    stem = 'world/default/wind'
    entry = WindInput(tags.topic(stem), tags.topic(f'{stem}_info'), names.new('wind'))
    tags.close()
    return Effect('wind', ((field, ()),), (entry,))


def _part(tags: PluginTags, *path: str) -> PluginTags | None:
    """Return the tags in a nested element; None without it."""
    found: PluginTags | None = tags
    for tag in path:
        child = None if found is None else found.last(tag)
        found = None if found is None or child is None else found.inside(child)
    return found


def _rise_time(part: PluginTags | None) -> float:
    return 1.0 if part is None else part.number('time_for_rise', 1.0, POSITIVE)


def _sine(part: PluginTags | None, amplitude: str) -> tuple[float, float]:
    """Return amplitude and period [s] of a sine."""
    sine = None if part is None else _part(part, 'sin')
    if sine is None:
        return 0.0, 1.0
    values = sine.number(amplitude, 0.0), sine.number('period', 1.0, POSITIVE)
    sine.close()
    return values


def _rate(tags: PluginTags) -> float:
    """Return the push per mass and relative velocity [1/s]."""
    tag = 'force_approximation_scaling_factor'
    child = tags.last(tag)
    if child is not None and child.children:
        message = 'factors that depend on the place are not simulated; 1 is assumed'
        tags.findings.warning('not-simulated', tags.at(child), message)
        return 1.0
    return tags.number(tag, 1.0, NOT_NEGATIVE)
