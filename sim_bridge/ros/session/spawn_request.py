"""Spawn requests, and preparing their robots while the simulation continues."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
from dataclasses import dataclass
from pathlib import Path
import re
from xml.etree import ElementTree

import sim_bridge as sb
from sim_bridge.compiler.build import build_apart
from sim_bridge.description import find_robot
from sim_bridge.foundation.errors import brief, coded, ErrorCode, InvalidValueError
from sim_bridge.ros.params.initial_values import initial_values
from sim_bridge.ros.params.parameters import SELF_COLLISION, SimulatorParameters
from sim_bridge.ros.session.units import units_of
from sim_bridge.ros.wire.qos import topic_name
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Plane, Shape

_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
SPAWNED_SUFFIXES = ('.urdf', '.xacro', '.xml')


@dataclass(frozen=True)
class SpawnRequest:
    """
    A request to spawn a robot or an object.

    resource: a shipped robot's name, a URDF or xacro file, its URI, or XML text. name: '' for the
    description's own name. allow_renaming: whether to add a number to a name in use. namespace: of
    topics and frames; '' for the robot's name, '/' for none. position [m] and orientation (x y z
    w) of the root link in `frame`: '' for the world.
    """

    resource: str
    name: str = ''
    allow_renaming: bool = False
    namespace: str = ''
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)
    frame: str = ''


def prepare(
    request: SpawnRequest, parameters: SimulatorParameters, shapes: Iterable[Shape]
) -> sb.Robot:
    """
    Load a robot into a separate world, and compile all further kernels that it needs.

    shapes: those that it may touch. The robot has the requested name. Raises InvalidValueError or
    DescriptionError.
    """
    description = sb.load_description(
        _source_of(request.resource, parameters),
        package_paths=parameters.package_paths,
    )
    name = request.name or topic_name(description.name)
    if not name:
        raise InvalidValueError(
            'name', name, 'a text that is not empty', code=ErrorCode.NAME_INVALID)
    world = sb.World(solver=parameters.solver, integrator=parameters.integrator)
    robot = world.add_robot(
        description,
        name=name,
        joint_positions=initial_values(description),
        collisions=parameters.collisions,
        missing_meshes=parameters.missing_meshes,
        self_collision=SELF_COLLISION[parameters.self_collision],
    )
    for number, shape in enumerate(_one_of_each_kind(shapes)):
        is_endless = isinstance(shape, (Plane, HeightField))
        world.add_body(shape, f'{robot.name} and {number}',
                       motion='static' if is_endless else 'kinematic')
    build_apart(units_of(world))
    world.warm_up()
    return robot


def check_name(request: SpawnRequest) -> None:
    """
    Raise InvalidValueError for a name that could not be part of the names of topics.

    Clients find an entity's topics by its name.
    """
    valid = topic_name(request.name)
    if valid != request.name:
        raise InvalidValueError(
            'name', request.name, 'letters, digits and single underscores, not beginning with a '
            f'digit, such as {brief(valid)}', code=ErrorCode.NAME_INVALID)


def has_interface(robot: sb.Robot) -> bool:
    """Return whether a robot has anything to command or to publish; otherwise it is an object."""
    return bool(robot.joint_names or robot.devices() or robot.crawlers)


def namespace_of(request: SpawnRequest, name: str) -> str:
    """Return the namespace of a spawned robot of this name; raises InvalidValueError."""
    if not request.namespace:
        return topic_name(name)
    namespace = request.namespace.strip('/')
    if namespace and not _NAMESPACE.fullmatch(namespace):
        raise InvalidValueError(
            'namespace', request.namespace,
            "names of letters, digits and underscores parted by slashes, or '/' for none",
            code=ErrorCode.NAMESPACE_INVALID)
    return namespace


def _source_of(resource: str, parameters: SimulatorParameters) -> str | Path:
    """Return the source for `load_description`: a file, or the text itself."""
    text = resource.strip()
    if not text:
        raise InvalidValueError(
            'resource', resource, 'the name of a shipped robot, a file or its URI, or URDF text',
            code=ErrorCode.RESOURCE_MISSING)
    if text.startswith('<'):
        # text that is no XML is left to the reader, which says where it ends to be
        with contextlib.suppress(ElementTree.ParseError):
            if ElementTree.fromstring(text).tag == 'robot':
                return text
            raise InvalidValueError(
                'format of resource', text[:40], 'URDF or xacro, whose root element is <robot>',
                code=ErrorCode.RESOURCE_UNREADABLE)
        return text
    with coded(ErrorCode.RESOURCE_NOT_FOUND):
        source = find_robot(text, package_paths=parameters.package_paths)
    if source.suffix not in SPAWNED_SUFFIXES:
        raise InvalidValueError(
            'format of resource', source.suffix, f'one of {", ".join(SPAWNED_SUFFIXES)}',
            code=ErrorCode.RESOURCE_UNREADABLE)
    return source


def _one_of_each_kind(shapes: Iterable[Shape]) -> list[Shape]:
    return list({type(shape): shape for shape in shapes}.values())
