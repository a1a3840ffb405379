"""Robots and bodies in a world: names, materials, additions and removals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.compilation.collisions import (
    CHOICES,
    Collisions,
    HULL,
    LinkShape,
    NONE,
    read_shapes,
)
from sim_bridge.compilation.compile import compile_robot
from sim_bridge.compilation.single_body import BodySpec, describe_body
from sim_bridge.description.mechanism.base import base_of
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import DescriptionError, ERROR, Findings, Place
from sim_bridge.description.srdf import read_srdf
from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import ByName, new_name
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import GivenPose, instance_of, one_of, truth_or_none
from sim_bridge.robots.loop_assembly import close_loops
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.robots.start import checked_positions, put_at_start
from sim_bridge.shapes.material import DEFAULT, Material
from sim_bridge.simulation.part import carry_over
from sim_bridge.simulation.rollback import added_or_not, all_or_nothing
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot
from sim_bridge.world.plugin_effects import add_plugin_effects
from sim_bridge.world.spanning_tree import SpanningTree

_NOTHING: Mapping[str, float] = MappingProxyType({})

ORIGIN: GivenPose = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


class CollisionOptions(NamedTuple):
    """A robot's collision options, as in `World.load_urdf`."""

    collisions: str = HULL
    missing_meshes: str = ERROR
    self_collision: bool | None = None
    srdf: str | Path | None = None
    material: Material | str | None = None


class RobotRegistry:
    """Robots and bodies in a world. robots: by name, in the order added."""

    def __init__(self, world: World, simulation: Simulation, tree: SpanningTree):
        """Start empty. world: the robots' `world`."""
        self._world, self._simulation, self._tree = world, simulation, tree
        self._robots: ByName[Robot] = ByName('robot', 'the world')
        self.robots: Mapping[str, Robot] = MappingProxyType(self._robots)
        self.last_numbers: dict[str, int] = {}
        """Last number used, by default name; a search would be slow with many bodies."""

    # --- adding ----------------------------------------------------------------------------------

    def add_robot(
        self,
        description: RobotDescription,
        name: str | None,
        base: str,
        pose: GivenPose,
        joint_positions: Mapping[str, float],
        options: CollisionOptions,
    ) -> Robot:
        """Add a robot from a checked description; see `World.add_robot`."""
        instance_of(
            'description',
            description,
            RobotDescription,
            'a RobotDescription, as returned by load_description',
        )
        joint_positions = {**description.positions, **checked_positions(joint_positions)}
        is_fixed = base_of(description, base).is_fixed
        self_collision = truth_or_none('self_collision', options.self_collision)
        shapes: tuple[LinkShape, ...] = ()
        if one_of('collisions', options.collisions, CHOICES) != NONE:
            findings = Findings()
            shapes = read_shapes(description, findings, options.collisions, options.missing_meshes)
            self._warn_of_materials(description, findings)
            report = findings.report(description.source)
            if not report.ok:
                raise DescriptionError(report)
            report = replace(
                description.report, findings=description.report.findings + report.findings
            )
            description = replace(description, report=report)
            shapes = tuple(map(self._with_own_material, shapes))
        separated = description.separated
        lists_all = separated is not None and options.srdf is None
        if options.srdf is not None:
            separated = read_srdf(options.srdf, description.links)
        with self.all_or_nothing(is_addition=not description.constraints):
            return self._add(
                description,
                self.free_name(name, description.name),
                is_fixed,
                pose,
                Collisions(shapes, self_collision, separated, lists_all),
                options.material,
                joint_positions=joint_positions,
            )

    def add_copy(
        self, robot: Robot, name: str | None, position: Vector | None, orientation: Vector | None
    ) -> Robot:
        """Add a copy of a robot in this world or another; see `World.add_copy`."""
        instance_of('robot', robot, Robot, 'a robot of this world or another')
        with self.all_or_nothing():
            return self._add_copy(robot, name, position, orientation)

    def _add_copy(
        self, robot: Robot, name: str | None, position: Vector | None, orientation: Vector | None
    ) -> Robot:
        known, shapes, source = robot.simulation.registry.materials, [], robot.slot
        for shape in source.collisions.shapes:
            of_name = shape.placed.material
            own = None if of_name is None or of_name == DEFAULT else known[str(of_name)]
            shapes.append(
                self._with_own_material(shape._replace(placed=replace(shape.placed, material=own)))
            )
        blueprint, (_, started, at) = source.blueprint, source.added
        first, count = at.q + blueprint.first_q, len(robot.joint_names)
        copy = self._add(
            robot.description,
            self.free_name(name, robot.name),
            robot.fixed_base,
            ORIGIN,
            replace(source.collisions, shapes=tuple(shapes)),
            None,
            joint_positions=dict(
                zip(robot.joint_names, started.q[first : first + count].tolist(), strict=True)
            ),
            is_placed=any(
                robot.simulation.registry.constraints[str(joint.key)].spec.gathers
                for joint in robot.loop_joints.values()
            ),
            is_kinematic=robot.motion == 'kinematic',
        )
        if blueprint.mount is None:
            carry_over(blueprint.model, source.added, copy.slot.part)
            copy.slot.excluded = source.excluded
            self._simulation.staleness.mark_parameters()
        p, quat = copy.root_link.p, quaternion_from_matrix(copy.root_link.R)
        copy.set_base_pose(
            p.tolist() if position is None else position,
            quat if orientation is None else orientation,
        )
        _remember_as_added(copy.slot)
        return copy

    def add_body(
        self, spec: BodySpec, name: str | None, pose: GivenPose, velocity: tuple[Vector, Vector]
    ) -> Robot:
        """Add a robot with one link; see `World.add_body`."""
        with self.all_or_nothing(is_addition=True):
            name = self.free_name(name, 'body')
            description, collisions = describe_body(
                spec, name, self._simulation.registry.materials.take
            )
            return self._add(
                description,
                name,
                spec.motion == 'static',
                pose,
                collisions,
                spec.material,
                is_kinematic=spec.motion == 'kinematic',
                velocity=velocity,
            )

    def add_placed(
        self,
        description: RobotDescription,
        name: str,
        pose: GivenPose,
        collisions: Collisions,
        positions: Mapping[str, Any],
        is_kinematic: bool,
    ) -> Robot:
        """
        Add a robot with finished shapes at given joint positions, for any joint type.

        Open loops stay open until the first step. Part of adding several robots.
        """
        return self._add(
            description,
            name,
            None,
            pose,
            collisions,
            None,
            joint_positions=positions,
            is_placed=True,
            is_kinematic=is_kinematic,
        )

    def free_name(self, name: str | None, default: str) -> str:
        """Return an unused name; raise InvalidValueError if the given one is in use."""
        return new_name(name, default, self.robots, used=self.last_numbers)

    def admit(self, robot: Robot) -> None:
        """Add a robot from no world, under an unused name."""
        self._robots[robot.name] = robot
        self._simulation.registry.admit(robot.slot)

    @contextmanager
    def all_or_nothing(self, *, is_addition: bool = False) -> Iterator[None]:
        """
        Restore the world after any exception.

        is_addition: only robots without loops, and materials, are added; the cost then does not
        depend on the world's size.
        """
        count, numbers = len(self._robots), dict(self.last_numbers)
        mounted, robots = self._tree.mounted, {} if is_addition else dict(self._robots)
        try:
            if is_addition:
                with added_or_not(self._simulation):
                    yield
            else:
                loops = [robot.loop_joints for robot in robots.values()]
                with all_or_nothing(self._simulation, mounted, *mounted.values(), *loops):
                    yield
        except BaseException:
            if is_addition:
                for name in list(self._robots)[count:]:
                    del self._robots[name]
            else:
                self._robots.clear()
                self._robots.update(robots)
            self.last_numbers.clear()
            self.last_numbers.update(numbers)
            raise

    # --- removing --------------------------------------------------------------------------------

    def remove(self, robot: Robot | str) -> None:
        """Remove a robot or body, and all references to it; see `World.remove`."""
        if isinstance(robot, str):
            robot = self.robots[robot]
        if not isinstance(robot, Robot) or robot.simulation is not self._simulation:
            raise InvalidValueError('robot', robot, 'a robot or body of this world, or its name')
        with self.all_or_nothing():
            self._remove(robot)
        robot.slot.leave()
        robot.leave()

    def _remove(self, robot: Robot) -> None:
        for joint in list(self._tree.joints.values()):
            if robot in [link.robot for link in (joint.link1, joint.link2) if link is not None]:
                self._tree.remove(joint)
        self._simulation.registry.exclusions.forget_robot(robot.name)
        self._simulation.registry.materials.forget_frames(robot.name)
        self._simulation.expel(robot.slot)
        del self._robots[robot.name]

    # --- inside ----------------------------------------------------------------------------------

    def _add(
        self,
        description: RobotDescription,
        name: str,
        fixed_base: bool | None,
        pose: GivenPose,
        collisions: Collisions,
        material: Material | str | None,
        *,
        joint_positions: Mapping[str, Any] = _NOTHING,
        is_placed: bool = False,
        is_kinematic: bool = False,
        velocity: tuple[Any, Any] | None = None,
    ) -> Robot:
        """Add a robot. is_placed: whether joint_positions is for all joint types."""
        collisions = self._with_materials(collisions, material)
        blueprint = compile_robot(description, fixed_base, collisions.shapes, is_kinematic)
        slot = RobotSlot(name, description, blueprint, collisions)
        robot = Robot(self._world, self._simulation, slot)
        robot.set_base_pose(*pose)
        if velocity is not None and (not robot.fixed_base or any(map(np.any, velocity))):
            robot.set_base_velocity(*velocity)
        self.admit(robot)
        for pair in description.apart:
            self._simulation.registry.groups.set_collision(*pair, False)
        put_at_start(robot, joint_positions, of_any_type=is_placed)
        add_plugin_effects(robot)
        self._tree.add_loops_of(robot, gathers=is_placed)
        if robot.loop_joints and not is_placed:
            close_loops(robot, joint_positions)
        _remember_as_added(robot.slot)
        return robot

    def _with_materials(
        self, collisions: Collisions, material: Material | str | None
    ) -> Collisions:
        """Return collisions in which every shape names its material; register the materials."""
        materials = self._simulation.registry.materials
        default = materials.take(material).name
        shapes = []
        for shape in collisions.shapes:
            own = shape.placed.material
            name = default if own is None else materials.take(own).name
            shapes.append(shape._replace(placed=shape.placed.of_material(name)))
        return replace(collisions, shapes=tuple(shapes))

    def _warn_of_materials(self, description: RobotDescription, findings: Findings) -> None:
        """Warn about materials that links name and the world does not have."""
        for link in description.links.values():
            if (
                link.material
                and link.collisions
                and (link.material not in self._simulation.registry.materials)
            ):
                findings.warning(
                    'unknown-material',
                    Place('link', link.name, link.line),
                    'the world has no such material: add it to world.materials before the robot',
                    'material',
                    link.material,
                )

    def _with_own_material(self, shape: LinkShape) -> LinkShape:
        """Rename a shape's material, read from a file, to a name unused in this world."""
        own: Any = shape.placed.material
        if own is None:
            return shape
        if isinstance(own, str):
            # a warning for unknown names was given before
            known = own if own in self._simulation.registry.materials else None
            return shape._replace(placed=replace(shape.placed, material=known))
        material = self._simulation.registry.materials.under_free_name(own)
        return shape._replace(placed=replace(shape.placed, material=material))


def _remember_as_added(slot: RobotSlot) -> None:
    slot.remember()
    slot.added = slot.initial
