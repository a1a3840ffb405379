"""
Tree joints in MJCF.

A joint with several coordinates becomes several joints in one body, in MuJoCo's order: the first
one is nearest to the parent (XML reference, "body/joint").
"""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.mjcf.write.text import ends, number, numbers
from sim_bridge.description.model import (
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    Pose,
)
from sim_bridge.description.stages import stages_of
from sim_bridge.engine.data.model import PRISMATIC
from sim_bridge.foundation.arrays import FloatArray

_UNBOUNDED, _FREE = JointLimits(), JointDynamics()
# names for several coordinates, by their index
_SUFFIXES = {
    JointType.PLANAR: ('/x', '/y', '/turn'),
    JointType.PISTON: ('/slide', '/turn'),
    JointType.UNIVERSAL: ('/1', '/2'),
    JointType.HINGE2: ('/1', '/2', '/suspension'),
}


class Part(NamedTuple):
    """
    One MuJoCo joint.

    suffix: added to the joint's name. kind: hinge, slide or ball. axis: (3,) unit vector in the
    joint frame; None for a ball.
    """

    suffix: str
    kind: str
    axis: FloatArray | None
    limits: JointLimits = _UNBOUNDED
    dynamics: JointDynamics = _FREE


def parts_of(joint: JointDescription) -> Iterator[Part]:
    """Yield the MuJoCo joints for a joint's motion."""
    if joint.type is JointType.BALL:
        yield Part('', 'ball', None, dynamics=joint.dynamics)
    elif joint.type is JointType.FLOATING:
        for name, axis in zip('xyz', np.eye(3), strict=True):
            yield Part(f'/{name}', 'slide', axis)
        yield Part('/turn', 'ball', None)
    else:
        for stage in stages_of(joint):
            suffixes = _SUFFIXES.get(joint.type)
            suffix = suffixes[stage.coordinate] if suffixes else ''
            word = 'slide' if stage.kind == PRISMATIC else 'hinge'
            yield Part(suffix, word, stage.axis, stage.limits, stage.dynamics)


def write_joint(
    body: Element, joint: JointDescription, body_pose: Pose, start: float = 0.0
) -> list[tuple[str, Part]]:
    """
    Add a joint to a body below it; return its MuJoCo joints, with their names.

    body_pose: the body's frame in the moved joint frame, initially. start: initial position of a
    one-axis joint, MuJoCo's `ref`; the body is placed there.
    """
    turn = body_pose.rotation.T
    anchor = body_pose.inverse.position
    written = []
    for part in parts_of(joint):
        name = f'{joint.name}{part.suffix}'
        element = SubElement(body, 'joint', name=name, type=part.kind)
        if anchor.any():
            element.set('pos', numbers(anchor))
        if part.axis is not None:
            element.set('axis', numbers(turn @ part.axis))
        if start:
            element.set('ref', number(start))
        _write_limits(element, part.limits)
        _write_dynamics(element, part.dynamics)
        written.append((name, part))
    return written


def is_held(limits: JointLimits) -> bool:
    """Return whether a range is a single position; MuJoCo refuses it."""
    return limits.lower == limits.upper


def _write_limits(element: Element, limits: JointLimits) -> None:
    is_bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    if is_bounded and not is_held(limits):
        element.set('limited', 'true')
        element.set('range', ends(limits.lower, limits.upper))
    least, greatest = limits.efforts
    if (math.isfinite(least) or math.isfinite(greatest)) and least < greatest:
        element.set('actuatorfrclimited', 'true')
        element.set('actuatorfrcrange', ends(least, greatest))


def _write_dynamics(element: Element, dynamics: JointDynamics) -> None:
    for name, value in (
        ('damping', dynamics.damping),
        ('frictionloss', max(dynamics.frictions)),
        ('armature', dynamics.armature),
        ('stiffness', dynamics.stiffness),
    ):
        if value:
            element.set(name, number(value))
    if dynamics.stiffness and dynamics.reference:
        element.set('springref', number(dynamics.reference))
