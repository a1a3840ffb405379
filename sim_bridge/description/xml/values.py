"""Values that stand in an element's text, or in old Gazebo's `value` attribute."""

from __future__ import annotations

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element

BOOLEANS = {'true': True, '1': True, 'false': False, '0': False}


def element_text(element: Element) -> str:
    """Return the text of an element, or else its attribute `value`, as in old Gazebo files."""
    return element.text.strip() or element.get('value', '').strip()


def read_boolean(element: Element, place: Place, findings: Findings) -> bool | None:
    """Return the truth value of an element; None, with a warning, if it is neither."""
    text = element_text(element)
    if text.lower() not in BOOLEANS:
        findings.warning('bad-value', place, 'must be true or false, ignored', value=text)
    return BOOLEANS.get(text.lower())
