"""Mesh file locations for a description."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.model import GeometryDescription, RobotDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.resources import explain_unresolved, resolve_uri, searched_paths


def with_mesh_files(
    description: RobotDescription,
    base: Path | None,
    package_paths: Iterable[str | Path],
    findings: Findings,
) -> RobotDescription:
    """
    Return the description with every mesh path, or with the searched paths.

    base: the description's folder. Missing files are warnings here; the user of a mesh decides
    whether they are errors.
    """
    package_paths = tuple(package_paths)
    located: dict[str, tuple[str, tuple[str, ...]]] = {}

    def locate(geometry: GeometryDescription, place: Place) -> GeometryDescription:
        if geometry.texture:
            picture = resolve_uri(geometry.texture, base=base, package_paths=package_paths)
            geometry = replace(geometry, texture_path=str(picture or ''))
        if geometry.kind != 'mesh' or geometry.surface is not None:
            return geometry
        uri = geometry.filename
        if uri not in located:
            file = resolve_uri(uri, base=base, package_paths=package_paths)
            looked = [] if file else searched_paths(uri, base=base, package_paths=package_paths)
            located[uri] = str(file or ''), tuple(map(str, looked))
        path, searched = located[uri]
        if not path:
            message = explain_unresolved(uri, base=base, package_paths=package_paths)
            at = Place(f'{place.element}/geometry/mesh', place.name, geometry.line)
            findings.warning('mesh-not-found', at, message, 'filename', uri)
        return replace(geometry, path=path, searched=searched)

    links = {}
    for name, link in description.links.items():
        links[name] = replace(
            link,
            visuals=tuple(locate(g, Place('link/visual', name)) for g in link.visuals),
            collisions=tuple(locate(g, Place('link/collision', name)) for g in link.collisions),
        )
    return replace(description, links=MappingProxyType(links))
