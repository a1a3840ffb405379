"""
XML element schemas, and the check of an element against its schema.

A defect becomes a finding, and the schema's default replaces the value in the checked copy. So
reading goes on, and one run finds the remaining defects too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element


@dataclass(frozen=True)
class Text:
    """Text attribute."""

    required: bool = True


@dataclass(frozen=True)
class Child:
    """Child element. many: any number of times, else at most once."""

    schema: Schema
    required: bool = False
    many: bool = False


@dataclass(frozen=True)
class Schema:
    """
    Schema for one element.

    one_of: whether there must be exactly one child. silent: other tools' tags and attributes,
    without effect on a simulation.
    """

    attributes: Mapping[str, Text | Numbers] = field(default_factory=dict)
    children: Mapping[str, Child] = field(default_factory=dict)
    one_of: bool = False
    silent: frozenset[str] = frozenset()


def clean(node: Element, schema: Schema, place: Place, findings: Findings) -> Element:
    """
    Return a copy with the content allowed by `schema`.

    Each defect is noted in the findings and replaced by the schema's default.
    """
    copy = Element(node.tag, line=node.line)
    _copy_attributes(node, schema, place, findings, copy)
    _copy_children(node, schema, place, findings, copy)
    return copy


def clean_or_drop(
    node: Element, schema: Schema, place: Place, findings: Findings, part: str
) -> Element | None:
    """
    Return a copy like `clean`; None under errors, and these become warnings.

    part: kind of part left out under an error; '' for a part left out by strict readers too.
    """
    own = Findings()
    copy = clean(node, schema, place, own)
    return copy if findings.take_part(own, part) else None


def _copy_attributes(
    node: Element, schema: Schema, place: Place, findings: Findings, copy: Element
) -> None:
    for name, value in node.attrib.items():
        known = schema.attributes.get(name)
        if isinstance(known, Numbers):
            numbers = parse_numbers(value, known, place, findings, name)
            copy.attrib[name] = known.default if numbers is None else value
        elif isinstance(known, Text):
            if known.required and not value.strip():
                findings.error('empty', place, 'must not be empty', name)
            copy.attrib[name] = value
        elif name not in schema.silent and not name.startswith('xml'):
            findings.warning('unknown-attribute', place, 'unknown attribute, ignored', name, value)
    for name, known in schema.attributes.items():
        if name in node.attrib:
            continue
        if known.required:
            findings.error('missing-attribute', place, 'missing', name)
        if isinstance(known, Numbers) and known.required:
            copy.attrib[name] = known.default


def _copy_children(
    node: Element, schema: Schema, place: Place, findings: Findings, copy: Element
) -> None:
    seen: set[str] = set()
    unknown: list[str] = []
    for element in node:
        known = schema.children.get(element.tag)
        inner = place.child(element.tag, element.line)
        if known is None:
            unknown.append(element.tag)
            if element.tag not in schema.silent and not schema.one_of:
                findings.warning('unknown-tag', inner, 'unknown tag, ignored')
        elif element.tag in seen and not known.many:
            findings.warning('duplicate-tag', inner, 'given more than once; only the first counts')
        else:
            seen.add(element.tag)
            copy.children.append(clean(element, known.schema, inner, findings))
    for tag, known in schema.children.items():
        if known.required and tag not in seen:
            findings.error('missing-tag', place.child(tag, place.line), 'missing')
            copy.children.append(_default_element(tag, known, place.line))
    if schema.one_of and (unknown or len(seen) != 1):
        found = ', '.join([*sorted(seen), *unknown]) or 'none'
        findings.error(
            'one-of',
            place,
            f'must hold exactly one of {", ".join(schema.children)}; found {found}',
        )


def _default_element(tag: str, child: Child, line: int) -> Element:
    defaults = {
        name: known.default
        for name, known in child.schema.attributes.items()
        if isinstance(known, Numbers)
    }
    return Element(tag, defaults, line)
