"""World construction from parameters: scene, robot, its start pose, ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import sim_bridge as sb
from sim_bridge.compiler.build import build
from sim_bridge.description import find_robot, sensors_from_mapping
from sim_bridge.description.formats import format_of, OPENPLX, PROJECT
from sim_bridge.description.model import JointType, SensorDescription
from sim_bridge.description.openplx.mapping.records import MappedRobot, MappedScene
from sim_bridge.description.resources import find_scene
from sim_bridge.description.scene.fields import fields_from_text, SceneField
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.model import (
    namespace_for,
    SceneBody,
    SceneDescription,
    SceneRobot,
)
from sim_bridge.description.scene.origin import origin_from_mapping
from sim_bridge.description.scene.standing import standing_body, WORLD_LINK
from sim_bridge.engine.collision.probe import measure_convex_pairs
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.errors import ErrorCode, InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.loop_assembly import close_loops
from sim_bridge.ros.params.initial_values import initial_values, start_limits
from sim_bridge.ros.params.parameters import SELF_COLLISION, SimulatorParameters
from sim_bridge.ros.session.units import message_units
from sim_bridge.ros.wire.qos import topic_name
from sim_bridge.shapes.material import DEFAULT
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.world.openplx import OpenPlxScene, robot_name
from sim_bridge.world.scene import add_scene, add_scene_field
from sim_bridge.world.scene_joints import part_of

_ORIGIN = (0.0, 0.0, 0.0)
_UPRIGHT = (0.0, 0.0, 0.0, 1.0)
# robot parameters without effect on an OpenPLX file, since the file defines these properties
_NOT_OF_SCENES = (
    'base',
    'initial_positions',
    'sensors',
    'extra_joints',
    'xacro_args',
    'collisions',
    'self_collision',
)


@dataclass(frozen=True)
class LoadedRobot:
    """
    A robot with its own topics.

    namespace: prefix for its topic and frame names; '' for none. joints: joint order in
    commands without names; () for all joints except mimic joints. scene: OpenPLX scene whose
    signals are added and removed with the robot; None for none. scene_namespace: topic prefix of
    the signals, '' for none.
    """

    robot: sb.Robot
    namespace: str = ''
    joints: tuple[str, ...] = ()
    scene: OpenPlxScene | None = None
    scene_namespace: str = ''

    @property
    def prefix(self) -> str:
        """Namespace followed by a slash; '' for none."""
        return f'{self.namespace}/' if self.namespace else ''

    @property
    def scene_prefix(self) -> str:
        """The scene's namespace followed by a slash; '' for none."""
        return f'{self.scene_namespace}/' if self.scene_namespace else ''


class HasNamespace(Protocol):
    """A robot with a namespace: a `LoadedRobot`, or a robot with open topics."""

    @property
    def robot(self) -> sb.Robot:
        """The robot."""

    @property
    def namespace(self) -> str:
        """Prefix for its topic and frame names; '' for none."""


@dataclass(frozen=True)
class LoadedWorld:
    """
    A world, and the robots in it; its other contents are objects.

    scene: its scene file's content, None without a scene.
    """

    world: sb.World
    robots: tuple[LoadedRobot, ...]
    scene: SceneDescription | None = None


def load_world(parameters: SimulatorParameters) -> LoadedWorld:
    """
    Build the world described by parameters; compile all kernels needed by its first step.

    Raises DescriptionError, InvalidValueError or UnknownNameError.
    """
    world = sb.World(
        time_step=parameters.time_step_ns * 1e-9,
        gravity=parameters.gravity,
        solver=parameters.solver,
        seed=parameters.seed,
        integrator=parameters.integrator,
        sleep=parameters.sleep,
    )
    world.materials.add(
        sb.Material(DEFAULT, friction=parameters.friction, restitution=parameters.restitution)
    )
    robots: list[LoadedRobot] = []
    content = None
    if parameters.world:
        content, loaded = _load_scene(world, parameters)
        robots += loaded
    if parameters.origin:
        world.origin = origin_from_mapping(
            parameters.origin, "parameter 'origin'", parameters.package_paths
        )
    for scene in world.openplx.values():
        robots += robots_of_scene(scene, topic_name(scene.name))
    if parameters.own_robot:
        robots += _load_own(world, parameters)
    if parameters.force_fields:
        replace_fields(world, parameters.force_fields)
    _check_namespaces(robots)
    build([*world.simulation.cache.early_units, *message_units()])
    world.simulation.runner.prepare_step()
    return LoadedWorld(world, tuple(robots), content)


@sharing()
def _load_scene(
    world: sb.World, parameters: SimulatorParameters
) -> tuple[SceneDescription, list[LoadedRobot]]:
    """Add a scene; return its content, its robots, and its objects with sensors."""

    def start(each: SceneRobot) -> None:
        # before it is joined to other bodies
        robot = world.robots[each.name]
        given: Any = each.arguments.get('joint_positions', {})
        _start_at(robot, {**initial_values(robot.description), **given})

    scene = read_scene(parameters.world, parameters.world_values, parameters.package_paths)
    add_scene(world, scene, start)
    if format_of(find_scene(parameters.world)) is PROJECT:
        # the parameter contains the project's solver, unless the user has overridden it
        world.solver = parameters.solver
    return scene, [
        LoadedRobot(world.robots[each.name], each.namespace)
        for each in scene.placed
        if _has_topics(each) or world.robots[each.name].devices()
    ]


def _has_topics(item: SceneBody | SceneRobot) -> bool:
    """Return whether the scene file gives an item topics; sensors aside."""
    return isinstance(item, SceneRobot) and not item.is_object


def replace_fields(world: sb.World, text: str) -> None:
    """
    Replace a world's force fields by the fields in a YAML text; robots keep their own.

    Raises InvalidValueError or UnknownNameError, and then changes nothing.
    """
    fields = checked_fields(world, text)
    with all_or_nothing(world.simulation):
        owners = world.simulation.registry.fields.owners
        for name in world.force_fields:
            if not owners[name]:
                world.remove_force_field(name)
        for field in fields:
            add_scene_field(world, field)


def checked_fields(world: sb.World, text: str) -> tuple[SceneField, ...]:
    """
    Read force fields, and check the robot and link names they act on; on any thread.

    Raises InvalidValueError or UnknownNameError.
    """
    fields = fields_from_text(text, "parameter 'force_fields'")
    for field in fields:
        for name in field.links or ():
            part = part_of(world.robots, name)
            if isinstance(part, sb.Link) and part.m == 0.0:
                raise InvalidValueError(
                    "parameter 'force_fields'", name, 'robots, or links that have mass'
                )
    return fields


def check_namespace(name: str, namespace: str, others: Iterable[HasNamespace], field: str) -> None:
    """Raise InvalidValueError, naming `field`, if another robot has the same namespace."""
    for other in others:
        if other.namespace == namespace and other.robot.name != name:
            raise InvalidValueError(
                field,
                namespace,
                f'a namespace of its own; robot {other.robot.name!r} has this one',
                code=ErrorCode.NAMESPACE_INVALID,
            )


def has_interface(robot: sb.Robot) -> bool:
    """Return whether a robot has inputs or outputs on the graph; otherwise it is an object."""
    return bool(_moves_in_parts(robot.description) or robot.devices() or robot.crawlers)


def _moves_in_parts(description: sb.RobotDescription) -> bool:
    """Return whether a robot has a movable joint."""
    return any(joint.type is not JointType.FIXED for joint in description.joints.values())


def robots_of_scene(scene: OpenPlxScene, namespace: str) -> list[LoadedRobot]:
    """
    Return a scene's robots, without its objects, in namespaces named after them.

    The scene's signals, in `namespace`, belong to the first robot, or to a body if all entities
    are objects.
    """
    robots = [robot for robot in scene.robots if has_interface(robot)]
    if not robots and (
        scene.inputs or any(output.signal.enabled for output in scene.outputs.values())
    ):
        robots = list(scene.robots[:1])
    loaded = [LoadedRobot(robot, topic_name(robot.name)) for robot in robots]
    return [replace(each, scene=scene, scene_namespace=namespace) for each in loaded[:1]] + loaded[
        1:
    ]


def namespaces_of_scene(
    scene: MappedScene, name: str | None, is_own: bool
) -> list[tuple[MappedRobot, str]]:
    """
    Return the robots of a scene that get topics from `load_world`, and their namespaces.

    name: the scene's name in the world; None for its model's. is_own: whether the scene comes
    from the parameter `robot`.
    """
    robots = [
        each
        for each in scene.robots
        if (
            each.description.sensors
            or each.description.crawlers
            or _moves_in_parts(each.description)
        )
    ]
    if is_own and len(robots) == 1:
        return [(robots[0], '')]
    return [
        (each, topic_name(robot_name(scene, each, name or scene.name, name))) for each in robots
    ]


def _load_own(world: sb.World, parameters: SimulatorParameters) -> list[LoadedRobot]:
    """Add the robot selected by the parameters, or all robots in an OpenPLX file."""
    source: str | Path = parameters.robot_description or find_robot(
        parameters.own_robot, package_paths=parameters.package_paths
    )
    if not isinstance(source, Path) or format_of(source) is not OPENPLX:
        return _load_robot(world, source, parameters)
    for name in _NOT_OF_SCENES:
        value = getattr(parameters, name)
        if value != getattr(SimulatorParameters(), name):
            raise InvalidValueError(
                f'parameter {name!r}', value, 'its default, since the OpenPLX file defines this'
            )
    scene = world.load_openplx(
        source,
        parameters.chosen_model or None,
        parameters.robot_name or None,
        parameters.position or _ORIGIN,
        parameters.orientation,
    )
    robots = robots_of_scene(scene, '')
    if len(robots) != 1:
        return robots
    return [replace(robots[0], namespace='', joints=parameters.joints)]


def _load_robot(
    world: sb.World, source: str | Path, parameters: SimulatorParameters
) -> list[LoadedRobot]:
    """
    Add the selected robot at its start pose, and the sensors standing in the world.

    source: file or text.
    """
    sensors = sensors_from_mapping(parameters.sensors)
    standing = [each for each in sensors if each.link == WORLD_LINK]
    carried = [each for each in sensors if each.link != WORLD_LINK]
    description = _described(source, carried, parameters)
    if standing and WORLD_LINK in description.links:
        # the robot has a link with this name
        description, standing = _described(source, sensors, parameters), []
    robot = world.add_robot(
        description,
        name=parameters.robot_name or None,
        base=parameters.base,
        position=parameters.position or _ORIGIN,
        orientation=parameters.orientation,
        joint_positions=_given_positions(description, parameters) or initial_values(description),
        collisions=parameters.collisions,
        missing_meshes=parameters.mesh_severity,
        self_collision=SELF_COLLISION[parameters.self_collision],
    )
    has_ground = parameters.ground and not parameters.world
    if has_ground and not robot.fixed_base:
        world.add_ground()
    if not robot.fixed_base and not parameters.position and (has_ground or parameters.world):
        # compiled together; the following code would compile some of these one by one
        build(
            [*world.simulation.cache.standing_units, measure_convex_pairs.unit, *message_units()]
        )
        robot.set_base_pose((0.0, 0.0, -_lowest(robot)), parameters.orientation)
        robot.remember()
    bodies = [world.add_body((), each.name, **standing_body(each)) for each in standing]
    return [
        LoadedRobot(robot, joints=parameters.joints),
        *(LoadedRobot(body, namespace_for(body.name)) for body in bodies),
    ]


def _described(
    source: str | Path, sensors: Iterable[SensorDescription], parameters: SimulatorParameters
) -> sb.RobotDescription:
    return sb.load_description(
        source,
        extra_sensors=sensors,
        extra_joints=parameters.extra_joints or None,
        xacro_args=dict(argument.split(':=', 1) for argument in parameters.xacro_args),
        package_paths=parameters.package_paths,
        strict=parameters.strict,
        model=parameters.chosen_model,
    )


def _given_positions(
    description: sb.RobotDescription, parameters: SimulatorParameters
) -> dict[str, float]:
    """Check the parameter `initial_positions`; return positions by joint [rad or m]."""
    given, limits = parameters.initial_positions, start_limits(description)
    joints = parameters.joints or [
        name for name in limits if description.joints[name].mimic is None
    ]
    if given and len(given) != len(joints):
        expected = f'{counted(len(joints), "value")}, one for each of {", ".join(joints)}'
        raise InvalidValueError("parameter 'initial_positions'", given, expected)
    for name, position in zip(joints, given, strict=False):
        if name not in limits:
            raise UnknownNameError('joint', name, limits, f'robot {description.name!r}')
        lower, upper = limits[name]
        if not lower <= position <= upper:
            expected = f'{lower:g} to {upper:g}, its limits'
            raise InvalidValueError(
                "parameter 'initial_positions'", position, expected, f'joint {name!r}'
            )
    return dict(zip(joints, given, strict=False))


def _start_at(robot: sb.Robot, positions: Mapping[str, float]) -> None:
    """Set joint positions [rad or m], including mimic joints, and use them for resets."""
    if not positions:
        return
    for name, position in positions.items():
        robot.joint(name).q = position
    for name in robot.joint_names:
        mimic = robot.joint(name).mimic
        if mimic is not None and mimic.joint in positions:
            robot.joint(name).q = mimic.position(positions[mimic.joint])
    if robot.loop_joints:
        close_loops(robot, positions)
    robot.remember()


def _lowest(robot: sb.Robot) -> float:
    """Return the lowest collision point's height [m]; 0 if there is none."""
    ground = sb.Plane(), (_ORIGIN, _UPRIGHT)
    heights = [
        sb.distance(
            geometry.shape, (geometry.p, quaternion_from_matrix(geometry.R)), *ground
        ).distance
        for geometry in robot.geometries
    ]
    return min(heights, default=0.0)


def _check_namespaces(robots: Sequence[LoadedRobot]) -> None:
    """Raise InvalidValueError if two robots would share topics."""
    for number, each in enumerate(robots):
        check_namespace(
            each.robot.name,
            each.namespace,
            robots[:number],
            f'namespace of robot {each.robot.name!r}',
        )
