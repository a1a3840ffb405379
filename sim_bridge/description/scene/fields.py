"""
Force fields in YAML: by name, each with its type and arguments.

    wind: {type: drag, linear: 0.5, wind: [3, 0, 0], links: [crate, arm/hand]}
    moon: {type: point_gravity, center: [0, 0, 10], strength: 2.0, exponent: -2}

links: robots, or links as robot/link; all if absent. `FIELD_KINDS` lists the types and classes.
"""

from __future__ import annotations

from dataclasses import dataclass, Field, fields
from typing import Any

from sim_bridge.description.force_fields import DeclaredField, FIELD_KINDS
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.yaml.section import check_findings, mapping_from_text, Section


@dataclass(frozen=True)
class SceneField:
    """
    Force field with a name.

    links: names of the affected robots or links, None for all. line: in the file.
    """

    name: str
    field: DeclaredField
    links: tuple[str, ...] | None
    line: int = 0


def read_fields(world: Section, key: str) -> tuple[SceneField, ...]:
    """Read the fields at a key; note the defects and leave out the defective fields."""
    read = map(_field, world.sections(key))
    return tuple(field for field in read if field is not None)


def fields_from_text(text: str, subject: str) -> tuple[SceneField, ...]:
    """
    Read force fields from a YAML text, a mapping by name.

    Raises InvalidValueError about `subject`, with all defects.
    """
    expected = 'YAML of fields of force by name, as {} or in docs/force_fields.md'
    findings = Findings()
    content = mapping_from_text(text, subject, expected)
    found = read_fields(Section({'force_fields': content}, '', findings), 'force_fields')
    check_findings(findings, text, subject, expected)
    return found


def _field(section: Section) -> SceneField | None:
    kind = FIELD_KINDS.get(section.choice('type', tuple(FIELD_KINDS), ''))
    links = section.texts('links')
    if kind is None:
        if not section.has('type'):
            section.error('type', '', f'missing; one of {", ".join(FIELD_KINDS)}')
        return None
    values = {each.name: _value(section, each) for each in fields(kind)}
    section.close()
    made = section.make(lambda: kind(**values))
    return None if made is None else SceneField(section.name, made, links, section.line)


def _value(section: Section, attribute: Field[Any]) -> Any:
    """Return a field's attribute, with its default's kind; () stands for number lists."""
    name, default = attribute.name, attribute.default
    if attribute.metadata.get('names'):
        return section.texts(name) or default
    if default == ():
        rows = section.matrix(name)
        return default if rows is None else rows
    if isinstance(default, tuple):
        return section.vector(name, len(default), default)
    if isinstance(default, bool):
        return section.flag(name, default)
    if isinstance(default, str):
        return section.text(name, default)
    return section.number(name, default)


def field_place(field: SceneField) -> Place:
    """Return a field's place."""
    return Place('world', f'force_fields.{field.name}', field.line)
