"""
Transmissions between actuators and joints, in ROS 1, ros2_control and Drake.

Joints are simulated on their own side: efforts, limits and positions are those of the joint. A
transmission therefore changes nothing, except that the inertia of its rotor becomes armature, by
the square of the gear ratio (Drake) or of the mechanical reduction. All other values of a
transmission are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sim_bridge.description.model import JointDescription, ONE_AXIS
from sim_bridge.description.numbers import LARGEST, Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text

_SIMPLE = 'SimpleTransmission'
_ROTOR, _RATIO = 'rotor_inertia', 'gear_ratio'
_REDUCTIONS = ('mechanicalReduction', 'mechanical_reduction')
# numbers of the actuator side, with the value that changes nothing
_ACTUATOR_SIDE = {'mechanicalReduction': 1.0, 'mechanical_reduction': 1.0, 'offset': 0.0}


def with_transmissions(
    root: Element, joints: Mapping[str, JointDescription], findings: Findings
) -> dict[str, JointDescription]:
    """Return joints with the rotor inertias of their transmissions; report other values."""
    changed = dict(joints)
    for node in _transmissions(root):
        place = Place('transmission', node.get('name', ''), node.line)
        for element in node.findall('joint'):
            name = element.get('name', '')
            if name not in joints:
                inner = place.child('joint', element.line)
                message = unknown('joint', name, joints)
                findings.warning('unknown-joint', inner, message, 'name', name)
        kind = _kind(node)
        if kind and not kind.endswith(_SIMPLE):
            findings.warning(
                'not-simulated',
                place,
                f'only {_SIMPLE} is known; its joints move independently',
                value=kind,
            )
        armature = _armature(node, place, findings)
        for element in node.walk():
            neutral = _ACTUATOR_SIDE.get(element.tag)
            if neutral is not None and not (armature and element.tag in _REDUCTIONS):
                inner = place.child(element.tag, element.line)
                if _number(element, neutral, inner, findings) != neutral:
                    findings.warning(
                        'no-effect',
                        inner,
                        'no effect: efforts, limits and positions are those of the joint',
                        value=element_text(element),
                    )
        for element in node.findall('joint') if armature else ():
            joint = changed.get(element.get('name', ''))
            if joint is not None and joint.type in ONE_AXIS:
                changed[joint.name] = _with_armature(joint, armature, place, findings)
    return changed


def _transmissions(root: Element) -> Iterator[Element]:
    yield from root.findall('transmission')
    for system in root.findall('ros2_control'):
        yield from system.findall('transmission')


def _kind(node: Element) -> str:
    """Return the type: an attribute in old files, else an element."""
    element = node.find('type') or node.find('plugin')
    return node.get('type') or ('' if element is None else element_text(element))


def _armature(node: Element, place: Place, findings: Findings) -> float:
    """Return the rotor inertia at the joint [kg m² or kg]: times the square of the gear ratio."""
    values = {_ROTOR: 0.0, _RATIO: 1.0}
    for actuator in (*node.findall('joint'), *node.findall('actuator')):
        for element in actuator:
            tag = element.tag.rpartition(':')[2]
            tag = _RATIO if tag in _REDUCTIONS else tag
            if tag in values:
                inner = place.child(f'{actuator.tag}/{element.tag}', element.line)
                # a reduction that is no number is reported with the other values
                own = Findings() if tag != element.tag.rpartition(':')[2] else findings
                values[tag] = _number(element, values[tag], inner, own)
    armature = values[_RATIO] ** 2 * values[_ROTOR]
    if not 0.0 <= armature <= LARGEST:
        message = f'gives an armature of {armature:g}, outside 0 to {LARGEST:g}; ignored'
        findings.warning('out-of-range', place, message, _ROTOR, f'{values[_ROTOR]:g}')
        return 0.0
    return armature


def _with_armature(
    joint: JointDescription, armature: float, place: Place, findings: Findings
) -> JointDescription:
    own = joint.dynamics.armature
    if own:
        findings.warning(
            'no-effect', place, f'joint {joint.name!r} has its own armature, {own:g}', _ROTOR
        )
        return joint
    return replace(joint, dynamics=replace(joint.dynamics, armature=armature))


def _number(element: Element, default: float, place: Place, findings: Findings) -> float:
    """Return an element's number; the default, with a warning, for anything else."""
    own = Findings()
    values = parse_numbers(element_text(element), Numbers(), place, own, '')
    for finding in own.found:
        findings.warning(
            finding.code, place, f'{finding.message}; ignored', finding.attribute, finding.value
        )
    return values[0] if values else default
