"""Contact parameters in `<gazebo reference="link">` elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sim_bridge.description.model import LinkDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, gazebo_elements, read_boolean

_NOT_NEGATIVE = Numbers(minimum=0.0)
_POSITIVE = Numbers(minimum=0.0, above=True)
# tags in sdformat's parser_urdf.cc, and the fields in ContactDescription
_NUMBERS = {
    'mu1': ('friction', _NOT_NEGATIVE),
    'mu2': ('friction2', _NOT_NEGATIVE),
    'kp': ('stiffness', _POSITIVE),
    'kd': ('damping', _NOT_NEGATIVE),
    'maxVel': ('max_velocity', _NOT_NEGATIVE),
    'minDepth': ('layer', _NOT_NEGATIVE),
}
# Gazebo's attribute for fdir1, in the new and the old name space
_EXPRESSED_IN = ('gz:expressed_in', 'ignition:expressed_in')
_SELF_COLLIDE = ('selfCollide', 'self_collide')
OF_LINKS = frozenset({*_NUMBERS, 'fdir1'})
"""Tags for contact parameters of a link."""
OF_LINKS_AND_ROBOTS = frozenset(_SELF_COLLIDE)
"""Tags for contact parameters of a link, or of all links."""


def with_contact(
    root: Element, links: Mapping[str, LinkDescription], findings: Findings
) -> dict[str, LinkDescription]:
    """
    Return the links with the contact parameters from their `<gazebo>` elements.

    In a `<gazebo>` without a reference, `self_collide` applies to all links.
    """
    known = dict(links)
    for reference, element, place in gazebo_elements(root):
        if reference and reference not in known:
            continue
        changes = _changes(element, bool(reference), known, place, findings)
        for name in (reference,) if reference else known:
            if changes:
                link = known[name]
                known[name] = replace(link, contact=replace(link.contact, **changes))
    return known


def _changes(
    element: Element,
    is_of_link: bool,
    links: Mapping[str, LinkDescription],
    place: Place,
    findings: Findings,
) -> dict[str, Any]:
    """Return the ContactDescription fields set by an element."""
    text = element_text(element)
    if element.tag in _SELF_COLLIDE:
        value = read_boolean(element, place, findings)
        return {} if value is None else {'self_collide': value}
    if not is_of_link:
        return {}
    if element.tag in _NUMBERS:
        name, allowed = _NUMBERS[element.tag]
        values = _numbers(text, allowed, place, findings)
        if name == 'layer' and values and values[0]:
            message = (
                "ignored, as by Gazebo's default engine: contacts carry loads from touching on"
            )
            findings.warning('no-effect', place, message, value=text)
        return {name: values[0]} if values else {}
    if element.tag == 'fdir1':
        values = _numbers(text, Numbers(3), place, findings)
        if not values or not any(values):
            return {}
        link = next(filter(None, map(element.get, _EXPRESSED_IN)), '')
        if link and link not in links:
            findings.warning(
                'unknown-reference',
                place,
                f'{unknown("link", link, links)}; the axes of the collision shapes are used',
                'expressed_in',
                link,
            )
            link = ''
        return {'direction': tuple(values), 'direction_link': link}
    return {}


def _numbers(text: str, allowed: Numbers, place: Place, findings: Findings) -> list[float] | None:
    """Return numbers; defects are only warnings, since Gazebo ignores them."""
    own = Findings()
    values = parse_numbers(text, allowed, place, own, '')
    for finding in own.found:
        findings.warning(finding.code, place, f'{finding.message}, ignored', value=finding.value)
    return values
