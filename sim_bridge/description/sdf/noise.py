"""SDF's `noise` elements, read into `NoiseDescription`."""

from __future__ import annotations

from collections.abc import Mapping

from sim_bridge.description.model import NoiseDescription
from sim_bridge.description.noise import KEYS, KINDS
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sensor_kinds import AXES, Quantity
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

# SDF 1.4 had one noise element per sensor, with these children
_CLASSIC = {'rate': 'angular_velocity', 'accel': 'linear_acceleration'}


def read_quantity_noise(
    node: Element, quantity: Quantity, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """
    Return the noise models of a quantity by channel, from the quantity's element.

    The element holds `<x><noise>` and so on for a quantity with axes, else `<noise>`.
    """
    if not quantity.axes:
        return read_noises(node, quantity.name, place, findings)
    warn_of_unknown(node, quantity.axes, place, findings)
    channels: dict[str, NoiseDescription] = {}
    for axis in node:
        if axis.tag in quantity.axes:
            inner = place.child(axis.tag, axis.line)
            channels |= read_noises(axis, f'{quantity.name}.{axis.tag}', inner, findings)
    return channels


def read_noise_group(
    node: Element,
    quantity: str,
    axes: Mapping[str, tuple[str, ...]],
    place: Place,
    findings: Findings,
) -> dict[str, NoiseDescription]:
    """
    Return the noise for a quantity whose models are for several axes each, as in `navsat`.

    axes: by tag, for the element around the `<noise>`.
    """
    warn_of_unknown(node, axes, place, findings)
    channels: dict[str, NoiseDescription] = {}
    for element in node:
        inner = place.child(element.tag, element.line)
        for axis in axes.get(element.tag, ()):
            channels |= read_noises(element, f'{quantity}.{axis}', inner, findings)
    return channels


def read_noises(
    node: Element, channel: str, place: Place, findings: Findings, *, by_element: bool = False
) -> dict[str, NoiseDescription]:
    """
    Return the noise of a channel: the last `<noise>` in an element whose type is not 'none'.

    by_element: whether a `<type>` element may name the type; else only the attribute does.
    """
    found = {}
    for element in node.findall('noise'):
        kind = element.get('type', 'none')
        if by_element:
            kind = next((element_text(each) for each in element.findall('type')), kind)
        noise = read_noise(element, kind, place.child('noise', element.line), findings)
        if noise.kind != 'none':
            found[channel] = noise
    return found


def read_classic_noise(
    node: Element, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """Return the noise in SDF 1.4's `<noise><type/><rate/><accel/></noise>`, equal on all axes."""
    kind = next(
        (element_text(element) for element in node.findall('type')), node.get('type', 'none')
    )
    warn_of_unknown(node, {'type', *_CLASSIC}, place, findings)
    channels = {}
    for element in node:
        if element.tag in _CLASSIC:
            inner = place.child(element.tag, element.line)
            noise = read_noise(element, kind, inner, findings)
            if noise.kind != 'none':
                channels.update({f'{_CLASSIC[element.tag]}.{axis}': noise for axis in AXES})
    return channels


def read_noise(node: Element, kind: str, place: Place, findings: Findings) -> NoiseDescription:
    """Return the noise model in a `<noise>` element of a type."""
    if kind not in KINDS:
        message = f'unknown, no noise; the types are {", ".join(KINDS)}'
        findings.warning('noise-type', place, message, 'type', kind)
        return NoiseDescription()
    warn_of_unknown(node, {'type', *KEYS}, place, findings)
    return NoiseDescription(kind=kind, **read_numbers(node, KEYS, place, findings))
