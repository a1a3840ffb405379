"""
Drives on a robot, from all places in a URDF that declare them.

Gazebo's drive plugins come first (`sdf.drives`). The plugin of ros2_control names a controller
file (`yaml.controllers`); if a controller drives the same joints, the drive plugin counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim_bridge.description.mechanism.drives import check_drives, with_motor_torques
from sim_bridge.description.report import Findings
from sim_bridge.description.sdf.control_plugins import control_plugins
from sim_bridge.description.sdf.drives import read_gazebo_drives
from sim_bridge.description.sdf.plugin_trajectories import read_trajectory_plugins
from sim_bridge.description.sdf.plugins import check_plugins

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
    files: dict[str, str] = {}
    managers = []
    for plugin in control_plugins(root, base, list(package_paths), findings):
        # imported here, since YAML files are seldom needed
        from sim_bridge.description.yaml.controllers import (
            in_file,
            read_controller_drives,
            read_manager,
            with_settings,
        )

        own = Findings()
        manager = read_manager(list(plugin.files.values()), plugin.manager, own)
        in_file(own, [*plugin.files.values()][-1], plugin.place, findings, 'controllers')
        manager = with_settings(manager, description, plugin.place, findings)
        drives += read_controller_drives(manager, description, plugin.place, findings)
        files.update({name: str(path) for name, path in plugin.files.items()})
        managers.append(manager)
    own = Findings()
    kept = check_drives(drives, description, own)
    findings.take_part(own, 'drive')
    description = replace(with_motor_torques(description, kept), drives=kept)
    taken = [each.name for manager in managers for each in manager.controllers]
    managers += read_trajectory_plugins(root, description, taken, findings)
    return replace(
        description, controller_files=MappingProxyType(files), controller_managers=tuple(managers)
    )
