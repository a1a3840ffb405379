"""Conversion from a checked `joint` element to a `JointDescription`, by joint type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.mechanism.constraints import direction, unlimited
from sim_bridge.description.model import (
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Mimic,
    ONE_AXIS,
    SafetyLimits,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.urdf.origin import read_origin
from sim_bridge.description.urdf.parser import parse_joint

if TYPE_CHECKING:
    from urdf_parser_py import urdf

    from sim_bridge.description.xml.document import Element

_STOPPED = (JointType.REVOLUTE, JointType.PRISMATIC)
_WITH_AXIS = (*ONE_AXIS, JointType.PLANAR)
_ONE_AXIS_ONLY = ('limit', 'dynamics', 'safety_controller')


def build_joint(element: Element, findings: Findings) -> JointDescription:
    """
    Return a checked element's joint.

    The element shows the given attributes and their lines; urdf-parser-py's object does not.
    """
    parsed = parse_joint(element)
    place = Place('joint', parsed.name, element.line)
    kind = JointType(parsed.type)
    one_axis = kind in ONE_AXIS
    if kind in (JointType.FLOATING, JointType.PLANAR):
        for child in element:
            if child.tag in _ONE_AXIS_ONLY:
                inner = place.child(child.tag, child.line)
                findings.warning(
                    'ignored-tag', inner, f'has no meaning for a {kind.value} joint, ignored'
                )
    limit, dynamics = element.find('limit'), element.find('dynamics')
    return JointDescription(
        name=parsed.name,
        type=kind,
        parent=parsed.parent,
        child=parsed.child,
        origin=read_origin(parsed.origin, element.find('origin'), place, findings),
        axis=_axis(parsed.axis, kind, element.find('axis'), place, findings),
        limits=_limits(parsed.limit, kind, limit, place, findings) if one_axis else JointLimits(),
        dynamics=_dynamics(parsed.dynamics, dynamics) if one_axis else JointDynamics(),
        mimic=_mimic(parsed.mimic, kind, element.find('mimic'), place, findings),
        safety=_safety(parsed.safety_controller) if one_axis else None,
        line=element.line,
    )


def _axis(
    parsed: list[float] | None,
    kind: JointType,
    element: Element | None,
    place: Place,
    findings: Findings,
) -> np.ndarray:
    # exporters write 0 0 0 for joints without an axis
    if kind not in _WITH_AXIS or parsed is None or element is None:
        return read_only([1.0, 0.0, 0.0])
    spot = place.child('axis', element.line).at('xyz')
    axis = direction(parsed, spot, findings, element.get('xyz'))
    return read_only([1.0, 0.0, 0.0]) if axis is None else axis


def _limits(
    parsed: urdf.JointLimit | None,
    kind: JointType,
    element: Element | None,
    place: Place,
    findings: Findings,
) -> JointLimits:
    if parsed is None or element is None:
        if kind in _STOPPED:
            inner = place.child('limit', place.line)
            findings.warning(
                'missing-limit', inner, 'missing; no limit of position, velocity or effort'
            )
        return JointLimits()
    place = place.child('limit', element.line)
    for name in ('lower', 'upper', 'effort', 'velocity'):
        if 'inf' in element.get(name):
            message = 'read as no limit; other parsers refuse it'
            findings.warning('infinite-limit', place, message, name, element.get(name))
    lower, upper = _stops(parsed, kind, element, place, findings)
    effort = _cap(parsed.effort, 'effort', element, place, findings)
    velocity = _cap(parsed.velocity, 'velocity', element, place, findings)
    return JointLimits(*map(unlimited, (lower, upper, effort, velocity)))


def _stops(
    parsed: urdf.JointLimit, kind: JointType, element: Element, place: Place, findings: Findings
) -> tuple[float, float]:
    lower, upper = float(parsed.lower), float(parsed.upper)
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
        given = [name for name in ('lower', 'upper') if name in element.attrib]
        why = '' if given else ' (URDF takes missing ones as 0)'
        findings.warning(
            'no-range',
            place,
            f'lower and upper are equal{why}: the joint cannot move',
            'lower',
            f'{lower:g}',
        )
    return lower, upper


def _cap(value: float, name: str, element: Element, place: Place, findings: Findings) -> float:
    """Return the effort or velocity limit; in files 0 means unknown, a negative one no limit."""
    if name not in element.attrib:
        findings.warning('missing-limit', place, 'missing; no limit', name)
        return math.inf
    if value <= 0.0:
        message = 'taken as not given: no limit' if value == 0.0 else 'not enforced: no limit'
        code = 'zero-limit' if value == 0.0 else 'negative-limit'
        findings.warning(code, place, message, name, element.get(name))
        return math.inf
    return value


def _dynamics(parsed: urdf.JointDynamics | None, element: Element | None) -> JointDynamics:
    if parsed is None or element is None:
        return JointDynamics()
    # urdf-parser-py's object has no armature
    return JointDynamics(
        parsed.damping or 0.0, parsed.friction or 0.0, float(element.get('armature', '0'))
    )


def _mimic(
    parsed: urdf.JointMimic | None,
    kind: JointType,
    element: Element | None,
    place: Place,
    findings: Findings,
) -> Mimic | None:
    if parsed is None or element is None:
        return None
    inner = place.child('mimic', element.line)
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


def _safety(parsed: urdf.SafetyController | None) -> SafetyLimits | None:
    if parsed is None:
        return None
    return SafetyLimits(
        parsed.soft_lower_limit, parsed.soft_upper_limit, parsed.k_position, parsed.k_velocity
    )
