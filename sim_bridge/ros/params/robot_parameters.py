"""Parameter files and default controllers for robots and scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sim_bridge.description import find_robot, load_description
from sim_bridge.description.controllers import CONTROLLERS
from sim_bridge.description.formats import format_of, OPENPLX, SDF, URDF, YAML
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.description.resources import find_scene, PARAMETERS_SUFFIX
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.params.parameter_files import read_parameter_file

DEFAULT_ROBOT = 'arm'

DEFAULT_CONTROLLER = 'pd'


class ControllableRobot(NamedTuple):
    """
    Robot to be controlled.

    namespace: for its topics. source: file or name. controller: the default. description: the
    robot, if its world's file contains it.
    """

    namespace: str
    source: str
    controller: str
    description: RobotDescription | None = None


def robots_of(
    world: str, robot: str, package_paths: Iterable[str | Path] = ()
) -> Iterator[ControllableRobot]:
    """
    Yield every controllable robot.

    world: scene file or gallery/NAME, '' for none. robot: an additional robot; '' for
    DEFAULT_ROBOT, or for none if there is a scene. The controller is one of CONTROLLERS or, only
    in scenes, NO_CONTROLLER. OpenPLX robots have their own motors and are left out. Body files
    without joints, for example tracked vehicles, are left out too. Raises DescriptionError for an
    invalid scene file, UnknownNameError for an unknown scene name.
    """
    if world:
        # imported here to save start-up time
        from sim_bridge.description.scene.load import read_scene

        yield from (
            ControllableRobot(
                each.namespace,
                each.urdf,
                each.controller or controller_for(each.urdf),
                each.description,
            )
            for each in read_scene(world, package_paths=package_paths).robots
            if not each.is_object and _has_joints(each.description or each.urdf)
        )
    if (robot or not world) and not is_openplx(robot) and _has_joints(robot, package_paths):
        name = robot or DEFAULT_ROBOT
        yield ControllableRobot('', name, controller_for(name, package_paths))


def _has_joints(robot: str | RobotDescription, package_paths: Iterable[str | Path] = ()) -> bool:
    """Return whether a robot has movable joints; True for a URDF, which is not read here."""
    if isinstance(robot, str):
        try:
            path = find_robot(robot or DEFAULT_ROBOT, package_paths=package_paths)
            if format_of(path) is URDF:
                return True
            robot = load_description(path, package_paths=package_paths)
        except SimBridgeError:
            # the node reports the error
            return True
    return any(joint.type is not JointType.FIXED for joint in robot.joints.values())


def world_parameters(world: str) -> dict[str, object]:
    """
    Return the simulator parameters that a world file sets.

    world: scene file; the result is empty for YAML, whose settings the world takes itself. Raises
    SceneError.
    """
    if not world or format_of(find_scene(world)) in (YAML, URDF):
        return {}
    from sim_bridge.description.scene.load import read_scene

    scene = read_scene(world)
    values: dict[str, object] = {}
    if scene.time_step is not None:
        values['rate'] = 1.0 / scene.time_step
    described = [each.description for each in scene.robots if each.description is not None]
    is_controlled = any(each.controller_managers for each in described)
    if format_of(find_scene(world)) is SDF and not is_controlled:
        # as in Gazebo, joints without controllers move freely before the first command
        values['hold_until_first_command'] = False
    if scene.real_time_factor is not None:
        values['real_time_factor'] = scene.real_time_factor
    if scene.settings is not None and 'solver' in scene.settings.items:
        values['solver'] = scene.settings.items['solver']
    return values


def is_openplx(robot: str, package_paths: Iterable[str | Path] = ()) -> bool:
    """Return whether a robot, in the form accepted by `find_robot`, is an OpenPLX file."""
    try:
        return format_of(find_robot(robot, package_paths=package_paths)) is OPENPLX
    except (UnknownNameError, InvalidValueError):
        return format_of(robot) is OPENPLX


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
