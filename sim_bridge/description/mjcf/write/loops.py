"""Mimic rules and loop joints as MuJoCo's equality constraints."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.mjcf.write.text import number, numbers, quaternion
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointDynamics,
    JointLimits,
    Pose,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.arrays import FloatArray

# distance between the two points on a hinge's axis [m]
_HINGE_WIDTH = 0.1
_WORLD = ''


def write_mimic(equality: Element, joint: JointDescription, starts: Mapping[str, float]) -> None:
    """Add a mimic rule. starts: initial positions by joint; MuJoCo's rule counts from there."""
    rule = joint.mimic
    if rule is not None:
        offset = rule.position(starts.get(rule.joint, 0.0)) - starts.get(joint.name, 0.0)
        polynomial = numbers((offset, rule.multiplier, 0.0, 0.0, 0.0))
        SubElement(
            equality,
            'joint',
            name=f'{joint.name}_mimic',
            joint1=joint.name,
            joint2=rule.joint,
            polycoef=polynomial,
        )


def write_held(equality: Element, name: str, position: float) -> None:
    """Hold a joint at a position, relative to the initial one [rad or m]."""
    polynomial = numbers((position, 0.0, 0.0, 0.0, 0.0))
    SubElement(equality, 'joint', name=f'{name}_held', joint1=name, polycoef=polynomial)


class LoopWriter:
    """
    Writer for loop joints.

    bodies: elements by link name, '' for the world. poses: link poses in the world with all joints
    at 0. initial: link poses at the initial positions.
    """

    def __init__(
        self,
        bodies: Mapping[str, Element],
        poses: Mapping[str, Pose],
        initial: Mapping[str, Pose],
        root: Element,
        findings: Findings,
    ) -> None:
        self._bodies, self._poses = bodies, {**poses, _WORLD: Pose()}
        self._initial = {**initial, _WORLD: Pose()}
        self._root, self._findings = root, findings

    def write(self, loop: ConstraintDescription) -> None:
        """Add a loop joint; an error among the findings if MJCF cannot hold it."""
        place = Place('joint', loop.name, loop.line)
        first, second = self._anchors(loop)
        if loop.type is ConstraintType.BALL:
            self._connect(loop, loop.name, first, second)
        elif loop.type is ConstraintType.HINGE and loop.axis is not None:
            # two points on the axis: the second one holds its direction
            along = _HINGE_WIDTH * loop.axis
            other = self._relative_rotation(loop).T @ along
            self._connect(loop, loop.name, first, second)
            self._connect(loop, f'{loop.name}_axis', first + along, second + other)
        elif loop.type is ConstraintType.FIXED:
            rotation = self._relative_rotation(loop)
            one = self._site(loop, 1, loop.name, first, np.eye(3))
            two = self._site(loop, 2, loop.name, second, rotation.T)
            SubElement(self._equality, 'weld', name=loop.name, site1=one, site2=two)
        elif loop.type is ConstraintType.DISTANCE:
            self._distance(loop, first, second)
        else:
            message = f'MJCF has no counterpart for a loop joint of type {loop.type.value!r}'
            self._findings.error('unsupported', place, message)
            return
        self._note_lost(loop, place)

    @property
    def _equality(self) -> Element:
        found = self._root.find('equality')
        return SubElement(self._root, 'equality') if found is None else found

    def _anchors(self, loop: ConstraintDescription) -> tuple[FloatArray, FloatArray]:
        """Return the anchors in both link frames [m]."""
        if loop.position2 is not None:
            return loop.position1, loop.position2
        one, two = self._poses[loop.link1], self._poses[loop.link2]
        anchor = one.position + one.rotation @ loop.position1
        return loop.position1, two.rotation.T @ (anchor - two.position)

    def _relative_rotation(self, loop: ConstraintDescription) -> FloatArray:
        """Return the orientation (link2 in link1) at zero joint coordinates."""
        if loop.rotation is not None:
            return loop.rotation
        between: FloatArray = self._poses[loop.link1].rotation.T @ self._poses[loop.link2].rotation
        return between

    def _connect(
        self, loop: ConstraintDescription, name: str, first: FloatArray, second: FloatArray
    ) -> None:
        one = self._site(loop, 1, name, first)
        two = self._site(loop, 2, name, second)
        SubElement(self._equality, 'connect', name=name, site1=one, site2=two)

    def _distance(
        self, loop: ConstraintDescription, first: FloatArray, second: FloatArray
    ) -> None:
        """Keep a tendon between both anchors at its length."""
        one, two = self._initial[loop.link1], self._initial[loop.link2]
        ends = one.position + one.rotation @ first, two.position + two.rotation @ second
        length = float(np.linalg.norm(ends[1] - ends[0]))
        kept = length if loop.distance is None else loop.distance
        tendons = self._root.find('tendon')
        if tendons is None:
            tendons = SubElement(self._root, 'tendon')
        spatial = SubElement(tendons, 'spatial', name=loop.name)
        for number_, anchor in ((1, first), (2, second)):
            SubElement(spatial, 'site', site=self._site(loop, number_, loop.name, anchor))
        # relative to the length at the initial positions
        polynomial = f'{number(kept - length)} 0 0 0 0'
        SubElement(
            self._equality, 'tendon', name=loop.name, tendon1=loop.name, polycoef=polynomial
        )

    def _site(
        self,
        loop: ConstraintDescription,
        end: int,
        name: str,
        position: FloatArray,
        rotation: FloatArray | None = None,
    ) -> str:
        own = f'{name}_{end}'
        body = self._bodies[(loop.link1, loop.link2)[end - 1]]
        site = SubElement(body, 'site', name=own, pos=numbers(position))
        if rotation is not None:
            site.set('quat', quaternion(rotation))
        return own

    def _note_lost(self, loop: ConstraintDescription, place: Place) -> None:
        """Name the properties left out."""
        for part, is_given in (
            ('limits', loop.limits != JointLimits()),
            ('friction, damping and springs', loop.dynamics != JointDynamics()),
            ('erp and cfm', loop.erp is not None or loop.cfm is not None),
            ('compliance', loop.compliance is not None),
            ('toughness', loop.toughness is not None),
            ('free directions', bool(loop.loose)),
        ):
            if is_given:
                message = f'MJCF has no counterpart for its {part}: left out'
                self._findings.warning('unsupported', place, message)
