"""Putting a scene into a world."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_bridge.description.report import DescriptionError, Findings, Place, SceneError
from sim_bridge.description.resources import find_robot
from sim_bridge.description.scene.scene import SceneDescription, SceneRobot
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.world.robot_registry import Population


def add_scene(world: Population, scene: SceneDescription) -> None:
    """Add all of a scene; raises SceneError, with nothing added, if anything is wrong."""
    findings = Findings()
    robots_before, materials_before = set(world.robots), world.materials.save()

    def attempt(place: Place, add: Callable[[], object]) -> None:
        """Add one thing; what is wrong with it is noted, and the next are looked at too."""
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
                lambda material=material: _add_material(world, material))
    for number, (a, b, contact) in enumerate(scene.contact_materials):
        attempt(Place('world', f'contact_materials[{number}]'),
                lambda a=a, b=b, contact=contact: world.set_contact_material(a, b, contact))
    if scene.ground is not None:
        attempt(Place('world', 'ground'), lambda: world.add_ground(**scene.ground))
    for body in scene.bodies:
        attempt(Place('world', f'objects.{body.name}', body.line),
                lambda body=body: world.add_body(body.shapes, body.name, **body.arguments))
    for robot in scene.robots:
        attempt(Place('world', f'robots.{robot.name}', robot.line),
                lambda robot=robot: _add_robot(world, robot))

    report = findings.report(scene.source)
    if not report.ok:
        world.dismiss([world.robots[name] for name in world.robots if name not in robots_before])
        world.materials.restore(materials_before)
        raise SceneError(report)
    for a, b in scene.apart:
        world.set_group_collision(a, b, False)
    if scene.gravity is not None:
        world.gravity = scene.gravity


def _add_material(world: Population, material: object) -> None:
    known = world.materials.get(material.name)
    if known is not None and known != material and material.name != 'default':
        raise InvalidValueError('material', material.name, 'a name that is not taken yet')
    world.materials.add(material)


def _add_robot(world: Population, robot: SceneRobot) -> Robot:
    """Load a robot from its file, or a shipped one by its name."""
    return world.load_urdf(find_robot(robot.urdf), robot.name, **robot.arguments)
