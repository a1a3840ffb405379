"""Files behind a recorded world: their places in parameters and descriptions, and checksums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr, unescape

from sim_bridge.description import find_robot
from sim_bridge.description.formats import URDF
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.resources import find_scene
from sim_bridge.foundation.digest import sha256
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.loading import LoadedWorld

_FILE_NAME = re.compile(r"""filename\s*=\s*(?P<quote>["'])(?P<uri>.*?)(?P=quote)""")
_PARAMETERS = re.compile(r'<parameters>(?P<name>[^<]+)</parameters>')


def located(parameters: SimulatorParameters) -> dict[str, Any]:
    """Return the parameters with absolute paths, independent of the place where they are read."""
    values = asdict(parameters)
    if values['robot']:
        values['robot'] = str(
            find_robot(values['robot'], package_paths=values['package_paths']).resolve()
        )
    if values['world']:
        values['world'] = str(find_scene(values['world']).resolve())
    if values['extra_joints']:
        values['extra_joints'] = str(Path(values['extra_joints']).resolve())
    values['package_paths'] = [str(Path(path).resolve()) for path in values['package_paths']]
    # these select the recording's place, not its contents
    return {name: value for name, value in values.items() if not name.startswith('record')}


def portable_description(description: RobotDescription) -> str:
    """Return a robot's expanded URDF, with full paths for all files found."""
    paths = {
        shape.filename: shape.path
        for link in description.links.values()
        for shape in (*link.collisions, *link.visuals)
        if shape.path
    }

    def located(match: re.Match[str]) -> str:
        path = paths.get(unescape(match['uri']))
        return match[0] if path is None else f'filename={quoteattr(str(Path(path).resolve()))}'

    def placed(match: re.Match[str]) -> str:
        path = description.controller_files.get(unescape(match['name'].strip()))
        if path is None:
            return match[0]
        return match[0].replace(match['name'].strip(), escape(str(Path(path).resolve())))

    return _PARAMETERS.sub(placed, _FILE_NAME.sub(located, description.xml))


def fingerprints(loaded: LoadedWorld, parameters: SimulatorParameters) -> dict[str, str]:
    """Return the SHA-256, by path, for the files used to build the world."""
    world = find_scene(parameters.world) if parameters.world else None
    paths: set[Path | str | None] = {world, parameters.extra_joints}
    if loaded.scene is not None:
        paths |= {*loaded.scene.files}
    for robot in loaded.world.robots.values():
        paths |= files_of(robot)
    read = checksums(paths)
    for scene in loaded.world.openplx.values():
        read |= scene.description.files
    return read


def files_of(robot: Robot) -> set[str | None]:
    """Return a robot's controller files, collision meshes, and its own file unless it is URDF."""
    if robot.description is None:
        return set()
    links = robot.description.links.values()
    meshes = [shape.path for link in links for shape in link.collisions if shape.path]
    return {
        *meshes,
        own_file(robot.description),
        *robot.description.files,
        *robot.description.controller_files.values(),
    }


def own_file(description: RobotDescription) -> str | None:
    """Return a robot's file if its URDF cannot hold all of it; None for a URDF or a text."""
    path = Path(description.source)
    return str(path.resolve()) if description.format != URDF.name and path.is_file() else None


def checksums(paths: Iterable[Path | str | None]) -> dict[str, str]:
    return {
        str(path): sha256(path) for path in sorted(Path(name).resolve() for name in paths if name)
    }
