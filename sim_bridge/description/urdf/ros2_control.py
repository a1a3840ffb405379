"""
Sensors in `<ros2_control>`: the hardware view, given by state interfaces.

The kind follows from the interface names of gz_ros2_control and the sensor broadcasters. The
format has no mounting place. It is that of the Gazebo sensor with the same name; else the
parameters `joint`, `link` or `frame_id` name it; else a joint or link has the sensor's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sim_bridge.description.model import JointDescription, RobotDescription, SensorDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sensor_kinds import KINDS, SensorKind, Switch
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text

_RATE = Numbers(minimum=0.0)


def read_ros2_control_sensors(
    root: Element, description: RobotDescription, declared: set[str], findings: Findings
) -> Iterator[SensorDescription]:
    """Yield the sensors of `<ros2_control>` whose names are not among the `declared` ones."""
    for system in root.findall('ros2_control'):
        for node in system.findall('sensor'):
            if node.get('name', '') not in declared:
                sensor = _read(node, description, findings)
                if sensor is not None:
                    declared = {*declared, sensor.name}
                    yield sensor


def check_initial_values(
    root: Element, joints: Mapping[str, JointDescription], findings: Findings
) -> None:
    """Report initial positions outside a joint's limits; nodes leave them out."""
    for system in root.findall('ros2_control'):
        for node in system.findall('joint'):
            joint = joints.get(node.get('name', ''))
            for interface in node.findall('state_interface'):
                if joint is not None and interface.get('name') == 'position':
                    _check_initial_value(interface, joint, findings)


def _check_initial_value(interface: Element, joint: JointDescription, findings: Findings) -> None:
    lower, upper = joint.limits.lower, joint.limits.upper
    for node in interface.findall('param'):
        if node.get('name') != 'initial_value':
            continue
        own, text = Findings(), element_text(node)
        place = Place('joint/initial_value', joint.name, node.line)
        values = parse_numbers(text, Numbers(), place, own, '')
        if values and not lower <= values[0] <= upper:
            message = f'must be from {lower:g} to {upper:g}, the limits of the joint [rad or m]'
            own.error('out-of-range', place, message, value=text)
        findings.take_part(own, 'initial value')


def _read(
    node: Element, description: RobotDescription, findings: Findings
) -> SensorDescription | None:
    name = node.get('name', '')
    place = Place('sensor', name, node.line)
    interfaces = {element.get('name', '') for element in node.findall('state_interface')}
    quantities = {interface.partition('.')[0] for interface in interfaces}
    kind = _kind(quantities)
    if kind is None or not name:
        listing = ', '.join(sorted(interfaces)) or 'none'
        message = f'not supported, ignored; its state interfaces are {listing}'
        findings.warning('unsupported-sensor', place, message)
        return None
    parameters = {
        element.get('name', ''): element_text(element) for element in node.findall('param')
    }
    link, joint = _where(name, kind, parameters, description)
    if not link and not joint:
        message = 'its link is not known; add <param name="joint"> or <param name="link">'
        findings.warning('unplaced-sensor', place, message)
        return None
    rate = parse_numbers(parameters.get('update_rate', '0'), _RATE, place, findings, 'update_rate')
    return SensorDescription(
        name=name,
        kind=kind,
        link=link,
        joint=joint,
        update_rate=rate[0] if rate else 0.0,
        settings=kind.settings(
            **{
                key: each.quantity in quantities
                for key, each in kind.keys.items()
                if isinstance(each, Switch)
            }
        ),
        frame_id=parameters.get('frame_id', ''),
        topic=parameters.get('topic', ''),
        line=node.line,
    )


def _kind(quantities: set[str]) -> SensorKind | None:
    """Return the kind with these quantities: one on a joint, else that which has most of them."""
    return max(
        (kind for kind in KINDS.values() if any(each <= quantities for each in kind.interfaces)),
        key=lambda kind: (kind.on_joint, sum(each.name in quantities for each in kind.quantities)),
        default=None,
    )


def _where(
    name: str, kind: SensorKind, parameters: dict[str, str], description: RobotDescription
) -> tuple[str, str]:
    """Return the names of the link and the joint of a sensor, '' where the file gives none."""
    link, joint = parameters.get('link', ''), parameters.get('joint', '')
    if link or joint:
        return link, joint
    for candidate in (parameters.get('frame_id', ''), name):
        # a joint and a link may share a name; a kind on a joint means the joint
        if kind.on_joint and candidate in description.joints:
            return '', candidate
        if candidate in description.links:
            return candidate, ''
        if candidate in description.joints:
            return '', candidate
    return '', ''
