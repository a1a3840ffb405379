"""Spawn requests, and their preparation while the simulation continues."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
import re
from xml.etree import ElementTree

from rclpy.logging import get_logger

import sim_bridge as sb
from sim_bridge.compiler.build import build_apart
from sim_bridge.description import find_robot
from sim_bridge.description.formats import format_of, FORMATS, OPENPLX, ROBOT_SUFFIXES
from sim_bridge.description.gravity import AnyGravity, PointGravity
from sim_bridge.description.mechanism.base import AUTO
from sim_bridge.description.openplx.load import load_openplx
from sim_bridge.description.openplx.mapping.records import MappedScene
from sim_bridge.foundation.errors import brief, coded, ErrorCode, InvalidValueError
from sim_bridge.foundation.validation import GivenPose
from sim_bridge.ros.params.initial_values import initial_values
from sim_bridge.ros.params.parameters import SELF_COLLISION, SimulatorParameters
from sim_bridge.ros.session.loading import LoadedRobot, robots_of_scene
from sim_bridge.ros.session.units import units_of
from sim_bridge.ros.wire.qos import topic_name
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.world.openplx import OpenPlxScene

_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
SPAWNED_SUFFIXES = (*ROBOT_SUFFIXES, '.xml')


@dataclass(frozen=True)
class SpawnRequest:
    """
    A request to spawn a robot, an object or an OpenPLX scene.

    resource: a shipped robot's name; a robot file, its URI, or its text, in a format of
    `description.formats`; `file.openplx#Model` for a model other than the last one. name: '' for
    the description's own name. allow_renaming: whether to add a number to a name in use.
    namespace: prefix for topics and frames; '' for the robot's name, '/' for none. position [m]
    and orientation (x y z w): pose of the root link or the scene in `frame`; frame: '' for the
    world.
    """

    resource: str
    name: str = ''
    allow_renaming: bool = False
    namespace: str = ''
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)
    frame: str = ''


@dataclass(frozen=True)
class SceneSource:
    """A scene's source. text: its text, or its file path. model: '' for the last one."""

    text: str
    model: str = ''

    def read(self) -> MappedScene:
        """Read the scene; raises SceneError."""
        is_text = '\n' in self.text
        return load_openplx(self.text if is_text else Path(self.text), self.model or None)


@dataclass(frozen=True)
class ScenePattern:
    """A scene to be spawned, in a separate world."""

    scene: OpenPlxScene
    source: SceneSource

    @property
    def name(self) -> str:
        """The scene's name."""
        return self.scene.name


def load_pattern(
    request: SpawnRequest, parameters: SimulatorParameters
) -> tuple[sb.World, sb.Robot | ScenePattern]:
    """Load a robot or a scene into a new world; return both. Errors: see `prepare`."""
    source = _source_of(request.resource, parameters)
    world = sb.World(solver=parameters.solver, integrator=parameters.integrator)
    if not isinstance(source, SceneSource):
        return world, _load_robot(world, source, request.name, parameters)
    read = source.read()
    scene = world.load_openplx(read, None, request.name or topic_name(read.name))
    return world, ScenePattern(scene, source)


def prepare(
    request: SpawnRequest, parameters: SimulatorParameters, shapes: Iterable[Shape]
) -> sb.Robot | ScenePattern:
    """
    Load a robot or a scene into a separate world, and compile all additional kernels it needs.

    The result has the requested name. shapes: shapes it may touch. Raises InvalidValueError or
    DescriptionError.
    """
    world, pattern = load_pattern(request, parameters)
    _compile(world, shapes, pattern.name)
    return pattern


def compile_beside(
    added: Iterable[Shape], present: Iterable[Shape], parameters: SimulatorParameters
) -> None:
    """Compile the kernels needed by shapes added to a world with other shapes."""
    world = sb.World(solver=parameters.solver, integrator=parameters.integrator)
    for shape in added:
        is_static = _motion(shape) == 'static'
        world.add_body(shape, motion='static') if is_static else world.add_body(
            shape, mass=1.0, inertia=(1.0, 1.0, 1.0)
        )
    _compile(world, present, 'body')


def _compile(world: sb.World, shapes: Iterable[Shape], name: str) -> None:
    for number, shape in enumerate(_one_of_each_kind(shapes)):
        world.add_body(shape, f'{name} and {number}', motion=_motion(shape))
    build_apart(units_of(world))
    world.warm_up()


def _motion(shape: Shape) -> str:
    return 'static' if isinstance(shape, (Plane, HeightField)) else 'kinematic'


def add_scene(world: sb.World, scene: MappedScene, name: str, pose: GivenPose) -> OpenPlxScene:
    """Add a scene to a world with other entities, keeping its gravity; raises SceneError."""
    if scene.gravity is not None and _gravity_text(scene.gravity) != _gravity_text(world.gravity):
        get_logger('sim_bridge').warning(
            f'{name!r} has a gravity of {_gravity_text(scene.gravity)}; the world that it is '
            f'spawned into keeps {_gravity_text(world.gravity)}'
        )
    loaded: OpenPlxScene = world.load_openplx(replace(scene, gravity=None), None, name, *pose)
    return loaded


def _gravity_text(gravity: AnyGravity) -> str:
    if isinstance(gravity, PointGravity) or callable(gravity):
        return repr(gravity)
    return f'{list(gravity)} m/s²'


def robots_spawned(scene: OpenPlxScene, namespace: str, is_given: bool) -> list[LoadedRobot]:
    """
    Return the robots with topics in a spawned scene.

    namespace: prefix for its signals, and for its robot if it has one. is_given: whether the
    namespaces of several robots lie within it, instead of being their names.
    """
    robots = robots_of_scene(scene, namespace)
    if len(robots) == 1:
        return [replace(robots[0], namespace=namespace)]
    within = f'{namespace}/' if namespace and is_given else ''
    return [replace(each, namespace=f'{within}{each.namespace}') for each in robots]


def _load_robot(
    world: sb.World, source: str | Path, name: str, parameters: SimulatorParameters
) -> sb.Robot:
    description = sb.load_description(
        source, package_paths=parameters.package_paths, strict=parameters.strict
    )
    name = name or topic_name(description.name)
    if not name:
        raise InvalidValueError(
            'name', name, 'a text that is not empty', code=ErrorCode.NAME_INVALID
        )
    return world.add_robot(
        description,
        name=name,
        base=AUTO,
        joint_positions=initial_values(description),
        collisions=parameters.collisions,
        missing_meshes=parameters.mesh_severity,
        self_collision=SELF_COLLISION[parameters.self_collision],
    )


def check_name(request: SpawnRequest) -> None:
    """
    Raise InvalidValueError for a name impossible in topic names.

    Clients find an entity's topics by its name.
    """
    valid = topic_name(request.name)
    if valid != request.name:
        raise InvalidValueError(
            'name',
            request.name,
            'letters, digits and single underscores, not beginning with a '
            f'digit, such as {brief(valid)}',
            code=ErrorCode.NAME_INVALID,
        )


def namespace_of(request: SpawnRequest, name: str) -> str:
    """Return a spawned robot's namespace. name: robot name. Raises InvalidValueError."""
    if not request.namespace:
        return topic_name(name)
    namespace = request.namespace.strip('/')
    if namespace and not _NAMESPACE.fullmatch(namespace):
        raise InvalidValueError(
            'namespace',
            request.namespace,
            "names of letters, digits and underscores separated by slashes, or '/' for none",
            code=ErrorCode.NAMESPACE_INVALID,
        )
    return namespace


def _source_of(resource: str, parameters: SimulatorParameters) -> str | Path | SceneSource:
    """Return a robot's URDF text or file, for `load_description`, or the source of a scene."""
    text = resource.strip()
    if not text:
        raise InvalidValueError(
            'resource',
            resource,
            'the name of a shipped robot, a file or its URI, URDF text or OpenPLX text',
            code=ErrorCode.RESOURCE_MISSING,
        )
    if text.startswith('<'):
        _check_root(text)
        return text
    if '\n' in text:
        return SceneSource(resource)
    (suffix,) = OPENPLX.suffixes
    file, _, model = text.partition(f'{suffix}#')
    with coded(ErrorCode.RESOURCE_NOT_FOUND):
        source = find_robot(
            f'{file}{suffix}' if model else text, package_paths=parameters.package_paths
        )
    if source.suffix not in SPAWNED_SUFFIXES:
        raise InvalidValueError(
            'format of resource',
            source.suffix,
            f'one of {", ".join(SPAWNED_SUFFIXES)}',
            code=ErrorCode.RESOURCE_UNREADABLE,
        )
    if format_of(source) is OPENPLX:
        return SceneSource(str(source.resolve()), model)
    return source


def _check_root(text: str) -> None:
    """Raise InvalidValueError for XML in no robot format; its reader reports broken XML."""
    known = [f'<{root}>' for each in FORMATS if each.robots for root in each.roots]
    with contextlib.suppress(ElementTree.ParseError):
        if f'<{ElementTree.fromstring(text).tag}>' not in known:
            raise InvalidValueError(
                'format of resource',
                text[:40],
                f'XML with the root element {" or ".join(known)}',
                code=ErrorCode.RESOURCE_UNREADABLE,
            )


def _one_of_each_kind(shapes: Iterable[Shape]) -> list[Shape]:
    return list({type(shape): shape for shape in shapes}.values())
