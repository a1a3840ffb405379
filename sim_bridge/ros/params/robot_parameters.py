"""Parameters of a robot's nodes: a file beside its description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
import re

from sim_bridge.description import find_robot
from sim_bridge.description.resources import OPENPLX_SUFFIX as SUFFIX
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

DEFAULT_ROBOT = 'arm'

CONTROLLERS = ('pd', 'computed_torque', 'velocity', 'square')
DEFAULT_CONTROLLER = 'pd'

_SUFFIX = '.params.yaml'


def robots_of(world: str, robot: str) -> Iterator[tuple[str, str]]:
    """
    Yield the namespace and the file or name of every robot that a controller can hold.

    world: scene file, '' for none. robot: beside the scene's robots; '' for DEFAULT_ROBOT, or for
    none where there is a scene. Those of OpenPLX files have motors of their own, and are left out.
    Raises DescriptionError for a scene file with errors.
    """
    if world:
        # imported here, since it takes time that few need to spend
        from sim_bridge.description.scene.scene import read_scene

        yield from ((each.namespace, each.urdf) for each in read_scene(world).robots)
    if (robot or not world) and not is_openplx(robot):
        yield '', robot or DEFAULT_ROBOT


def is_openplx(robot: str, package_paths: Iterable[str | Path] = ()) -> bool:
    """Return whether a robot, as `find_robot` takes it, is an OpenPLX file."""
    try:
        return find_robot(robot, package_paths=package_paths).suffix == SUFFIX
    except (UnknownNameError, InvalidValueError):
        return robot.endswith(SUFFIX)


def parameter_file_beside(
    robot: str, package_paths: Iterable[str | Path] = ()
) -> Path | None:
    """
    Return the path of `quadruped.params.yaml` beside `quadruped.urdf`; None without such a file.

    robot, package_paths: as `find_robot` takes them. Returns None for an unknown robot; the node
    reports the error.
    """
    try:
        description = find_robot(robot, package_paths=package_paths)
    except (UnknownNameError, InvalidValueError):
        return None
    file = description.with_name(description.name.split('.')[0] + _SUFFIX)
    return file if file.is_file() else None


def controller_for(robot: str, package_paths: Iterable[str | Path] = ()) -> str:
    """
    Return the default controller of a robot, one of CONTROLLERS, from the file beside it.

    It is the controller with parameters in that file; without any, the DEFAULT_CONTROLLER.
    """
    file = parameter_file_beside(robot, package_paths)
    text = '' if file is None else file.read_text(encoding='utf-8', errors='replace')
    for name in CONTROLLERS:
        if re.search(rf'^\S*\b{name}_controller:', text, re.MULTILINE):
            return name
    return DEFAULT_CONTROLLER
