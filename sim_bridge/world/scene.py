"""Adding a scene to a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from sim_bridge.description.report import DescriptionError, Findings, Place, SceneError
from sim_bridge.description.scene.fields import field_place, SceneField
from sim_bridge.description.scene.joints import JointSettings
from sim_bridge.description.scene.lights import SceneLight
from sim_bridge.description.scene.model import SceneDescription, SceneRobot
from sim_bridge.description.scene.values import Values
from sim_bridge.foundation.errors import InvalidValueError, plain, SimBridgeError
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.simulation.records import Sleep
from sim_bridge.world.scene_joints import add_scene_joint, join_groups, part_of, set_joint
from sim_bridge.world.waypoints import WaypointMotion

_Added = TypeVar('_Added')


class Additions:
    """Adds items and sets attributes one by one; records each error with its place in the file."""

    def __init__(self) -> None:
        self.findings = Findings()

    def attempt(self, place: Callable[[str], Place], add: Callable[[], _Added]) -> _Added | None:
        """Return `add`'s result; place: a key's place, or the item's for other errors."""
        try:
            return add()
        except DescriptionError as err:
            for finding in err.report.errors:
                self.findings.error(
                    finding.code,
                    place(''),
                    f'{err.report.source}: {finding.subject}: {finding.message}',
                )
        except InvalidValueError as err:
            self.findings.error(
                'bad-value',
                place(err.quantity),
                f'expected {err.expected}',
                err.quantity,
                plain(err.value),
            )
        except SimBridgeError as err:
            self.findings.error('bad-value', place(''), str(err))
        return None

    def set_all(self, target: object, values: Values) -> None:
        """Set an object's attributes, and record refused values."""
        for key, value in values.items.items():
            self.attempt(partial(_at, values.place(key)), partial(setattr, target, key, value))


def add_scene(
    world: World, scene: SceneDescription, start: Callable[[SceneRobot], None] | None = None
) -> None:
    """
    Add a whole scene; raise SceneError on any error, possibly after adding part of it.

    start: called for each robot after it is added, before joints connect it.
    """
    additions = Additions()
    attempt = additions.attempt
    if scene.settings is not None:
        additions.set_all(world, _with_sleep(scene.settings, additions))
    for material in scene.materials:
        attempt(
            partial(_at, Place('world', f'materials.{material.name}')),
            partial(_add_material, world.materials, material),
        )
    if scene.ground is not None:
        attempt(partial(_at, Place('world', 'ground')), partial(world.add_ground, **scene.ground))
    for body in scene.bodies:
        robot = attempt(
            body.own.place, partial(world.add_body, body.shapes, body.name, **body.arguments)
        )
        if robot is not None:
            additions.set_all(robot.root_link, body.link)
    if scene.light is not None:
        world.surroundings = _surroundings(scene.light, attempt)
    for each in scene.robots:
        attempt(each.own.place, partial(_add_robot, world, each, start, additions))
    for openplx in scene.openplx:
        attempt(
            partial(_at, Place('world', f'openplx.{openplx.name}', openplx.line)),
            partial(world.load_openplx, openplx.file, name=openplx.name, **openplx.arguments),
        )
    # after bodies and robots: friction directions refer to links
    for number, (a, b, contact) in enumerate(scene.contact_materials):
        attempt(
            partial(_at, Place('world', f'contact_materials[{number}]')),
            partial(world.set_contact_material, a, b, contact),
        )
    for joint in scene.joints:
        attempt(joint.arguments.place, partial(add_scene_joint, world, joint, additions.set_all))
    for field in scene.force_fields:
        attempt(partial(_at, field_place(field)), partial(add_scene_field, world, field))

    for own in scene.placed:
        if own.name in world.robots:
            set_rest(world.robots[own.name], own.own, additions)
    report = additions.findings.report(scene.source)
    if not report.ok:
        raise SceneError(report)
    for a, b in scene.apart:
        world.set_group_collision(a, b, False)
    if scene.gravity is not None:
        world.gravity = scene.gravity
    if scene.origin is not None:
        world.origin = scene.origin
    for joint in scene.joints:
        join_groups(world, joint)
    # last, because every write to a robot wakes it
    for own in scene.placed:
        if own.own.items.get('disabled'):
            world.robots[own.name].disable()


def _surroundings(light: SceneLight, attempt: Callable[..., Any]) -> Surroundings:
    """Return a scene's light."""
    colors = dict(light.colors)
    if light.lamps is not None:
        lamps = [
            attempt(lambda _, each=each: each.place, partial(Lamp, **each.arguments))
            for each in light.lamps
        ]
        colors['lamps'] = tuple(lamp for lamp in lamps if lamp is not None)
    return Surroundings(**colors)


def add_scene_field(world: World, field: SceneField) -> None:
    """Add a force field; raise UnknownNameError for unknown links."""
    links = None if field.links is None else [part_of(world.robots, name) for name in field.links]
    world.add_force_field(field.field, field.name, links)


def _add_material(materials: MaterialTable, material: Material) -> None:
    known = materials.get(material.name)
    if known is not None and known != material and material.name != 'default':
        raise InvalidValueError('material', material.name, 'a name that is not taken yet')
    materials.add(material)


def _add_robot(
    world: World,
    scene: SceneRobot,
    start: Callable[[SceneRobot], None] | None,
    additions: Additions,
) -> None:
    """Load a robot, and set the attributes given in the scene."""
    if scene.description is None:
        robot = world.load_urdf(scene.urdf, scene.name, **scene.arguments)
    else:
        robot = world.add_robot(scene.description, scene.name, **scene.arguments)
    if scene.path is not None:
        robot.motion = 'kinematic'
        robot.before_step(WaypointMotion(scene.path))
    if start is not None:
        start(scene)

    def set_link(name: str, values: Values) -> None:
        additions.set_all(robot.link(name), values)

    def set_robot_joint(name: str, joint: JointSettings) -> None:
        set_joint(robot.joint(name), joint, additions.set_all)

    for name, values in scene.links.items():
        additions.attempt(values.place, partial(set_link, name, values))
    for name, joint in scene.joints.items():
        additions.attempt(joint.own.place, partial(set_robot_joint, name, joint))


def set_rest(robot: Robot, values: Values, additions: Additions) -> None:
    """Set a robot's sleep thresholds."""
    values = _with_sleep(values, additions)
    if 'sleep' in values.items:
        additions.set_all(robot, values.only('sleep'))


def _with_sleep(values: Values, additions: Additions) -> Values:
    """Return values with `Sleep` objects instead of their arguments."""
    given = values.items.get('sleep')
    if not isinstance(given, Mapping):
        return values
    return values.replaced(
        'sleep', additions.attempt(partial(_at, values.place('sleep')), lambda: Sleep(**given))
    )


def _at(place: Place, key: str) -> Place:
    """Return the place itself, for items without keys."""
    return place
