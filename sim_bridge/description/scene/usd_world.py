"""
Worlds in USD stages.

Each tree of connected bodies becomes a robot, a body without joints an object, all colliders
without a rigid body static scenery. Planes are bodies of their own. Kinematic bodies are moved by
the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sim_bridge.description.mechanism.base import FIXED, FREE
from sim_bridge.description.model import Pose, RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings
from sim_bridge.description.scene.model import (
    namespace_for,
    SceneBody,
    SceneDescription,
    SceneRobot,
)
from sim_bridge.description.scene.usd_lights import light_of
from sim_bridge.description.scene.values import Values
from sim_bridge.description.usd.assembly import Tree
from sim_bridge.description.usd.geometry import PLANE, shape_of
from sim_bridge.description.usd.load import count_fixed, finished, robot_name
from sim_bridge.description.usd.refusals import gravity_of, name_others
from sim_bridge.description.usd.robots import RobotMaker
from sim_bridge.description.usd.stage import Prim, read_stage, Stage
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Plane

_NONE: Mapping[str, Any] = MappingProxyType({})
_SCENERY, _KINEMATIC = 'scenery', 'physics:kinematicEnabled'


def holds_world(source: Source) -> bool:
    """Return whether a file holds more than one robot alone."""
    stage = read_stage(source, Findings())
    if stage is None:
        return False
    return len(RobotMaker(stage, Findings()).trees) + count_fixed(stage) > 1


def read_world(source: Source, findings: Findings) -> SceneDescription | None:
    """Return the world in a stage; see `WorldReader.read_world`."""
    stage = read_stage(source, findings)
    if stage is None:
        return None
    name_others(stage, findings)
    return _World(stage, findings, source).scene()


class _World:
    """World on its way to a description."""

    def __init__(self, stage: Stage, findings: Findings, source: Source):
        self._stage, self._findings, self._source = stage, findings, source
        self._maker = RobotMaker(stage, findings)
        self._taken: set[str] = set()
        self._spaces: set[str] = set()

    def scene(self) -> SceneDescription:
        stage = self._stage
        bodies = (*self._grounds(), *self._kinematic())
        robots = tuple(self._robots())
        contacts = self._maker.contacts
        return SceneDescription(
            source=stage.label,
            gravity=gravity_of(stage),
            materials=contacts.materials,
            contact_materials=tuple(contacts.contact_materials()),
            apart=contacts.apart,
            bodies=bodies,
            robots=robots,
            time_step=self._time_step(),
            light=light_of(stage, self._findings),
            files=stage.files,
        )

    def _time_step(self) -> float | None:
        """Return the step that Newton's or PhysX's scene gives [s]; None without."""
        for scene in self._stage.of('PhysicsScene')[:1]:
            for name in ('newton:timeStepsPerSecond', 'physxScene:timeStepsPerSecond'):
                rate = scene.number(name)
                if 1.0 <= rate <= 1e6:
                    return 1.0 / rate
        return None

    # --- robots ------------------------------------------------------------------------------

    def _robots(self) -> Iterator[SceneRobot]:
        scenery = self._maker.scenery(_SCENERY)
        if scenery is not None:
            yield self._placed(scenery, is_object=True)
        trees = self._maker.trees
        robots = [tree for tree in trees if tree.is_robot]
        for tree in trees:
            if self._is_kinematic(tree):
                continue
            for prim in tree.bodies:
                if prim.flag(_KINEMATIC, False):
                    message = 'moves by its joints; a single body can be kinematic'
                    self._findings.warning('not-simulated', prim.place, message, _KINEMATIC)
            name = robot_name(self._maker, tree, self._source)
            description = finished(self._maker.describe(tree, name), self._findings)
            has_topics = tree.is_robot or bool(description.sensors)
            is_only = tree.is_robot and len(robots) == 1
            yield self._placed(description, is_object=not has_topics, is_only=is_only)

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
        return SceneRobot(
            name,
            self._stage.label,
            space,
            MappingProxyType(arguments),
            self._values(name),
            _NONE,
            _NONE,
            is_object=is_object,
            description=description,
        )

    # --- bodies ------------------------------------------------------------------------------

    def _grounds(self) -> Iterator[SceneBody]:
        """Yield the planes that no body carries."""
        for solid in self._maker.shapes.solids('', Pose()):
            geometry = solid.geometry
            if geometry.kind == PLANE and solid.is_enabled:
                placed = Placed(
                    Plane(),
                    name=solid.prim.name,
                    material=geometry.material,
                    groups=geometry.groups,
                )
                yield self._body(solid.prim, (placed,), geometry.pose, 'static')

    def _is_kinematic(self, tree: Tree) -> bool:
        first = tree.bodies[0]
        return not tree.is_robot and len(tree.bodies) == 1 and first.flag(_KINEMATIC, False)

    def _kinematic(self) -> Iterator[SceneBody]:
        for tree in filter(self._is_kinematic, self._maker.trees):
            prim = tree.bodies[0]
            frame = self._stage.frame(prim)
            shapes = tuple(
                Placed(
                    shape_of(solid.geometry),
                    solid.geometry.pose.position.tolist(),
                    quaternion_from_matrix(solid.geometry.pose.rotation).tolist(),
                    solid.prim.name,
                    material=solid.geometry.material,
                    groups=solid.geometry.groups,
                )
                for solid in self._maker.shapes.solids(prim.path, frame)
                if solid.is_enabled and solid.geometry.kind != PLANE
            )
            yield self._body(prim, shapes, frame, 'kinematic')

    def _body(self, prim: Prim, shapes: tuple[Placed, ...], pose: Pose, motion: str) -> SceneBody:
        name = self._free(prim.name)
        arguments = {
            'motion': motion,
            'position': tuple(pose.position.tolist()),
            'orientation': tuple(quaternion_from_matrix(pose.rotation).tolist()),
        }
        values = self._values(name)
        return SceneBody(
            name, shapes, namespace_for(name), MappingProxyType(arguments), values, values
        )

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        return name

    def _values(self, name: str) -> Values:
        return Values.given({}, Section({}, f'usd.{name}', self._findings, 0))
