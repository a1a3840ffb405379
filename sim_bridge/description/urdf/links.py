"""Conversion from a checked `link` element to a `LinkDescription`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.description.model import GeometryDescription, Inertial, LinkDescription
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.urdf.materials import Appearance, appearance_of
from sim_bridge.description.urdf.origin import read_origin
from sim_bridge.description.urdf.parser import parse_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from urdf_parser_py import urdf

    from sim_bridge.description.xml.document import Element


def build_link(
    element: Element, appearances: Mapping[str, Appearance], findings: Findings
) -> LinkDescription:
    """Return a checked element's link. appearances: material appearances, by name."""
    parsed = parse_link(element)
    place = Place('link', parsed.name, element.line)
    return LinkDescription(
        name=parsed.name,
        inertial=_inertial(parsed.inertial, element.find('inertial'), place, findings),
        visuals=_geometries(parsed.visuals, 'visual', element, appearances, place, findings),
        collisions=_geometries(
            parsed.collisions, 'collision', element, appearances, place, findings
        ),
        line=element.line,
    )


def _inertial(
    parsed: urdf.Inertial | None, element: Element | None, place: Place, findings: Findings
) -> Inertial | None:
    if parsed is None or element is None:
        return None
    place = place.child('inertial', element.line)
    return Inertial(
        mass=parsed.mass,
        pose=read_origin(parsed.origin, element.find('origin'), place, findings),
        inertia=read_only(parsed.inertia.to_matrix()),
        line=element.line,
    )


def _geometries(
    parsed: Iterable[urdf.Visual | urdf.Collision],
    tag: str,
    link: Element,
    appearances: Mapping[str, Appearance],
    place: Place,
    findings: Findings,
) -> tuple[GeometryDescription, ...]:
    return tuple(
        _geometry(shape, element, appearances, place.child(tag, element.line), findings)
        for shape, element in zip(parsed, link.findall(tag), strict=True)
    )


def _geometry(
    parsed: urdf.Visual | urdf.Collision,
    element: Element,
    appearances: Mapping[str, Appearance],
    place: Place,
    findings: Findings,
) -> GeometryDescription:
    shape = parsed.geometry
    # the schema ensures exactly one <geometry> with exactly one child
    written = next(child for outer in element.findall('geometry') for child in outer)
    kind = written.tag
    if kind == 'box':
        size = shape.size
    elif kind == 'sphere':
        size = [shape.radius]
    elif kind == 'mesh':
        size = shape.scale or [1.0, 1.0, 1.0]
    else:
        size = [shape.radius, shape.length]
    color, texture = appearance_of(element, appearances)
    return GeometryDescription(
        kind=kind,
        size=tuple(size),
        pose=read_origin(parsed.origin, element.find('origin'), place, findings),
        name=parsed.name or '',
        filename=written.get('filename'),
        color=color,
        texture=texture,
        line=written.line,
    )
