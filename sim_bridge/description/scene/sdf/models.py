"""Robots and objects in an SDF world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from sim_bridge.description.collision_bits import pairs_apart
from sim_bridge.description.controllers import NO_CONTROLLER
from sim_bridge.description.force_fields import Wind
from sim_bridge.description.mechanism.base import FIXED, FREE
from sim_bridge.description.mechanism.mesh_files import with_mesh_files
from sim_bridge.description.model import JointType, Pose, RobotDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.scene.model import namespace_for, SceneRobot
from sim_bridge.description.scene.sdf.actors import read_actor
from sim_bridge.description.scene.sdf.physics import Physics
from sim_bridge.description.scene.sdf.population import populated
from sim_bridge.description.scene.values import Values
from sim_bridge.description.scene.waypoints import Waypoints
from sim_bridge.description.sdf.plugins import check_plugins
from sim_bridge.description.sdf_model.document import Entity, Library
from sim_bridge.description.sdf_model.load import read_model
from sim_bridge.description.sdf_model.scope import build_scope, Scope
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.sensor_kinds import MAGNETOMETER
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import quaternion_from_matrix

# plugins of a world whose effect on each model is simulated
_OF_ALL_MODELS = ('buoyancy-system', 'wind-effects-system')
_ENGINE = 'buoyancy-engine'


class WorldModels:
    """A world's models as robots and objects."""

    def __init__(self, scope: Scope, library: Library, physics: Physics):
        """Prepare; scope: the world's frames."""
        self._scope, self._library, self._physics = scope, library, physics
        self._read: dict[object, RobotDescription] = {}
        self._robots: list[SceneRobot] = []
        self.names: dict[str, str] = {}
        """Robots' names by their models' names."""
        self._taken: set[str] = set()
        self._spaces: set[str] = set()
        nodes = scope.entity.element.findall('plugin')
        self._plugins = tuple(filter(_is_of_all_models, nodes))
        others = [node for node in nodes if node not in self._plugins]
        gazebo = Element('gazebo', children=others)
        check_plugins(Element('world', children=[gazebo]), library.findings)

    def robots(self) -> tuple[SceneRobot, ...]:
        """Return all models, and the populations' copies."""
        states = dict(self._states())
        for name, inner in self._scope.models.items():
            pose = states.get(name, self._scope.pose_of(name))
            self._add(name, inner.entity, inner, pose)
        for entity, pose in populated(self._scope.entity, self._library):
            inner = build_scope(entity, self._library)
            own, _ = inner.own_pose()
            self._add(entity.name, entity, inner, pose @ own)
        for entity in self._scope.others:
            if entity.element.tag == 'actor':
                self._add_actor(entity)
        return tuple(self._robots)

    def _add_actor(self, entity: Entity) -> None:
        found = read_actor(entity, self._scope, self._library)
        if found is None:
            return
        description, path = found
        description = with_mesh_files(
            description, entity.file.folder, self._library.package_paths, self._library.findings
        )
        self._append(entity.name, entity, description, path.poses[0], path)

    def _states(self) -> Iterator[tuple[str, Pose]]:
        """Yield the models' poses in a saved `<state>`, which Gazebo Classic restores."""
        for state in self._scope.entity.element.findall('state'):
            for model in state.findall('model'):
                place = Place('state', model.get('name'), model.line)
                if model.find('pose') is not None:
                    pose, _ = Tags(model, place, self._library.findings).pose()
                    yield place.name, pose

    def _add(self, name: str, entity: Entity, scope: Scope, pose: Pose) -> None:
        description = self._description(entity, scope)
        if description.links:
            self._append(name, entity, description, pose @ description.base_pose)

    def _append(
        self,
        name: str,
        entity: Entity,
        description: RobotDescription,
        placed: Pose,
        path: Waypoints | None = None,
    ) -> None:
        robot_name = free_name(name or 'model', self._taken.__contains__)
        space = free_name(namespace_for(robot_name), self._spaces.__contains__)
        self.names[name] = robot_name
        self._taken.add(robot_name)
        self._spaces.add(space)
        is_object = not _has_topics(description)
        if not is_object:
            description = replace(description, xml=urdf_text(description))
        section = Section({}, f'model.{robot_name}', self._library.findings, entity.element.line)
        nothing = Values.given({}, section)
        arguments = {
            'base': FIXED if description.fixed_base else FREE,
            'position': tuple(placed.position.tolist()),
            'orientation': tuple(quaternion_from_matrix(placed.rotation).tolist()),
            # rooms and terrain are hollow; hulls are cheaper for moving bodies
            'collisions': 'mesh' if description.is_welded else 'hull',
            'missing_meshes': 'warning',
        }
        self._robots.append(
            SceneRobot(
                robot_name,
                self._library.main,
                space,
                MappingProxyType(arguments),
                nothing,
                MappingProxyType({}),
                MappingProxyType({}),
                entity.element.line,
                is_object=is_object,
                # Gazebo starts no controllers besides the plugins
                controller=NO_CONTROLLER,
                description=replace(description, name=robot_name),
                path=path,
            )
        )

    def _description(self, entity: Entity, scope: Scope) -> RobotDescription:
        """Return a model's description, with the root's pose in the model as base pose."""
        of_world = (_for_model(each, entity.name) for each in self._plugins)
        plugins = (*entity.plugins, *filter(None, of_world))
        key = (id(entity.element), entity.static, tuple(map(id, plugins)))
        if key not in self._read:
            scope.entity = replace(entity, plugins=plugins)
            own = Findings()
            library = replace(self._library, findings=own)
            description = read_model(scope.entity, library, scope=scope, is_placed=False)
            file = entity.file
            description = with_mesh_files(
                description, file.folder, self._library.package_paths, own
            )
            self._library.findings.found.update(own.found)
            self._read[key] = _in_physics(description, self._physics)
        return self._read[key]

    def apart(self) -> tuple[tuple[str, str], ...]:
        """Return collision group pairs with bit masks excluding contact."""
        return pairs_apart(
            link
            for robot in self._robots
            if robot.description is not None
            for link in robot.description.links.values()
        )


def _in_physics(description: RobotDescription, physics: Physics) -> RobotDescription:
    """Return a robot with the world's fields in its magnetometers and winds."""
    sensors = description.sensors
    if physics.magnetic_field is not None:
        field = physics.magnetic_field
        sensors = tuple(
            replace(each, settings=replace(each.settings, magnetic_field=field))
            if each.kind is MAGNETOMETER and each.settings.magnetic_field is None
            else each
            for each in sensors
        )
    fields = tuple(
        replace(each, field=replace(each.field, velocity=physics.wind))
        if isinstance(each.field, Wind)
        else each
        for each in description.force_fields
    )
    return replace(description, sensors=sensors, force_fields=fields)


def _is_of_all_models(plugin: Element) -> bool:
    filename = plugin.get('filename')
    return any(word in filename for word in _OF_ALL_MODELS) and _ENGINE not in filename


def _for_model(plugin: Element, model: str) -> Element | None:
    """Return a world's plugin for one model; None if its `enable` names other models only."""
    enabled = plugin.findall('enable')
    if not enabled:
        return plugin
    own = [each for each in enabled if element_text(each).split('::')[0] == model]
    if not own:
        return None
    children = [each for each in plugin if each.tag != 'enable']
    for each in own:
        link = element_text(each).partition('::')[2]
        children += [Element('enable', {}, each.line, link)] if link else []
    return Element(plugin.tag, plugin.attrib, plugin.line, plugin.text, children)


def _has_topics(description: RobotDescription) -> bool:
    """Return whether a robot has anything to command or to measure."""
    moves = any(
        joint.type not in (JointType.FIXED, JointType.FLOATING)
        for joint in description.joints.values()
    )
    parts: Iterable[object] = (
        description.sensors,
        description.drives,
        description.inputs,
        description.batteries,
        description.controller_managers,
    )
    return moves or any(parts)
