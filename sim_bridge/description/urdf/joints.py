"""From a checked `joint` element to a `JointDescription`, by the rules of the joint's type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import (
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Mimic,
    ONE_AXIS,
    SafetyLimits,
)
from sim_bridge.description.poses import NORM_TOLERANCE, read_only
from sim_bridge.description.urdf.origin import read_origin

if TYPE_CHECKING:
    from sim_bridge.description.report import Findings, Place
    from sim_bridge.description.xml.document import Element

_STOPPED = (JointType.REVOLUTE, JointType.PRISMATIC)
_WITH_AXIS = (*ONE_AXIS, JointType.PLANAR)
_ONE_AXIS_ONLY = ('limit', 'dynamics', 'safety_controller')


def build_joint(
    parsed: object, node: Element, place: Place, findings: Findings
) -> JointDescription:
    """
    Build a joint from urdf-parser-py's object and the checked element it was read from.

    The element tells what the object cannot: what was given, what was left out, and where.
    """
    kind = JointType(parsed.type)
    one_axis = kind in ONE_AXIS
    if kind in (JointType.FLOATING, JointType.PLANAR):
        for element in node:
            if element.tag in _ONE_AXIS_ONLY:
                inner = place.child(element.tag, element.line)
                findings.warning(
                    'ignored-tag', inner, f'has no meaning for a {kind.value} joint, ignored'
                )
    return JointDescription(
        name=parsed.name,
        type=kind,
        parent=parsed.parent,
        child=parsed.child,
        origin=read_origin(parsed.origin, node.find('origin'), place, findings),
        axis=_axis(parsed, kind, node.find('axis'), place, findings),
        limits=_limits(kind, node.find('limit'), place, findings) if one_axis else JointLimits(),
        dynamics=_dynamics(node.find('dynamics')) if one_axis else JointDynamics(),
        mimic=_mimic(parsed.mimic, kind, node.find('mimic'), place, findings),
        safety=_safety(parsed.safety_controller) if one_axis else None,
        line=node.line,
    )


def _axis(
    parsed: object, kind: JointType, node: Element | None, place: Place, findings: Findings
) -> np.ndarray:
    # exporters write 0 0 0 on joints that have no axis
    if kind not in _WITH_AXIS or parsed.axis is None or node is None:
        return read_only([1.0, 0.0, 0.0])
    axis = np.array(parsed.axis)
    length = math.hypot(*axis)
    inner = place.child('axis', node.line)
    if length == 0.0:
        findings.error('zero-axis', inner, 'has no direction', 'xyz', node.get('xyz'))
        return read_only([1.0, 0.0, 0.0])
    if abs(length - 1.0) > NORM_TOLERANCE:
        findings.warning(
            'not-normalised', inner, f'of length {length:.6g}; normalised', 'xyz', node.get('xyz')
        )
    # a power of two leaves the digits alone and keeps the squares of tiny and huge numbers
    # representable
    scaled = np.ldexp(axis, -math.frexp(np.abs(axis).max())[1])
    return read_only(scaled / math.hypot(*scaled))


def _limits(
    kind: JointType, node: Element | None, place: Place, findings: Findings
) -> JointLimits:
    if node is None:
        if kind in _STOPPED:
            inner = place.child('limit', place.line)
            findings.warning(
                'missing-limit', inner, 'missing; no limit of position, velocity or effort'
            )
        return JointLimits()
    place = place.child('limit', node.line)
    for name in ('lower', 'upper', 'effort', 'velocity'):
        if 'inf' in node.get(name, '') and name in node.attrib:
            message = 'read as no limit; other parsers refuse it'
            findings.warning('infinite-limit', place, message, name, node.get(name))
    lower, upper = _stops(kind, node, place, findings)
    return JointLimits(
        lower,
        upper,
        _cap('effort', node, place, findings),
        _cap('velocity', node, place, findings),
    )


def _stops(
    kind: JointType, node: Element, place: Place, findings: Findings
) -> tuple[float, float]:
    lower, upper = float(node.get('lower', 0.0)), float(node.get('upper', 0.0))
    if kind not in _STOPPED:
        if lower or upper:
            text = f'{lower:g} {upper:g}'
            findings.warning(
                'ignored-limit', place, 'a continuous joint has no stops', 'lower upper', text
            )
        return -math.inf, math.inf
    if lower > upper or lower == math.inf or upper == -math.inf:
        message = f'lower must be below upper, which is {upper:g}'
        findings.error('lower-above-upper', place, message, 'lower', f'{lower:g}')
        return -math.inf, math.inf
    if lower == upper:
        given = [name for name in ('lower', 'upper') if name in node.attrib]
        why = '' if given else ' (URDF takes missing ones as 0)'
        findings.warning(
            'no-range',
            place,
            f'lower and upper are equal{why}: the joint cannot move',
            'lower',
            f'{lower:g}',
        )
    return lower, upper


def _cap(name: str, node: Element, place: Place, findings: Findings) -> float:
    """Return the effort or velocity limit; 0 is how files say that none is known."""
    if name not in node.attrib:
        findings.warning('missing-limit', place, 'missing; no limit', name)
        return math.inf
    value = float(node.get(name))
    if value == 0.0:
        findings.warning('zero-limit', place, 'taken as not given: no limit', name, node.get(name))
        return math.inf
    return value


def _dynamics(node: Element | None) -> JointDynamics:
    # from the element and not from urdf-parser-py's object, which has no armature
    if node is None:
        return JointDynamics()
    return JointDynamics(
        **{name: float(node.get(name, 0.0)) for name in ('damping', 'friction', 'armature')}
    )


def _mimic(
    parsed: object | None, kind: JointType, node: Element | None, place: Place, findings: Findings
) -> Mimic | None:
    if parsed is None or node is None:
        return None
    inner = place.child('mimic', node.line)
    if kind is JointType.FIXED:
        findings.warning('ignored-tag', inner, 'has no meaning for a fixed joint, ignored')
        return None
    if kind not in ONE_AXIS:
        findings.error(
            'mimic-type', inner, f'a {kind.value} joint cannot mimic', 'joint', parsed.joint
        )
        return None
    multiplier = 1.0 if parsed.multiplier is None else parsed.multiplier
    offset = 0.0 if parsed.offset is None else parsed.offset
    return Mimic(parsed.joint, multiplier, offset)


def _safety(parsed: object | None) -> SafetyLimits | None:
    if parsed is None:
        return None
    return SafetyLimits(
        parsed.soft_lower_limit, parsed.soft_upper_limit, parsed.k_position, parsed.k_velocity
    )
