"""Values in an element's text, or in the `value` attribute of old Gazebo files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element

BOOLEANS = {'true': True, '1': True, 'false': False, '0': False}


def element_text(element: Element) -> str:
    """Return an element's text, or its attribute `value` as in old Gazebo files."""
    return element.text.strip() or element.get('value', '').strip()


def read_number(
    element: Element, allowed: Numbers, place: Place, findings: Findings
) -> float | None:
    """Return the number in an element's text; None, with an error, if it is not allowed."""
    values = parse_numbers(element_text(element), allowed, place, findings, '')
    return values[0] if values else None


def read_numbers(
    node: Element, allowed: Mapping[str, Numbers], place: Place, findings: Findings
) -> dict[str, float]:
    """Return the valid numbers in an element's children, by tag; other tags are skipped."""
    values = {}
    for element in node:
        if element.tag in allowed:
            inner = place.child(element.tag, element.line)
            number = read_number(element, allowed[element.tag], inner, findings)
            if number is not None:
                values[element.tag] = number
    return values


def warn_of_unknown(
    node: Element, known: Collection[str], place: Place, findings: Findings
) -> None:
    """Report an element's children with unknown tags."""
    for element in node:
        if element.tag not in known:
            inner = place.child(element.tag, element.line)
            findings.warning('unknown-tag', inner, 'unknown tag, ignored')


def gazebo_elements(root: Element) -> Iterator[tuple[str, Element, Place]]:
    """Yield each element in `<gazebo>`, with its reference ('' for none) and its place."""
    for node in root.findall('gazebo'):
        reference = node.get('reference', '')
        place = Place('gazebo', reference, node.line)
        for element in node:
            yield reference, element, place.child(element.tag, element.line)


def read_boolean(element: Element, place: Place, findings: Findings) -> bool | None:
    """Return an element's truth value; None, with a warning, for other text."""
    text = element_text(element)
    if text.lower() not in BOOLEANS:
        findings.warning('bad-value', place, 'must be true or false, ignored', value=text)
    return BOOLEANS.get(text.lower())
