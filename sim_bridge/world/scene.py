"""Adding a scene to a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from sim_bridge.description.report import DescriptionError, Findings, Place, SceneError
from sim_bridge.description.scene.fields import field_place, SceneField
from sim_bridge.description.scene.scene import SceneDescription, SceneRobot
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.material_table import MaterialTable


class SceneTarget(Protocol):
    """The object a scene is added to; `World` is one."""

    gravity: Any

    @property
    def robots(self) -> Mapping[str, Robot]:
        """Its robots, by name."""

    @property
    def materials(self) -> MaterialTable:
        """Its materials."""

    @property
    def load_urdf(self) -> Callable[..., Robot]:
        """As in `World`."""

    @property
    def load_openplx(self) -> Callable[..., object]:
        """As in `World`."""

    @property
    def add_body(self) -> Callable[..., Robot]:
        """As in `World`."""

    @property
    def add_ground(self) -> Callable[..., Robot]:
        """As in `World`."""

    @property
    def add_force_field(self) -> Callable[..., str]:
        """As in `World`."""

    @property
    def set_contact_material(self) -> Callable[..., None]:
        """As in `World`."""

    @property
    def set_group_collision(self) -> Callable[..., None]:
        """As in `World`."""


def add_scene(world: SceneTarget, scene: SceneDescription) -> None:
    """Add a whole scene; raises SceneError, after a part of it was added, if anything is wrong."""
    findings = Findings()

    def attempt(place: Place, add: Callable[[], object]) -> None:
        """Add one item; records its errors and lets the next items be checked too."""
        try:
            add()
        except DescriptionError as err:
            for finding in err.report.errors:
                findings.error(finding.code, place, f'{err.report.source}: {finding.subject}: '
                               f'{finding.message}')
        except InvalidValueError as err:
            findings.error(
                'bad-value', place, f'expected {err.expected}', err.what, str(err.value))
        except SimBridgeError as err:
            findings.error('bad-value', place, str(err))

    for material in scene.materials:
        attempt(Place('world', f'materials.{material.name}'),
                partial(_add_material, world.materials, material))
    if scene.ground is not None:
        attempt(Place('world', 'ground'), partial(world.add_ground, **scene.ground))
    for body in scene.bodies:
        attempt(Place('world', f'objects.{body.name}', body.line),
                partial(world.add_body, body.shapes, body.name, **body.arguments))
    for robot in scene.robots:
        attempt(Place('world', f'robots.{robot.name}', robot.line),
                partial(_add_robot, world, robot))

    for openplx in scene.openplx:
        attempt(Place('world', f'openplx.{openplx.name}', openplx.line),
                partial(world.load_openplx, openplx.file, name=openplx.name, **openplx.arguments))
    # their directions of friction are those of links
    for number, (a, b, contact) in enumerate(scene.contact_materials):
        attempt(Place('world', f'contact_materials[{number}]'),
                partial(world.set_contact_material, a, b, contact))

    for field in scene.force_fields:
        attempt(field_place(field), partial(add_scene_field, world, field))

    report = findings.report(scene.source)
    if not report.ok:
        raise SceneError(report)
    for a, b in scene.apart:
        world.set_group_collision(a, b, False)
    if scene.gravity is not None:
        world.gravity = scene.gravity


def add_scene_field(world: SceneTarget, field: SceneField) -> None:
    """Add a field of force; raises UnknownNameError for what it is to act on."""
    links = None if field.links is None else [
        _part(world.robots, name) for name in field.links]
    world.add_force_field(field.field, field.name, links)


def _part(robots: Mapping[str, Robot], name: str) -> Robot | Link:
    """Return a robot, or a link as robot/link; names may have a / in them."""
    if name in robots:
        return robots[name]
    robot, _, link = name.rpartition('/')
    if robot in robots:
        return robots[robot].link(link)
    raise UnknownNameError('robot or robot/link', name, robots, 'the world')


def _add_material(materials: MaterialTable, material: Material) -> None:
    known = materials.get(material.name)
    if known is not None and known != material and material.name != 'default':
        raise InvalidValueError('material', material.name, 'a name that is not taken yet')
    materials.add(material)


def _add_robot(world: SceneTarget, robot: SceneRobot) -> Robot:
    """Load a robot."""
    return world.load_urdf(robot.urdf, robot.name, **robot.arguments)
