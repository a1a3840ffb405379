"""SDF's `noise` elements, read into `NoiseDescription`."""

from __future__ import annotations

from sim_bridge.description.model import NoiseDescription
from sim_bridge.description.noise import AXES, KEYS, KINDS
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

# SDF 1.4 had one noise element per sensor, with these children
_CLASSIC = {'rate': 'angular_velocity', 'accel': 'linear_acceleration'}


def read_axis_noise(
    quantity: Element, name: str, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """Read `<x><noise>` … `<z><noise>` for a quantity, by channel 'quantity.axis'."""
    warn_of_unknown(quantity, AXES, place, findings)
    channels = {}
    for axis in quantity:
        for node in axis.findall('noise') if axis.tag in AXES else ():
            inner = place.child(axis.tag, axis.line).child('noise', node.line)
            noise = read_noise(node, node.get('type', 'none'), inner, findings)
            if noise.kind != 'none':
                channels[f'{name}.{axis.tag}'] = noise
    return channels


def read_classic_noise(
    node: Element, place: Place, findings: Findings
) -> dict[str, NoiseDescription]:
    """Read an imu's SDF 1.4 `<noise><type/><rate/><accel/></noise>`, equal for all axes."""
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
    """Read the numbers in a `<noise>` element with a given type."""
    if kind not in KINDS:
        message = f'unknown, no noise; the types are {", ".join(KINDS)}'
        findings.warning('noise-type', place, message, 'type', kind)
        return NoiseDescription()
    warn_of_unknown(node, {'type', *KEYS}, place, findings)
    return NoiseDescription(kind=kind, **read_numbers(node, KEYS, place, findings))
