"""Adding OpenPLX scenes to a world, and access to their parts by OpenPLX path."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.compilation.collisions import Collisions, LinkShape
from sim_bridge.description.gravity import Gravity, PointGravity
from sim_bridge.description.mechanism.base import FILE
from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.mapping.joints import DIRECTIONS
from sim_bridge.description.openplx.mapping.records import (
    AxisSettings,
    BodyMotion,
    MappedRobot,
    MappedScene,
)
from sim_bridge.description.report import Findings, Place, SceneError
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.engine.data.state import State
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.foundation.validation import checked_pose, GivenPose
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.spec import spec_of
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.material import Material
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.dynamics import jacobian, mass_matrix
from sim_bridge.world.robot_registry import CollisionOptions, RobotRegistry
from sim_bridge.world.signals import Input, inputs_of, Output, outputs_of
from sim_bridge.world.spanning_tree import SpanningTree
from sim_bridge.world.switches import ENABLE, Switch


@dataclass(frozen=True, eq=False)
class SceneRecord:
    """
    A scene in a world, as plain data.

    pose: the scene's world frame in the world. robots: names in the world, in the order in the
    description. cross_joints: names, in the world, of joints between robots, by their names
    in the scene.
    """

    name: str
    description: MappedScene
    pose: Pose
    robots: tuple[str, ...]
    cross_joints: Mapping[str, str]


class OpenPlxScene(DeclaredAttributes):
    """Scene added by `World.load_openplx`: robots, links, joints and axes by OpenPLX path."""

    __slots__ = ('_world', 'record')
    internal_names = DeclaredAttributes.internal_names | {
        'record',
        'settings',
        'disable',
        'simulation',
    }

    def __init__(self, world: World, record: SceneRecord):
        """Make the view of a scene in a world."""
        self._world = world
        self.record = record

    def __repr__(self) -> str:
        """Show the scene's name and its robots' names."""
        return f'<OpenPlxScene {self.name!r}: {", ".join(self.record.robots) or "nothing"}>'

    @property
    def name(self) -> str:
        """Name in the world."""
        return self.record.name

    @property
    def simulation(self) -> Simulation:
        """The world's simulation."""
        return self._world.simulation

    @property
    def description(self) -> MappedScene:
        """Description: robots, materials, signals, SNAP's trace, report with warnings."""
        return self.record.description

    @property
    def inputs(self) -> Mapping[str, Input]:
        """Inputs by name: path, or name in a SignalInterface, with / instead of dots."""
        return inputs_of(self, self.description.signals)

    @property
    def outputs(self) -> Mapping[str, Output]:
        """Outputs by name, including disabled outputs, which are not sent."""
        return outputs_of(self, self.description.signals)

    @property
    def robots(self) -> tuple[Robot, ...]:
        """The scene's robots and bodies still in the world."""
        return tuple(
            self._world.robots[name] for name in self.record.robots if name in self._world.robots
        )

    @property
    def is_whole(self) -> bool:
        """Whether all robots and bodies of the scene are still in the world."""
        return all(name in self._world.robots for name in self.record.robots)

    def link(self, path: str) -> Link:
        """Return a body's link by its path; raise UnknownNameError otherwise."""
        return self._found(
            'body',
            path,
            self.description.links,
            lambda robot: {link.name: link for link in robot.links},
        )

    def joint(self, path: str) -> Joint | ConstraintJoint:
        """Return a mate's joint by its path; raise UnknownNameError otherwise."""
        names = self.description.joints
        self._check_path('mate', path)
        key = self.record.cross_joints.get(names.get(path, ''))
        if key is not None:
            return self._world.joint(key)
        return self._found(
            'mate',
            path,
            names,
            lambda robot: {**{joint.name: joint for joint in robot.joints}, **robot.loop_joints},
        )

    def parts(self, path: str) -> list[Joint | ConstraintJoint]:
        """Return a mate's joint, and its play joints; raise UnknownNameError otherwise."""
        known = self.description.joints
        play = (f'{path}.{direction}' for direction in DIRECTIONS)
        return [self.joint(path), *(self.joint(each) for each in play if each in known)]

    def axis(self, path: str) -> tuple[Axis, float, float]:
        """
        Return an interaction's axis, a sign and an offset [rad or m].

        The interaction's coordinate is sign * (q - offset), its effort sign * the axis effort.
        Raises UnknownNameError for an unknown path.
        """
        known = self.description.interactions
        self._check_path('interaction', path)
        if path not in known:
            raise UnknownNameError('interaction', path, known, f'scene {self.name!r}')
        own = known[path]
        mates = {name: mate for mate, name in self.description.joints.items()}
        return self.joint(mates[own.joint]).axes[own.number], own.sign, own.offset

    def settings(self, path: str) -> AxisSettings:
        """Return the file's settings for an interaction's axis; see `axis`."""
        own = self.description.interactions[path]
        for joint, axes in self._described():
            if joint == own.joint:
                return axes[own.number]
        return AxisSettings()

    def urdf(self, robot: str, mesh_folder: Path | None = None) -> str:
        """
        Return the URDF for one robot in the scene by name; '' for other robots.

        mesh_folder: folder for triangles as STL files; None leaves the meshes out.
        """
        self._check_robot(robot)
        for name, mapped in zip(self.record.robots, self.description.robots, strict=True):
            if name == robot:
                return urdf_of(mapped, mesh_folder)
        return ''

    def place(self, pose: Pose) -> Pose:
        """Return a frame in the scene's world as a frame in the world."""
        if not isinstance(pose, Pose):
            raise InvalidValueError('pose', pose, 'a Pose', f'scene {self.name!r}')
        return self.record.pose @ pose

    def restart(self, robot: str | None = None) -> None:
        """Reset motor targets and efforts to the file's; robot: only this one, None for all."""
        if robot is not None:
            self._check_robot(robot)
        with all_or_nothing(self.simulation):
            self._restart(robot)

    def _restart(self, robot: str | None) -> None:
        for joint, axes in self._driven(robot):
            for axis, settings in zip(joint.axes, axes, strict=True):
                _command(axis, settings)
        distances = self._distances(robot)
        for signal in self.description.signals:
            own = self.description.interactions.get(signal.source)
            name = self.description.joints.get(signal.source) if own is None else own.joint
            if name not in distances:
                continue
            with suppress(UnknownNameError):
                if signal.kind == ENABLE:
                    self._switch(signal.source, signal.model).restart(
                        signal.source not in self.description.disabled
                    )
                elif signal.is_input and signal.model == 'Distance' and (size := distances[name]):
                    joint = self.joint(signal.source)
                    assert isinstance(joint, ConstraintJoint)
                    joint.distance = size

    def disable(self) -> None:
        """Disable the interactions that the file disables."""
        with all_or_nothing(self.simulation):
            for path, model in self.description.disabled.items():
                self._switch(path, model).restart(False)

    def _switch(self, path: str, model: str) -> Switch:
        return Switch(self, path, model)

    def _distances(self, only: str | None) -> dict[str, float | None]:
        """Return joint distances in the file by joint name; only: name of the only robot."""
        found: dict[str, float | None] = {}
        for name, mapped in zip(self.record.robots, self.description.robots, strict=True):
            if only in (None, name):
                found.update(dict.fromkeys(mapped.axes))
                found.update((one.name, one.distance) for one in mapped.description.constraints)
        for cross in self.description.cross_joints if only is None else ():
            found[cross.constraint.name] = cross.constraint.distance
        return found

    def _described(self) -> Iterable[tuple[str, tuple[AxisSettings, ...]]]:
        """Yield joint names, and the settings of their axes."""
        for mapped in self.description.robots:
            yield from mapped.axes.items()
        for cross in self.description.cross_joints:
            yield cross.constraint.name, cross.axes

    def _driven(self, only: str | None) -> Iterable[tuple[Any, tuple[AxisSettings, ...]]]:
        """Yield joints and their axis settings; only: name of the only robot, None for all."""
        for name, mapped in zip(self.record.robots, self.description.robots, strict=True):
            if name in self._world.robots and only in (None, name):
                robot = self._world.robots[name]
                for key, axes in mapped.axes.items():
                    if axes:
                        yield robot.joint(key), axes
        for cross in self.description.cross_joints if only is None else ():
            with suppress(UnknownNameError):
                # removing either robot removes the joint
                joint = self._world.joint(self.record.cross_joints[cross.constraint.name])
                yield joint, cross.axes

    def _check_robot(self, name: object) -> None:
        if not isinstance(name, str):
            raise InvalidValueError('robot', name, 'name of a robot', f'scene {self.name!r}')

    def _check_path(self, kind: str, path: object) -> None:
        if not isinstance(path, str):
            expected = f'{kind} path, a text'
            raise InvalidValueError('path', path, expected, f'scene {self.name!r}')

    def _found(self, kind: str, path: str, names: Mapping[str, str], parts: Any) -> Any:
        self._check_path(kind, path)
        for robot in self.robots if path in names else ():
            own = parts(robot)
            if names[path] in own:
                return own[names[path]]
        present = [
            known
            for known, name in names.items()
            if any(name in parts(robot) for robot in self.robots)
        ]
        raise UnknownNameError(kind, path, present, f'scene {self.name!r}')


class SceneLoader:
    """Adds a scene's robots and joints to a world."""

    def __init__(
        self, world: World, simulation: Simulation, registry: RobotRegistry, tree: SpanningTree
    ):
        """Prepare to add scenes to a world."""
        self._world, self._simulation = world, simulation
        self._registry, self._tree = registry, tree

    def add(
        self, scene: MappedScene, name: str | None, pose: GivenPose, taken: Container[str]
    ) -> OpenPlxScene:
        """
        Add a whole scene, or nothing after an error; see `World.load_openplx`.

        taken: names of the world's other scenes.
        """
        position, orientation = checked_pose(*pose, 'load_openplx')
        at = Pose(position, matrix_from_quaternion(orientation))
        if name is not None and name in taken:
            raise InvalidValueError('name', name, 'a name of no other scene in this world')
        own = name or scene.name
        number = 1
        while own in taken:
            number += 1
            own = f'{name or scene.name}_{number}'
        try:
            with self._registry.all_or_nothing():
                record = self._add(scene, own, name, at)
        except SceneError:
            raise
        except SimBridgeError as err:
            raise _refused(scene, own, err) from err
        return OpenPlxScene(self._world, record)

    def _add(self, scene: MappedScene, own: str, name: str | None, at: Pose) -> SceneRecord:
        simulation = self._simulation
        materials = {
            each.name: simulation.registry.materials.under_free_name(each)
            for each in scene.materials
        }
        for material in materials.values():
            simulation.registry.materials.add(material)
        robots: list[Robot] = []
        for mapped in scene.robots:
            robots.append(
                self._add_robot(
                    scene, mapped, own, robot_name(scene, mapped, own, name), at, materials
                )
            )
        links = {
            link.name: link
            for robot in robots
            for link in robot.links
            if link.name in scene.links.values()
        }
        keys: dict[str, str] = {}
        for cross in scene.cross_joints:
            described = cross.constraint
            key = self._tree.free_name(None, f'{own}/{described.name}')
            spec = spec_of(replace(described, name=key), links)
            joint = self._tree.constrain(key, replace(spec, gathers=True))
            keys[described.name] = key
            for axis, settings in zip(joint.axes, cross.axes, strict=True):
                _set(axis, settings, simulation.run.time_step)
            if cross.separates and joint.link1 is not None and joint.link2 is not None:
                simulation.registry.separate(joint.link1.slot, joint.link2.slot)
        for one, other, law in scene.contact_materials:
            simulation.registry.materials.set_contact_material(
                materials[one], materials[other], law
            )
        for a, b in scene.apart:
            simulation.registry.groups.set_collision(f'{own}/{a}', f'{own}/{b}', False)
        if scene.gravity is not None:
            simulation.set_gravity(_placed(scene.gravity, at))
        record = SceneRecord(own, scene, at, tuple(robot.name for robot in robots), keys)
        OpenPlxScene(self._world, record).disable()
        for robot, mapped in zip(robots, scene.robots, strict=True):
            _set_velocities(robot, mapped, at.rotation)
            robot.remember()
            robot.slot.added = robot.slot.initial
        return record

    def _add_robot(
        self,
        scene: MappedScene,
        mapped: MappedRobot,
        own: str,
        name: str,
        at: Pose,
        materials: Mapping[str, Material],
    ) -> Robot:
        place = at @ mapped.pose
        pose = place.position.tolist(), quaternion_from_matrix(place.rotation).tolist()
        registry, description = self._registry, mapped.description
        try:
            if description.xml:
                return registry.add_robot(
                    description, registry.free_name(None, name), FILE, pose, {}, CollisionOptions()
                )
            shapes = tuple(
                LinkShape(
                    link,
                    replace(
                        placed,
                        groups=frozenset(f'{own}/{group}' for group in placed.groups),
                        material=None
                        if placed.material is None
                        else materials[str(placed.material)],
                    ),
                )
                for link, placed in mapped.shapes
            )
            robot = registry.add_placed(
                replace(description, report=scene.report),
                registry.free_name(None, name),
                pose,
                Collisions(shapes, separated=mapped.apart),
                mapped.positions,
                mapped.is_kinematic,
            )
        except SimBridgeError as err:
            raise _refused(scene, name, err) from err
        for joint, axes in mapped.axes.items():
            for axis, settings in zip(robot.joint(joint).axes if axes else (), axes, strict=True):
                _set(axis, settings, self._simulation.run.time_step)
        return robot


def _refused(scene: MappedScene, name: str, err: SimBridgeError) -> SceneError:
    """Return an error found while adding to a world, together with the scene's warnings."""
    findings = Findings()
    findings.error('bad-value', Place('robot', name), str(err))
    report = findings.report(scene.report.source)
    return SceneError(replace(report, findings=(*scene.report.findings, *report.findings)))


def urdf_of(mapped: MappedRobot, mesh_folder: Path | None = None) -> str:
    """Return a robot's URDF: the one it was imported from, otherwise a new one."""
    return mapped.description.xml or urdf_text(mapped.description, mapped.shapes, mesh_folder)


def robot_name(scene: MappedScene, mapped: MappedRobot, own: str, name: str | None) -> str:
    """Return a robot's wanted name: the scene's name, or its OpenPLX system's."""
    if len(scene.robots) == 1 or not mapped.label:
        return own
    label = mapped.label.replace('.', '_')
    return label if name is None else f'{name}_{label}'


def _placed(gravity: Gravity, at: Pose) -> Gravity:
    """Return gravity with its centre in the world; uniform gravity is in world axes already."""
    if not isinstance(gravity, PointGravity):
        return gravity
    center = at.position + at.rotation @ np.array(gravity.center)
    return replace(gravity, center=tuple(center.tolist()))


def _set(axis: Axis, settings: AxisSettings, time_step: float) -> None:
    """Set all parameters and commands of an axis."""
    limits, dynamics = settings.limits, settings.dynamics
    axis.lower, axis.upper = limits.lower, limits.upper
    axis.damping = dynamics.damping
    axis.friction, axis.back_friction = dynamics.frictions
    if dynamics.bearing > 0.0:
        axis.bearing_friction = dynamics.bearing
    axis.stiffness = dynamics.stiffness
    if settings.stop is not None:
        # ERP and CFM for a spring and a damper, as in ODE's manual, 3.8.2
        stiffness, damping = settings.stop
        axis.stop_cfm = 1.0 / (time_step * stiffness + damping)
        axis.stop_erp = time_step * stiffness * axis.stop_cfm
    if abs(settings.begin) > math.pi and isinstance(axis.backend, ConstraintJointBackend):
        axis.backend.begin_turned(axis.number, settings.begin)
    _command(axis, settings)


def _command(axis: Axis, settings: AxisSettings) -> None:
    """Set values that inputs may change: targets, effort and its limits, spring rest position."""
    axis.reference = settings.dynamics.reference
    for motor in settings.motors:
        axis.control = 'servo'
        axis.max_effort, axis.min_effort = motor.upper, motor.lower
        axis.kp, axis.kd = motor.kp, motor.kd
        if not math.isnan(motor.target_position):
            axis.target_position = motor.target_position
        axis.target_velocity = motor.target_velocity
    axis.u = settings.effort


def _set_velocities(robot: Robot, mapped: MappedRobot, turn: np.ndarray) -> None:
    """
    Set the allowed joint velocities nearest to the bodies' velocities.

    Nearest in kinetic energy: the same result as an impact between the bodies and the joints.
    """
    if not any(each.linear.any() or each.angular.any() for each in mapped.motions.values()):
        return
    count = len(robot.slot.blueprint.model.q_of_v)
    prescribed = 6 if mapped.is_kinematic else 0
    if prescribed:
        link = robot.root_link
        motion = mapped.motions[link.name]
        w = turn @ motion.angular
        arm = link.R @ link.slot.center
        robot.set_base_velocity(turn @ motion.linear - np.cross(w, arm), w)
    momentum = np.zeros(count)
    for name, motion in mapped.motions.items():
        momentum += _momentum(robot, robot.link(name), motion, turn)
    inertia = mass_matrix(robot)
    # look up last: reading the links may join the robots' arrays
    part = robot.slot.part
    velocity = part.state.v[part.at.v : part.at.v + count]
    free = slice(prescribed, None)
    if inertia[free, free].size:
        rates = np.linalg.solve(
            inertia[free, free],
            momentum[free] - inertia[free, :prescribed] @ velocity[:prescribed],
        )
        robot.simulation.staleness.write_view(State, 'v', velocity, free, rates)
    robot.simulation.staleness.mark_parameters()


def _momentum(robot: Robot, link: Link, motion: BodyMotion, turn: np.ndarray) -> np.ndarray:
    """Return a link's generalized momentum share (nv,) at a velocity."""
    slot, R = link.slot, link.R
    of_link = jacobian(robot, link)
    arm = R @ slot.center
    linear = of_link[:3] + np.cross(of_link[3:], arm, axisa=0, axisc=0)
    inertia = R @ slot.inertia @ R.T
    momentum: np.ndarray = slot.mass * linear.T @ (turn @ motion.linear) + of_link[3:].T @ (
        inertia @ turn @ motion.angular
    )
    return momentum
