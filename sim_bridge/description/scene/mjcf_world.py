"""
Worlds in MJCF files.

Each tree of bodies with joints becomes a robot, a body with a free joint an object, everything
else static scenery. Planes and height fields are bodies of their own. Mocap bodies are kinematic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.mechanism.base import FIXED, FREE
from sim_bridge.description.mjcf.compiled import compile_mjcf, CompiledModel
from sim_bridge.description.mjcf.flags import obeying_flags
from sim_bridge.description.mjcf.load import finished, gravity_of, robot_name
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.refusals import refuse
from sim_bridge.description.mjcf.robots import RobotMaker, Tree, trees_of
from sim_bridge.description.model import GeometryDescription, Pose, RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.scene.mjcf_joints import joints_between, world_pose
from sim_bridge.description.scene.mjcf_lights import light_of
from sim_bridge.description.scene.model import (
    namespace_for,
    SceneBody,
    SceneDescription,
    SceneRobot,
)
from sim_bridge.description.scene.values import Values
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, HeightField
from sim_bridge.shapes.shapes import Plane, PRIMITIVES, Shape

_NONE: Mapping[str, Any] = MappingProxyType({})
_SCENERY = 'scenery'
_QUARTER_TURN = Pose(np.zeros(3), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))


def holds_world(source: Source) -> bool:
    """Return whether a file holds more than one robot alone."""
    model = compile_mjcf(source, Findings())
    if model is None:
        return False
    return len(trees_of(model)) + len(model.of_body('geom', 0)) > 1


def read_world(source: Source, findings: Findings) -> SceneDescription | None:
    """Return the world in a file; see `WorldReader.read_world`."""
    model = compile_mjcf(source, findings)
    if model is None:
        return None
    model = obeying_flags(model)
    notes = Notes(model, findings)
    refuse(notes)
    return _World(model, notes, source).scene()


class _World:
    """World on its way to a description."""

    def __init__(self, model: CompiledModel, notes: Notes, source: Source):
        self._model, self._notes, self._source = model, notes, source
        self._maker = RobotMaker(model, notes, is_world=True)
        self._trees = trees_of(model)
        self._taken: set[str] = set()
        self._spaces: set[str] = set()
        # scene names by body, for joints between robots
        self._parts: dict[int, str] = {}

    def scene(self) -> SceneDescription:
        model = self._model
        bodies = (*self._grounds(), *self._mocap_bodies())
        robots = tuple(self._robots())
        joints = tuple(joints_between(model, self._parts, self._notes))
        contacts = self._maker.contacts
        return SceneDescription(
            source=model.label,
            gravity=gravity_of(model),
            materials=contacts.materials,
            contact_materials=tuple(contacts.contact_materials()),
            apart=contacts.apart,
            bodies=bodies,
            robots=robots,
            joints=joints,
            time_step=self._time_step(),
            light=light_of(model, self._notes),
            files=model.files,
        )

    def _time_step(self) -> float | None:
        """Return the time step [s]; None, with a warning, for a step of 0."""
        step = float(self._model.option('timestep'))
        if step > 0.0:
            return step
        message = 'must be above 0; the usual step is taken'
        place = Place('option')
        self._notes.findings.warning('out-of-range', place, message, 'timestep', f'{step:g}')
        return None

    def _robots(self) -> Iterator[SceneRobot]:
        scenery = self._scenery()
        if scenery is not None:
            yield self._placed(scenery, is_object=not scenery.sensors)
        robots = [tree for tree in self._trees if tree.is_robot]
        for tree in self._trees:
            if tree.is_mocap:
                continue
            name = self._model.name('body', tree.root)
            if tree.is_robot and len(robots) == 1:
                name = robot_name(self._model, self._source)
            description = finished(self._maker.describe(tree, name), self._notes.findings)
            is_only = tree.is_robot and len(robots) == 1
            has_topics = tree.is_robot or bool(description.sensors)
            robot = self._placed(description, is_object=not has_topics, is_only=is_only)
            for body in tree.bodies:
                self._parts[body] = f'{robot.name}/{self._model.name("body", body)}'
            yield robot

    def _scenery(self) -> RobotDescription | None:
        """Return the geoms and sensors fixed to the world, as one robot without joints."""
        world = Tree(0, (0,), is_free=False, joint_count=0, is_mocap=False)
        description = self._maker.describe(world, _SCENERY)
        link = description.links[description.root]
        if not (link.visuals or link.collisions or len(description.links) > 1):
            return None
        return replace(description, is_welded=True, base_pose=Pose())

    def _placed(
        self, description: RobotDescription, *, is_object: bool, is_only: bool = False
    ) -> SceneRobot:
        """Return a robot at its place; is_only: whether its topics have no namespace."""
        name = self._free(description.name)
        space = ''
        if not is_only:
            space = free_name(namespace_for(name), self._spaces.__contains__)
            self._spaces.add(space)
        base = description.base_pose
        arguments = {
            'base': FIXED if description.is_welded else FREE,
            'position': tuple(base.position.tolist()),
            'orientation': tuple(quaternion_from_matrix(base.rotation).tolist()),
        }
        line = description.links[description.root].line
        return SceneRobot(
            name,
            self._model.label,
            space,
            MappingProxyType(arguments),
            self._values(name, line),
            _NONE,
            _NONE,
            line,
            is_object=is_object,
            description=description,
        )

    def _grounds(self) -> Iterator[SceneBody]:
        """Yield the planes and height fields on static bodies."""
        model = self._model
        for geom in range(model.count('geom')):
            if not self._maker.geoms.is_ground(geom) or not self._is_static(geom):
                continue
            pose = world_pose(model, int(model['geom_bodyid'][geom])) @ model.pose('geom', geom)
            shape: Shape = Plane()
            if model.words('geom_type')[geom] == 'hfield':
                shape, pose = self._height_field(geom), pose @ _QUARTER_TURN
            placed = self._shape(geom, shape, Pose())
            name = model.name('geom', geom) if model.has_name('geom', geom) else 'ground'
            yield self._body(name, (placed,), pose, 'static', geom)

    def _is_static(self, geom: int) -> bool:
        return bool(self._model['body_weldid'][self._model['geom_bodyid'][geom]] == 0)

    def _height_field(self, geom: int) -> HeightField:
        """Return a height field in a frame turned by a quarter: its diagonals are MuJoCo's."""
        model = self._model
        field = int(model['geom_dataid'][geom])
        rows, columns = int(model['hfield_nrow'][field]), int(model['hfield_ncol'][field])
        first = int(model['hfield_adr'][field])
        data = model['hfield_data'][first : first + rows * columns].astype(float)
        half_x, half_y, top, _ = map(float, model['hfield_size'][field])
        heights = top * data.reshape(rows, columns).T[::-1]
        return HeightField(heights, (2.0 * half_y, 2.0 * half_x))

    def _mocap_bodies(self) -> Iterator[SceneBody]:
        model = self._model
        for tree in self._trees:
            if not tree.is_mocap:
                continue
            shapes = []
            for body in tree.bodies:
                frame = _relative(model, body, tree.root)
                shapes += [
                    self._shape(geom, shape, pose)
                    for geom in model.of_body('geom', body)
                    for shape, pose in self._shapes(geom, frame)
                ]
            mocap = self._body(
                model.name('body', tree.root),
                tuple(shapes),
                model.pose('body', tree.root),
                'kinematic',
                None,
            )
            self._parts |= dict.fromkeys(tree.bodies, mocap.name)
            yield mocap

    def _shapes(self, geom: int, frame: Pose) -> Iterator[tuple[Shape, Pose]]:
        described = None
        if not self._maker.geoms.is_ground(geom):
            described = self._maker.geoms.describe(geom, frame)
        if described is not None:
            yield _shape_of(described[1]), described[1].pose

    def _shape(self, geom: int, shape: Shape, pose: Pose) -> Placed:
        rules = self._maker.contacts.of_geom(geom)
        name = self._model.name('geom', geom) if self._model.has_name('geom', geom) else ''
        return Placed(
            shape,
            pose.position.tolist(),
            quaternion_from_matrix(pose.rotation).tolist(),
            name,
            enabled=bool(rules),
            **rules,
        )

    def _body(
        self, wanted: str, shapes: tuple[Placed, ...], pose: Pose, motion: str, geom: int | None
    ) -> SceneBody:
        name = self._free(wanted)
        line = 0 if geom is None else self._model.line('geom', geom)
        arguments = {
            'motion': motion,
            'position': tuple(pose.position.tolist()),
            'orientation': tuple(quaternion_from_matrix(pose.rotation).tolist()),
        }
        values = self._values(name, line)
        return SceneBody(
            name, shapes, namespace_for(name), MappingProxyType(arguments), values, values, line
        )

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        return name

    def _values(self, name: str, line: int) -> Values:
        return Values.given({}, Section({}, f'mujoco.{name}', self._notes.findings, line))


def _relative(model: CompiledModel, body: int, ancestor: int) -> Pose:
    """Return the pose of a body without joints in between, in a body above it."""
    pose = Pose()
    while body != ancestor:
        pose = model.pose('body', body) @ pose
        body = int(model['body_parentid'][body])
    return pose


def _shape_of(geometry: GeometryDescription) -> Shape:
    if geometry.surface is not None:
        return ConvexHull(np.asarray(geometry.surface.vertices))
    return PRIMITIVES[geometry.kind](*geometry.size)
