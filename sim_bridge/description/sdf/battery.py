"""Batteries from gz-sim's LinearBatteryPlugin, with the thrusters' loads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim_bridge.description.batteries import BatteryDescription
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, plugins_of, PluginTags, POSITIVE
from sim_bridge.description.sdf.plugin_topics import name_in

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element

_LOAD_PLUGINS = ('thruster-system',)


def is_battery(node: Element) -> bool:
    """Return whether a plugin is a battery."""
    return 'linearbatteryplugin-system' in node.get('filename', '')


def read_batteries(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[BatteryDescription]:
    """Yield the batteries; defective ones are left out."""
    nodes = [node for node in plugins_of(root) if is_battery(node)]
    names = [name for name in (_name(node) for node in nodes) if name]
    loads = dict.fromkeys(names, 0.0)
    for name, power in _loads(root, description, names, findings):
        loads[name] += power
    for node in nodes:
        own = Findings()
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        battery = _battery(PluginTags(node, place, description, own), loads)
        if findings.take_part(own, 'battery') and battery is not None:
            yield battery


def _name(node: Element) -> str:
    child = node.find('battery_name')
    return '' if child is None else name_in(child)


def _loads(
    root: Element, description: RobotDescription, names: list[str], findings: Findings
) -> Iterator[tuple[str, float]]:
    """Yield other plugins' loads, by battery [W]."""
    for node in plugins_of(root):
        name = _name(node)
        if not name or not any(word in node.get('filename', '') for word in _LOAD_PLUGINS):
            continue
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        if name not in names:
            message = f'{unknown("battery", name, names)}; its load is ignored'
            findings.warning('unknown-battery', place, message, 'battery_name', name)
            continue
        own = Findings()
        # only its load is read here
        power = PluginTags(node, place, description, own).number('power_load', 0.0, NOT_NEGATIVE)
        if findings.take_part(own, 'load'):
            yield name, power


def _battery(tags: PluginTags, loads: dict[str, float]) -> BatteryDescription | None:
    name, robot = tags.text('battery_name'), tags.description.name
    capacity = tags.number('capacity', 0.0, POSITIVE)
    for tag in ('battery_name', 'voltage', 'capacity'):
        if not tags.text(tag):
            place = tags.place.child(tag, tags.place.line)
            tags.findings.error('missing-tag', place, 'missing')
    charge = tags.number('initial_charge', capacity)
    if not 0.0 <= charge <= capacity:
        message = f'must be from 0 to the capacity; {min(max(charge, 0.0), capacity):g} is used'
        tags.findings.warning('out-of-range', tags.place, message, 'initial_charge', str(charge))
    stem = f'model/{robot}/battery/{name}'
    can_charge = tags.flag('enable_recharge')
    by_topic = can_charge and tags.last('recharge_by_topic') is not None
    battery = BatteryDescription(
        name,
        tags.topic(f'{stem}/state', 'battery_name') if name else '',
        tags.number('open_circuit_voltage_constant_coef', 0.0),
        tags.number('open_circuit_voltage_linear_coef', 0.0),
        capacity,
        min(max(charge, 0.0), capacity),
        tags.number('resistance', 0.0, NOT_NEGATIVE),
        tags.number('smooth_current_tau', 1.0, POSITIVE),
        tags.number('voltage', 0.0, POSITIVE),
        tags.number('power_load', 0.0, NOT_NEGATIVE) + loads.get(name, 0.0),
        tags.flag('start_draining'),
        _topics(tags, 'power_draining_topic'),
        _topics(tags, 'stop_power_draining_topic'),
        tags.number('charging_time', 0.0, POSITIVE) if can_charge else 0.0,
        tags.topic(f'{stem}/recharge/start', 'battery_name') if by_topic else '',
        tags.topic(f'{stem}/recharge/stop', 'battery_name') if by_topic else '',
        tags.flag('invert_current_sign'),
        tags.node.line,
    )
    tags.close(('fix_issue_225', 'charging_time', 'recharge_by_topic'))
    return battery


def _topics(tags: PluginTags, tag: str) -> tuple[str, ...]:
    return tuple(tags.topic(name_in(child), tag) for child in tags.children(tag))
