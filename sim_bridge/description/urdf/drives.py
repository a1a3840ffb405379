"""
Drives on a robot, from all places in a URDF that declare them.

Gazebo's drive plugins come first (`sdf.drives`). The plugin of ros2_control names a controller
file (`yaml.controllers`); if a controller drives the same joints, the drive plugin counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim_bridge.description.mechanism.drives import check_drives
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.resources import explain_unresolved, resolve_uri
from sim_bridge.description.sdf.drives import read_gazebo_drives
from sim_bridge.description.sdf.plugins import check_plugins, CONTROL_PLUGINS
from sim_bridge.description.xml.values import element_text

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element


def with_drives(
    root: Element,
    description: RobotDescription,
    base: Path | None,
    package_paths: Iterable[str | Path],
    findings: Findings,
) -> RobotDescription:
    """
    Return a description with its drives; report plugins and controllers without effect.

    base: folder for relative paths. package_paths: see `load_description`.
    """
    check_plugins(root, findings)
    drives = list(read_gazebo_drives(root, description, findings))
    files = {}
    for name, path, place in _controller_files(root, base, list(package_paths), findings):
        # imported here, since YAML files are seldom needed
        from sim_bridge.description.yaml.controllers import read_controllers

        drives += read_controllers(path, place, description, findings)
        files[name] = str(path)
    return replace(
        description,
        drives=check_drives(drives, description, findings),
        controller_files=MappingProxyType(files),
    )


def _controller_files(
    root: Element, base: Path | None, package_paths: list[str | Path], findings: Findings
) -> Iterator[tuple[str, Path, Place]]:
    """Yield the controller files: name as written, path, and place where they are named."""
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            if not any(word in node.get('filename', '') for word in CONTROL_PLUGINS):
                continue
            for child in node.findall('parameters'):
                place = Place('gazebo/plugin/parameters', node.get('name', ''), child.line)
                name = element_text(child)
                path = resolve_uri(name, base=base, package_paths=package_paths)
                if path is not None:
                    yield name, path, place
                    continue
                reason = explain_unresolved(name, base=base, package_paths=package_paths)
                findings.warning(
                    'unread-controllers', place, f'controllers are not read: {reason}', value=name
                )
