"""Mesh file locations for a description."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.model import GeometryDescription, RobotDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.resources import (
    explain_unresolved,
    lacks_package,
    resolve_uri,
    searched_paths,
)
from sim_bridge.foreign.misplaced import misplaced_file


def with_mesh_files(
    description: RobotDescription,
    base: Path | None,
    package_paths: Iterable[str | Path],
    findings: Findings,
) -> RobotDescription:
    """
    Return the description with every mesh path, or with the searched paths.

    base: the description's folder. Missing files are warnings here; the user of a mesh decides
    whether they are errors. A file near the named place is taken, with a warning.
    """
    package_paths = tuple(package_paths)
    located: dict[str, tuple[str, tuple[str, ...], str]] = {}

    def locate(geometry: GeometryDescription, place: Place) -> GeometryDescription:
        if geometry.texture:
            picture = resolve_uri(geometry.texture, base=base, package_paths=package_paths)
            geometry = replace(geometry, texture_path=str(picture or ''))
        if geometry.kind not in ('mesh', 'heightmap') or geometry.surface is not None:
            return geometry
        uri = geometry.filename
        if uri not in located:
            file = resolve_uri(uri, base=base, package_paths=package_paths)
            looked = [] if file else searched_paths(uri, base=base, package_paths=package_paths)
            reason = ''
            if file is None:
                reason = explain_unresolved(uri, base=base, package_paths=package_paths)
                file = None if base is None else misplaced_file(uri, base, package_paths)
            located[uri] = str(file or ''), tuple(map(str, looked)), reason
        path, searched, reason = located[uri]
        if reason:
            at = Place(f'{place.element}/geometry/mesh', place.name, geometry.line)
            if path:
                message = f'{reason}; {path} is taken'
                findings.warning('mesh-elsewhere', at, message, 'filename', uri)
            else:
                findings.warning('mesh-not-found', at, reason, 'filename', uri)
        lost = bool(reason) and not path and lacks_package(uri, base, package_paths)
        return replace(geometry, path=path, searched=searched, lacks_package=lost)

    links = {}
    for name, link in description.links.items():
        links[name] = replace(
            link,
            visuals=tuple(locate(g, Place('link/visual', name)) for g in link.visuals),
            collisions=tuple(locate(g, Place('link/collision', name)) for g in link.collisions),
        )
    return replace(description, links=MappingProxyType(links))
