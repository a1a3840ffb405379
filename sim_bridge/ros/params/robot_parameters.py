"""Parameter files and default controllers for robots and scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sim_bridge.description import find_robot, load_description
from sim_bridge.description.controllers import CONTROLLERS
from sim_bridge.description.model import JointType
from sim_bridge.description.resources import (
    BODY_SUFFIXES,
    find_scene,
    PARAMETERS_SUFFIX,
    PROJECT_SUFFIX,
)
from sim_bridge.description.resources import OPENPLX_SUFFIX as SUFFIX
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.params.parameter_files import read_parameter_file

DEFAULT_ROBOT = 'arm'

DEFAULT_CONTROLLER = 'pd'


def robots_of(
    world: str, robot: str, package_paths: Iterable[str | Path] = ()
) -> Iterator[tuple[str, str, str]]:
    """
    Yield namespace, file or name, and default controller for every controllable robot.

    world: scene file or gallery/NAME, '' for none. robot: an additional robot; '' for
    DEFAULT_ROBOT, or for none if there is a scene. The controller is one of CONTROLLERS or, only
    in scenes, NO_CONTROLLER. OpenPLX robots have their own motors and are left out. Body files
    without joints, for example tracked vehicles, are left out too. Raises DescriptionError for an
    invalid scene file, UnknownNameError for an unknown scene name.
    """
    if world:
        # imported here to save start-up time
        from sim_bridge.description.scene.scene import read_scene

        yield from (
            (each.namespace, each.urdf, each.controller or controller_for(each.urdf))
            for each in read_scene(world).robots
            if not each.is_object and _has_joints(each.urdf)
        )
    if (robot or not world) and not is_openplx(robot) and _has_joints(robot):
        name = robot or DEFAULT_ROBOT
        yield '', name, controller_for(name, package_paths)


def _has_joints(robot: str) -> bool:
    """Return False for a body file without movable joints, True for any other file."""
    try:
        path = find_robot(robot or DEFAULT_ROBOT)
        if path.suffix not in BODY_SUFFIXES:
            return True
        joints = load_description(path).joints.values()
    except SimBridgeError:
        # the node reports the error
        return True
    return any(joint.type is not JointType.FIXED for joint in joints)


def project_parameters(world: str) -> dict[str, object]:
    """
    Return the simulator parameters equivalent to a Choreonoid project.

    world: scene file; the result is empty unless it is a project. Raises SceneError.
    """
    if not world.endswith(PROJECT_SUFFIX):
        return {}
    from sim_bridge.description.scene.scene import read_scene

    scene = read_scene(world)
    values: dict[str, object] = {}
    if scene.time_step is not None:
        values['rate'] = 1.0 / scene.time_step
    if scene.settings is not None and 'solver' in scene.settings.items:
        values['solver'] = scene.settings.items['solver']
    return values


def is_openplx(robot: str, package_paths: Iterable[str | Path] = ()) -> bool:
    """Return whether a robot, in the form accepted by `find_robot`, is an OpenPLX file."""
    try:
        return find_robot(robot, package_paths=package_paths).suffix == SUFFIX
    except (UnknownNameError, InvalidValueError):
        return robot.endswith(SUFFIX)


def parameter_file_beside(robot: str, package_paths: Iterable[str | Path] = ()) -> Path | None:
    """
    Return the path to `quadruped.params.yaml` beside `quadruped.urdf`; None without this file.

    robot, package_paths: see `find_robot`. Returns None for an unknown robot; the node reports the
    error.
    """
    try:
        description = find_robot(robot, package_paths=package_paths)
    except (UnknownNameError, InvalidValueError):
        return None
    return _parameter_file(description)


def parameter_file_of_scene(world: str) -> Path | None:
    """
    Return the path to `scene.params.yaml` beside `scene.yaml`; None without this file.

    world: scene file or gallery/NAME; '' for none. Raises UnknownNameError.
    """
    return _parameter_file(find_scene(world)) if world else None


def _parameter_file(file: Path) -> Path | None:
    beside = file.with_name(file.name.split('.')[0] + PARAMETERS_SUFFIX)
    return beside if beside.is_file() else None


def controller_for(robot: str, package_paths: Iterable[str | Path] = ()) -> str:
    """
    Return a robot's default controller, one of CONTROLLERS, from the file beside it.

    The first controller with parameters in the file is the default; otherwise DEFAULT_CONTROLLER.
    """
    file = parameter_file_beside(robot, package_paths)
    try:
        blocks = () if file is None else read_parameter_file(file).blocks
    except InvalidValueError:
        # the node reports the error
        blocks = ()
    nodes = {block.pattern.rpartition('/')[2] for block in blocks}
    named = (name for name in CONTROLLERS if f'{name}_controller' in nodes)
    return next(named, DEFAULT_CONTROLLER)
