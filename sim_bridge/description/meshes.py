"""Whether the mesh files a description names are there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.resources import explain_unresolved, resolve_uri

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription


def check_meshes(
    description: RobotDescription,
    base: Path | None,
    package_paths: Iterable[str | Path],
    findings: Findings,
) -> None:
    """Warn of every mesh whose file is not found; `base` is the folder of the description."""
    package_paths = tuple(package_paths)
    resolved: dict[str, str] = {}
    for link in description.links.values():
        for tag, shapes in (('visual', link.visuals), ('collision', link.collisions)):
            for shape in shapes:
                if shape.kind != 'mesh':
                    continue
                if shape.filename not in resolved:
                    path = resolve_uri(shape.filename, base=base, package_paths=package_paths)
                    resolved[shape.filename] = (
                        ''
                        if path
                        else explain_unresolved(
                            shape.filename, base=base, package_paths=package_paths
                        )
                    )
                if resolved[shape.filename]:
                    place = Place(f'link/{tag}/geometry/mesh', link.name, shape.line)
                    findings.warning(
                        'mesh-not-found',
                        place,
                        resolved[shape.filename],
                        'filename',
                        shape.filename,
                    )
