"""From a checked `link` element to a `LinkDescription`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.description.model import Geometry, Inertial, LinkDescription
from sim_bridge.description.poses import read_only
from sim_bridge.description.urdf.origin import read_origin

if TYPE_CHECKING:
    from sim_bridge.description.report import Findings, Place
    from sim_bridge.description.xml.document import Element


def build_link(parsed: object, node: Element, place: Place, findings: Findings) -> LinkDescription:
    """Build a link from urdf-parser-py's object and the checked element it was read from."""
    shapes = {
        tag: tuple(
            _geometry(shape, element, place.child(tag, element.line), findings)
            for shape, element in zip(objects, node.findall(tag), strict=True)
        )
        for tag, objects in (('visual', parsed.visuals), ('collision', parsed.collisions))
    }
    return LinkDescription(
        name=parsed.name,
        inertial=_inertial(parsed.inertial, node.find('inertial'), place, findings),
        visuals=shapes['visual'],
        collisions=shapes['collision'],
        line=node.line,
    )


def _inertial(
    parsed: object | None, node: Element | None, place: Place, findings: Findings
) -> Inertial | None:
    if parsed is None or node is None:
        return None
    place = place.child('inertial', node.line)
    return Inertial(
        mass=parsed.mass,
        pose=read_origin(parsed.origin, node.find('origin'), place, findings),
        inertia=read_only(parsed.inertia.to_matrix()),
        line=node.line,
    )


def _geometry(parsed: object, node: Element, place: Place, findings: Findings) -> Geometry:
    element = node.find('geometry')[0]
    shape = parsed.geometry
    kind = element.tag
    if kind == 'box':
        size = shape.size
    elif kind == 'sphere':
        size = [shape.radius]
    elif kind == 'mesh':
        size = shape.scale or [1.0, 1.0, 1.0]
    else:
        size = [shape.radius, shape.length]
    return Geometry(
        kind=kind,
        size=tuple(size),
        pose=read_origin(parsed.origin, node.find('origin'), place, findings),
        name=parsed.name or '',
        filename=element.get('filename', ''),
        line=element.line,
    )
