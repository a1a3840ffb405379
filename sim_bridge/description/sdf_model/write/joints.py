"""Tree joints and loop joints in SDF."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.mechanism.loops import gap
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Mimic,
    Pose,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf_model.write.text import add, add_pose, numbers
from sim_bridge.foundation.arrays import FloatArray

_TREE = {
    JointType.REVOLUTE: 'revolute',
    JointType.CONTINUOUS: 'continuous',
    JointType.PRISMATIC: 'prismatic',
    JointType.FIXED: 'fixed',
    JointType.BALL: 'ball',
    JointType.UNIVERSAL: 'universal',
}
_LOOPS = {
    ConstraintType.HINGE: 'revolute',
    ConstraintType.SLIDER: 'prismatic',
    ConstraintType.FIXED: 'fixed',
    ConstraintType.BALL: 'ball',
}
_WORLD = 'world'
# [m] gaps by rounding
_CLOSED = 1e-9


def write_joint(model: Element, joint: JointDescription, findings: Findings) -> None:
    """Add a tree joint; an error among the findings for a type without a counterpart."""
    place = Place('joint', joint.name, joint.line)
    kind = _TREE.get(joint.type)
    if kind is None:
        message = f'SDF has no counterpart for a joint of type {joint.type.value!r}'
        findings.error('unsupported', place, message)
        return
    element = _element(model, joint.name, kind, joint.parent, joint.child)
    add_pose(element, joint.child_pose.inverse)
    if joint.type is JointType.BALL:
        if joint.dynamics.damping:
            # SDF writes a ball's damping in its axis; the direction has no meaning
            _axis(element, 'axis', joint.axis, JointLimits(), joint.dynamics)
    elif kind != 'fixed':
        _axis(element, 'axis', joint.axis, joint.limits, joint.dynamics, joint.mimic)
        if joint.axis2 is not None:
            _axis(element, 'axis2', joint.axis2, joint.limits2, joint.dynamics2)


def write_loop(
    model: Element, loop: ConstraintDescription, poses: dict[str, Pose], findings: Findings
) -> None:
    """
    Add a loop joint; an error among the findings for a type without a counterpart.

    poses: link poses at joint positions 0, where SDF's loop joints are closed.
    """
    place = Place('joint', loop.name, loop.line)
    kind = _LOOPS.get(loop.type)
    apart = gap(loop, poses)
    if kind is None or apart > _CLOSED:
        message = (
            f'SDF has no counterpart for a loop joint of type {loop.type.value!r}'
            if kind is None
            else f'is open by {apart:.3g} m at joint positions 0, where SDF joins its links'
        )
        findings.error('unsupported', place, message)
        return
    second = loop.link2 or _WORLD
    # the world can only be the parent
    parent, child = (second, loop.link1) if second == _WORLD else (loop.link1, second)
    element = _element(model, loop.name, kind, parent, child)
    one = poses[loop.link1]
    at = Pose(one.position + one.rotation @ loop.position1, one.rotation)
    in_child = (one if child == loop.link1 else poses[child]).inverse @ at
    add_pose(element, in_child)
    if loop.axis is not None and kind in ('revolute', 'prismatic'):
        sign = -1.0 if child == loop.link1 else 1.0
        _axis(element, 'axis', sign * loop.axis, _signed(loop.limits, sign), loop.dynamics)
    _note_lost(loop.dynamics, place, findings)
    for part in ('erp', 'cfm', 'compliance', 'toughness'):
        if getattr(loop, part) is not None:
            _lose(part, place, findings)


def _element(model: Element, name: str, kind: str, parent: str, child: str) -> Element:
    element = SubElement(model, 'joint', name=name, type=kind)
    add(element, 'parent', parent)
    add(element, 'child', child)
    return element


def _signed(limits: JointLimits, sign: float) -> JointLimits:
    if sign > 0.0:
        return limits
    return JointLimits(-limits.upper, -limits.lower, limits.effort, limits.velocity)


def _axis(
    joint: Element,
    tag: str,
    direction: FloatArray,
    limits: JointLimits,
    dynamics: JointDynamics,
    mimic: Mimic | None = None,
) -> None:
    axis = SubElement(joint, tag)
    add(axis, 'xyz', numbers(np.asarray(direction)))
    limit = SubElement(axis, 'limit')
    for name in ('lower', 'upper', 'effort', 'velocity'):
        value = getattr(limits, name)
        if math.isfinite(value) or name in ('lower', 'upper'):
            add(limit, name, value)
    passive = {
        'damping': dynamics.damping,
        'friction': dynamics.friction,
        'spring_stiffness': dynamics.stiffness,
        'spring_reference': dynamics.reference,
    }
    if any(passive.values()):
        own = SubElement(axis, 'dynamics')
        for name, value in passive.items():
            if value:
                add(own, name, value)
    if mimic is not None:
        rule = SubElement(axis, 'mimic', joint=mimic.joint)
        add(rule, 'multiplier', mimic.multiplier)
        add(rule, 'offset', mimic.offset)
        add(rule, 'reference', 0.0)


def _note_lost(dynamics: JointDynamics, place: Place, findings: Findings) -> None:
    for part, is_given in (
        ('armature', bool(dynamics.armature)),
        ('friction against backward motion', dynamics.frictions[0] != dynamics.frictions[1]),
        ('friction by load', bool(dynamics.bearing)),
    ):
        if is_given:
            _lose(part, place, findings)


def _lose(part: str, place: Place, findings: Findings) -> None:
    message = f'SDF has no counterpart for its {part}: left out'
    findings.warning('unsupported', place, message)
