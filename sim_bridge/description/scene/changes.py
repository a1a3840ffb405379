"""
Changes to entities in a running world, in YAML by name, as in the node's parameter `changes`.

    crate:
      disabled: true                     # false enables it; sleep, as in scene files
      mass: 3                            # kg; center_of_mass [m], inertia [kg m²], or
      density: 700                       # kg/m³: mass properties from the shapes as they are now
      gravity: false                     # `Link` attributes
      shapes:                            # by their names on the link
        lid: {position: [0, 0, 0.2], rpy: [0, 0, 1], enabled: false, material: steel}
        handle: {capsule: {radius: 0.02, length: 0.1}, position: [0, 0, 0.3]}     # a new one
        knob: {remove: true}
        field: {heights: [[0, 0.1], [0, 0.2]], row: 3, column: 0}     # block in a height field
    arm:
      links: {hand: {mass: 1.2}}         # the same keys for a robot's links
      joints: {elbow: {damping: 0.3}}    # attributes of `Axis`; several axes as a list: axes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description.report import Findings
from sim_bridge.description.scene.joints import JointSettings, read_settings
from sim_bridge.description.scene.shapes import read_placed, SHAPES
from sim_bridge.description.scene.values import read_link, read_robot, Values
from sim_bridge.description.yaml.section import check_findings, mapping_from_text, Section
from sim_bridge.shapes.placed import Placed

_FLAGS = ('enabled', 'sensor', 'mass')
_VECTORS = ('surface_velocity', 'friction_direction')


@dataclass(frozen=True, eq=False)
class ShapeChange:
    """
    Added or removed shape, or a shape with changed attributes.

    heights: block with its row and column; None if unchanged.
    """

    name: str
    added: Placed | None
    is_removed: bool
    values: Values
    heights: tuple[np.ndarray, int, int] | None


@dataclass(frozen=True, eq=False)
class LinkChange:
    """
    Changes to a link.

    name: None for the only link. mass: m, c and I. density: for mass properties from the shapes
    [kg/m³]; None if unchanged.
    """

    name: str | None
    values: Values
    mass: Values
    density: float | None
    shapes: tuple[ShapeChange, ...]


@dataclass(frozen=True, eq=False)
class EntityChange:
    """Changes to a robot or an object, its links and its joints, by name."""

    name: str
    own: Values
    links: tuple[LinkChange, ...]
    joints: Mapping[str, JointSettings]

    @property
    def added(self) -> list[Placed]:
        """New shapes."""
        return [shape.added for link in self.links for shape in link.shapes if shape.added]


def changes_from_text(text: str, subject: str) -> tuple[EntityChange, ...]:
    """Read changes from a YAML text; raises InvalidValueError about `subject`."""
    content = mapping_from_text(text, subject, 'YAML of changes by entity, as in docs/services.md')
    findings = Findings()
    found = tuple(
        _entity(each) for each in Section({'changes': content}, '', findings).sections('changes')
    )
    check(findings, text, subject)
    return found


def check(findings: Findings, text: str, subject: str) -> None:
    """Raise InvalidValueError about `subject`, with all defects, if there are any."""
    check_findings(findings, text, subject, 'possible changes')


def _entity(section: Section) -> EntityChange:
    links, joints = section.sections('links'), section.sections('joints')
    read = [_link(section, None), *(_link(each, each.name) for each in links)]
    own = read_robot(section)
    for each in (*links, section):
        each.close()
    return EntityChange(
        section.name, own, tuple(read), {each.name: read_settings(each) for each in joints}
    )


def _link(section: Section, name: str | None) -> LinkChange:
    mass = {
        'm': section.number('mass', None),
        'c': section.vector('center_of_mass', 3, None),
        'I': section.matrix('inertia'),
    }
    shapes = tuple(map(_shape, section.sections('shapes')))
    return LinkChange(
        name,
        read_link(section),
        Values.given(mass, section),
        section.number('density', None),
        shapes,
    )


def _shape(section: Section) -> ShapeChange:
    is_removed, added = section.flag('remove', False), None
    block, place = section.matrix('heights'), [section.number(key, 0) for key in ('row', 'column')]
    heights = None
    if block is not None and all(float(number).is_integer() for number in place):
        heights = block, int(place[0]), int(place[1])
    elif block is not None:
        section.error('row', place, 'row and column must be whole numbers')
    kinds = [kind for kind in SHAPES if section.has(kind)]
    values: dict[str, Any] = {}
    if kinds and _is_whole(section, kinds[0]):
        placed = read_placed(section, Path())
        added = None if placed is None else replace(placed, name=section.name)
    else:
        values = {key: section.flag(key, None) for key in _FLAGS}
        values |= {key: section.vector(key, 3, None) for key in _VECTORS}
        values |= {'groups': section.texts('groups'), 'material': section.text('material', None)}
        pose = section.pose()
        for key, given in (('position', ('position',)), ('orientation', ('rpy', 'orientation'))):
            if any(map(section.has, given)):
                values[key] = pose[key]
    for kind in SHAPES:
        section.knows(kind)
    section.close()
    return ShapeChange(section.name, added, is_removed, Values.given(values, section), heights)


def _is_whole(section: Section, kind: str) -> bool:
    """Return whether a shape names no file; a file may differ in a replay."""
    content = section.peek(kind)
    if isinstance(content, Mapping) and 'file' in content:
        section.error(kind, content['file'], 'must not be a file; spawn an entity with this shape')
        return False
    return True
