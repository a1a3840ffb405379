"""
Robot properties without a counterpart in a written format.

Each writer declares the fields it holds; every other field of the description with a value is
named. A field added to the description is therefore named by all writers until one writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sim_bridge.description.collision_bits import has_rules
from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    LinkDescription,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.names import counted
from sim_bridge.shapes.material import Material

# fields read by every writer, and fields about the source file
STRUCTURE: Mapping[type, frozenset[str]] = {
    RobotDescription: frozenset(
        (
            'name', 'root', 'links', 'joints', 'sensors', 'constraints', 'report', 'source', 'xml',
            'is_welded', 'base_pose', 'files', 'joint_ids', 'format', 'separated', 'apart',
            'controller_files',
        )
    ),
    LinkDescription: frozenset(('name', 'inertial', 'visuals', 'collisions', 'contact', 'line')),
    JointDescription: frozenset(
        (
            'name', 'type', 'parent', 'child', 'origin', 'axis', 'child_pose', 'limits',
            'dynamics', 'axis2', 'limits2', 'dynamics2', 'line',
        )
    ),
    JointLimits: frozenset(('lower', 'upper', 'effort')),
    JointDynamics: frozenset(('reference',)),
    GeometryDescription: frozenset(
        (
            'kind', 'size', 'pose', 'name', 'filename', 'path', 'searched', 'lacks_package',
            'part', 'surface', 'texture_path', 'material', 'contact', 'line',
        )
    ),
    ContactDescription: frozenset(('direction_link',)),
    Material: frozenset(('name', 'density', 'reduce', 'kind', 'contacts')),
}  # fmt: skip
# readable names for fields; robots' fields are counted
_WORDS: Mapping[type, Mapping[str, str]] = {
    RobotDescription: {
        'positions': 'initial joint position',
        'batteries': 'battery',
        'inputs': 'plugin input',
    },
    LinkDescription: {'gravity': 'freedom from gravity', 'enable_wind': 'wind'},
    JointDescription: {'safety': 'safety_controller'},
    JointLimits: {'velocity': 'velocity limit', 'lower_effort': 'effort limit in one direction'},
    JointDynamics: {
        'back_friction': 'friction against backward motion',
        'bearing': 'friction by load',
        'stiffness': 'spring',
    },
    GeometryDescription: {'groups': 'collision groups', 'is_terrain': 'collision by triangles'},
    ContactDescription: {
        'friction2': 'friction of the second direction',
        'is_sensor': 'contact without force',
        'enabled': 'contact switch',
    },
    Material: {'friction2': 'friction of the second direction', 'youngs_modulus': 'stiffness'},
}


@dataclass(frozen=True)
class Format:
    """
    Format with the fields written by its writer, beside those of `STRUCTURE`.

    name: in findings. held: field names by description class. has_visuals: whether it holds
    visuals; the writer names them otherwise.
    """

    name: str
    held: Mapping[type, frozenset[str]]
    has_visuals: bool = True

    def lost(self, element: Any) -> Iterator[tuple[str, Any]]:
        """Yield an element's fields with values, without a counterpart in the format."""
        own = type(element)
        held = STRUCTURE[own] | self.held.get(own, frozenset())
        plain = _plain(element)
        for each in fields(element):
            value = getattr(element, each.name)
            if each.name not in held and _differs(value, plain.get(each.name)):
                yield each.name, value


def note_losses(robot: RobotDescription, format_: Format, findings: Findings) -> None:
    """Name every robot property without a counterpart in the format, with its place."""
    moved = {name: value for name, value in robot.positions.items() if value}
    for name, value in format_.lost(replace(robot, positions=moved)):
        word = _word(RobotDescription, name, name.removesuffix('s').replace('_', ' '))
        message = f'left out: {counted(len(value), word)}'
        findings.warning('unsupported', Place('robot', robot.name), message)
    losses = _Losses(format_, findings, has_rules(robot.links.values()))
    for link in robot.links.values():
        losses.of_link(link)
    for joint in robot.joints.values():
        place = Place('joint', joint.name, joint.line)
        losses.of(joint, place)
        for part in (joint.limits, joint.limits2, joint.dynamics, joint.dynamics2):
            losses.of(part, place)


class _Losses:
    def __init__(self, format_: Format, findings: Findings, has_groups: bool):
        self._format, self._findings, self._has_groups = format_, findings, has_groups

    def of_link(self, link: LinkDescription) -> None:
        place = Place('link', link.name, link.line)
        self.of(link, place)
        if not link.collisions:
            self.of(link.contact, place)
        for shape in link.visuals if self._format.has_visuals else ():
            self.of(shape, Place('link/visual', link.name, shape.line))
        for shape in link.collisions:
            inner = Place('link/collision', link.name, shape.line)
            groups = shape.groups if self._has_groups else frozenset()
            # colours are those of visuals
            self.of(replace(shape, color=None, texture='', groups=groups), inner)
            self.of(shape.contact or link.contact, inner)
            if shape.material is not None:
                self.of(shape.material, inner)

    def of(self, element: Any, place: Place) -> None:
        """Name the lost fields of one element."""
        for name, _ in self._format.lost(element):
            word = _word(type(element), name, name.replace('_', ' '))
            message = f'{self._format.name} has no counterpart for its {word}: left out'
            self._findings.warning('unsupported', place, message)


def _word(owner: type, name: str, usual: str) -> str:
    return _WORDS.get(owner, {}).get(name, usual)


def _plain(element: Any) -> Mapping[str, Any]:
    """Return the values without effect, by field: the defaults, or another field's value."""
    plain = {each.name: each.default for each in fields(element)}
    if isinstance(element, JointDynamics):
        return plain | {'back_friction': element.friction}
    if isinstance(element, JointLimits):
        return plain | {'lower_effort': -element.effort}
    if isinstance(element, (Material, ContactDescription)):
        return plain | {'friction2': element.friction}
    return plain


def _differs(value: Any, plain: Any) -> bool:
    """Return whether a value means something: it is not empty, and not the plain one."""
    if value is None or (isinstance(value, Sized) and not len(value)):
        return False
    return not np.array_equal(value, plain)
