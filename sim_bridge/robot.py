"""A robot in a world: its coordinates, links, joints and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sim_bridge.assembly import copy_part, own_part, Part
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.description.rotation import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_vector,
)
from sim_bridge.devices import make_device
from sim_bridge.engine import model as engine
from sim_bridge.engine.contact.sleep import ASLEEP
from sim_bridge.errors import InvalidValueError, UnknownNameError
from sim_bridge.geometry import Geometry
from sim_bridge.joint import Joint
from sim_bridge.link import Link
from sim_bridge.self_collision import excluded_bodies
from sim_bridge.sensors.devices import Device, ImuSensor
from sim_bridge.values import finite_vector, positive_number, real_array, unit_quaternion

if TYPE_CHECKING:
    from sim_bridge.description.collisions import Collisions
    from sim_bridge.description.compile import Blueprint
    from sim_bridge.description.exclusions import Pairs
    from sim_bridge.engine.collision import geometry as collision
    from sim_bridge.engine.join import Offsets
    from sim_bridge.world import World

_Kind = TypeVar('_Kind', bound=Device)


class Robot:
    """
    A body of links, after Choreonoid's Body.

    q, dq, u and ddq are arrays over `joint_names`, the one-axis joints in the order of the
    description [rad or m; N m or N]. q, dq and u are views of the simulation's own state: writing
    them changes it. They stay valid until another robot is added to the world.
    """

    def __init__(
        self, world: World, name: str, description: RobotDescription, blueprint: Blueprint,
        collisions: Collisions,
    ):
        """Belong to a world; World makes robots."""
        self.world = world
        self.name = name
        self.description = description
        self.blueprint = blueprint
        self._collisions = collisions
        self.joint_names = list(blueprint.joint_names)
        self.part: Part
        self.initial: Part
        self.added: Part
        self.first_site = self.first_geometry = 0
        self.known_geometry: collision.Geometry | None = None
        self._links = {
            key: Link(self, link, blueprint.links[key]) for key, link in description.links.items()
        }
        self._joints: dict[str, Joint] = {}
        for joint_description in description.joints.values():
            parent = self._links[joint_description.parent]
            child = self._links[joint_description.child]
            joint = Joint(self, joint_description, parent, child)
            self._joints[joint.name] = joint
            child.parent, child.joint = parent, joint
            parent.children.append(child)
        self._devices = {sensor.name: make_device(self, sensor) for sensor in description.sensors}
        self._site_of = {key: number for number, key in enumerate(self._links)}
        self.geometries: list[Geometry] = []
        for number, shape in enumerate(blueprint.shapes):
            link = self._links[shape.link]
            name = shape.placed.name or f'{link.name}_collision_{len(link.geometries)}'
            link.geometries.append(Geometry(link, name, shape, number))
            self.geometries.append(link.geometries[-1])
        self.bind(own_part(blueprint.model))

    def __repr__(self) -> str:
        """Show the size."""
        links, joints = len(self._links), len(self.joint_names)
        return f'<Robot {self.name!r}: {links} links, {joints} one-axis joints>'

    # --- coordinates -----------------------------------------------------------------------------

    @property
    def q(self) -> np.ndarray:
        """Positions; a view to read and write."""
        self.world.settle()
        return self._q

    @q.setter
    def q(self, value: np.ndarray) -> None:
        self._assign('q', self._q, value)

    @property
    def dq(self) -> np.ndarray:
        """Velocities; a view to read and write."""
        self.world.settle()
        return self._dq

    @dq.setter
    def dq(self, value: np.ndarray) -> None:
        self._assign('dq', self._dq, value)

    @property
    def u(self) -> np.ndarray:
        """Applied efforts, kept until changed and clamped by steps; a view to read and write."""
        self.world.settle()
        return self._u

    @u.setter
    def u(self, value: np.ndarray) -> None:
        self._assign('u', self._u, value)

    @property
    def ddq(self) -> np.ndarray:
        """Accelerations at the present state under the present efforts; a copy."""
        return self.world.observed_accelerations()[self._one_axis].copy()

    @property
    def lower(self) -> np.ndarray:
        """Lower position limits, -inf where there is none; a copy."""
        return self.part.model.limits[self._one_axis, engine.LOWER].copy()

    @property
    def upper(self) -> np.ndarray:
        """Upper position limits, inf where there is none; a copy."""
        return self.part.model.limits[self._one_axis, engine.UPPER].copy()

    @property
    def effort_limits(self) -> np.ndarray:
        """Effort limits, inf where there is none; a copy."""
        return self.part.model.limits[self._one_axis, engine.EFFORT].copy()

    @property
    def velocity_limits(self) -> np.ndarray:
        """Velocity limits as described, inf where there is none; not enforced."""
        return np.array([self._joints[name].velocity_limit for name in self.joint_names])

    def command_effort(self, values: Sequence[float], joints: Sequence[str] | None = None) -> None:
        """
        Set efforts after checking them; where anything is wrong nothing is set.

        values: N m or N, one for each of `joints`, or of all `joint_names`. Raises
        UnknownNameError for a joint that is not there, and InvalidValueError for a wrong number of
        values or one that is not finite.
        """
        names = self.joint_names if joints is None else list(joints)
        efforts = real_array(
            'efforts', values, 'numbers [N m or N]', f'robot {self.name!r}')
        if efforts.shape != (len(names),):
            raise InvalidValueError(
                'number of efforts', efforts.size,
                f'{len(names)}, one for each of {", ".join(names)}', f'robot {self.name!r}')
        for joint, effort in zip(names, efforts, strict=True):
            if joint not in self._index:
                raise UnknownNameError('joint', joint, self.joint_names, f'robot {self.name!r}')
            if not np.isfinite(effort):
                raise InvalidValueError(
                    'effort', float(effort),
                    'a finite number [N m or N]', f'robot {self.name!r}, joint {joint!r}')
        self._u[[self._index[joint] for joint in names]] = efforts

    # --- base ------------------------------------------------------------------------------------

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is welded to the world."""
        return self.blueprint.fixed_base

    def set_base_pose(
        self, position: Sequence[float], orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    ) -> None:
        """
        Put the root link's frame somewhere in the world.

        position: m. orientation: quaternion x y z w, normalised here. Raises InvalidValueError for
        anything else.
        """
        p = self._finite('position', position, 3)
        quat = unit_quaternion(orientation, f'robot {self.name!r}')
        if not self._links:
            return
        model, state, at = self.part
        if self.fixed_base:
            rotation = matrix_from_quaternion(quat)
            model.frame[at.body] = [*rotation.ravel(), *p]
        else:
            state.q[at.q : at.q + 7] = [*p, *quat]
        # wakes what lay on it, too
        self.world.invalidate()

    def set_base_velocity(
        self, linear: Sequence[float], angular: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> None:
        """
        Set the velocity of the root link.

        linear: of its origin [m/s]. angular: [rad/s]. Both in world axes. Raises InvalidValueError
        for a fixed base or values that are not finite.
        """
        v = self._finite('linear velocity', linear, 3)
        w = self._finite('angular velocity', angular, 3)
        if self.fixed_base:
            raise InvalidValueError(
                'base velocity', (*v.tolist(), *w.tolist()), 'a robot with a free base',
                f'robot {self.name!r}')
        _, state, at = self.part
        state.v[at.v : at.v + 6] = [*v, *w]

    @property
    def motion(self) -> str:
        """What moves the base: 'dynamic', forces; 'static', nothing; 'kinematic', `move_to`."""
        if self.fixed_base:
            return 'static'
        return 'kinematic' if self.blueprint.model.kind[0] == engine.KINEMATIC else 'dynamic'

    def move_to(
        self,
        position: Sequence[float],
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        dt: float | None = None,
    ) -> None:
        """
        Let a kinematic body move so that it is at a pose after `dt` seconds.

        It moves there at a steady velocity and turns about a fixed axis, the shorter way, and goes
        on like that until it is told otherwise. dt: the time step if None. Raises
        InvalidValueError for another body than a kinematic one, or values that are no pose.
        """
        if self.motion != 'kinematic':
            raise InvalidValueError(
                'motion', self.motion, "'kinematic', for what is moved", f'robot {self.name!r}')
        p = self._finite('position', position, 3)
        quat = unit_quaternion(orientation, f'robot {self.name!r}')
        dt = self.world.time_step if dt is None else positive_number(
            'dt', dt, 'a positive number [s]', f'robot {self.name!r}')
        _, state, at = self.part
        now = state.q[at.q : at.q + 7]
        turn = matrix_from_quaternion(quat) @ matrix_from_quaternion(now[3:]).T
        self.set_base_velocity((p - now[:3]) / dt, rotation_vector(turn) / dt)

    @property
    def hold(self) -> bool:
        """Whether all one-axis joints are locked in place, whatever it takes; to be set."""
        return bool(self.part.state.hold[self._own_one_axis].any())

    @hold.setter
    def hold(self, value: bool) -> None:
        self.part.state.hold[self._own_one_axis] = int(bool(value))
        self.world.invalidate()

    @property
    def is_asleep(self) -> bool:
        """Whether it rests and is not simulated (`World(sleep=True)`); writing to it wakes it."""
        own, (_, state, at) = self.blueprint.model, self.part
        trees = own.root[own.kind != engine.GROUND]
        return len(trees) > 0 and bool((state.idle[at.body + trees] == ASLEEP).all())

    # --- parts -----------------------------------------------------------------------------------

    @property
    def links(self) -> list[Link]:
        """All links in the order of the description."""
        return list(self._links.values())

    @property
    def joints(self) -> list[Joint]:
        """All joints, fixed ones too, in the order of the description."""
        return list(self._joints.values())

    @property
    def root_link(self) -> Link:
        """The link that is no joint's child; UnknownNameError for a robot without links."""
        return self.link(self.description.root)

    def link(self, name: str) -> Link:
        """Give a link by name; raises UnknownNameError."""
        return self._part('link', self._links, name)

    def joint(self, name: str) -> Joint:
        """Give a joint of any type by name; raises UnknownNameError."""
        return self._part('joint', self._joints, name)

    def device(self, name: str) -> Device:
        """Give a device by name; raises UnknownNameError."""
        return self._part('sensor', self._devices, name)

    def devices(self, kind: type[_Kind] = Device) -> list[_Kind]:
        """
        Give the devices of a class, in the order of the description.

        Where a class is given, an IMU's gyro and accelerometer count as devices too.
        """
        every: list[Device] = []
        for device in self._devices.values():
            every.append(device)
            if isinstance(device, ImuSensor):
                every += [device.gyro, device.accelerometer]
        if kind is Device:
            return list(self._devices.values())
        return [device for device in every if isinstance(device, kind)]

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return float(sum(link.m for link in self._links.values()))

    @property
    def center_of_mass(self) -> np.ndarray:
        """(3,) centre of mass of all links [m], world; the root's origin if there is no mass."""
        moment = sum(link.m * link.wc for link in self._links.values())
        return moment / self.mass if self.mass > 0.0 else self.root_link.p

    # --- for Link, Joint, World and dynamics -----------------------------------------------------

    def bind(self, part: Part) -> None:
        """Take new places for the robot's numbers."""
        self.part = part
        start = part.at.v + self.blueprint.first_v
        self._one_axis = slice(start, start + len(self.joint_names))
        self._own_one_axis = np.array(
            [start + k for k, name in enumerate(self.joint_names)
             if self._joints[name].mimic is None], dtype=np.int64)
        start_q = part.at.q + (0 if self.fixed_base else 7)
        self._q = part.state.q[start_q : start_q + len(self.joint_names)]
        self._dq, self._u = part.state.v[self._one_axis], part.state.u[self._one_axis]
        self._index = {name: k for k, name in enumerate(self.joint_names)}

    @property
    def offsets(self) -> Offsets:
        """Where the robot's bodies and coordinates begin in the world's model."""
        self.world.settle()
        return self.part.at

    @cached_property
    def excluded(self) -> Pairs:
        """Which pairs of the robot's bodies never touch, by the state that it was added in."""
        return excluded_bodies(self, self._collisions)

    def remember(self) -> None:
        """Make the present state the one that `World.reset` goes back to."""
        self.initial = copy_part(self.part, self.blueprint.model)

    def initialize(self, joint_positions: Mapping[str, float]) -> None:
        """
        Write the initial state: at rest, every joint at 0 or at the stop nearest to it.

        joint_positions: where one-axis joints are instead [rad or m]. Raises UnknownNameError for
        others, InvalidValueError for what is no position.
        """
        for name in joint_positions:
            if name not in self._index:
                raise UnknownNameError(
                    'one-axis joint', name, self.joint_names, f'robot {self.name!r}')
        for name in self.joint_names:
            joint = self._joints[name]
            row = joint.parameter_row('limits')
            if row[engine.LOWER] <= row[engine.UPPER]:
                joint.q = min(max(0.0, row[engine.LOWER]), row[engine.UPPER])
            if name in joint_positions:
                joint.q = joint_positions[name]
        for name in self.joint_names:
            law = self._joints[name].mimic
            if law is not None:
                self._joints[name].q = law.multiplier * self._joints[law.joint].q + law.offset
        for joint in self._joints.values():
            if joint.type is JointType.FLOATING:
                parent, origin = joint.parent_link, joint.description.origin
                position = parent.p + parent.R @ origin.position
                rotation = parent.R @ origin.rotation
                joint.q = [*position, *quaternion_from_matrix(rotation)]

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        self.world.invalidate()

    def site(self, link: Link) -> np.ndarray:
        """Give a link's row of `engine.observe` at the present state."""
        return self.world.observed_sites()[self.first_site + self._site_of[link.name]]

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point and a torque to a body, for the next step call."""
        self.world.add_wrench(self.offsets.body + body, force, torque, point)

    def joint_positions(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's position coordinates."""
        self._settle_for(joint)
        at = self.part.at.q + self.blueprint.joint_q.get(joint.name, 0)
        return self.part.state.q[at : at + joint.coordinates[0]]

    def joint_velocities(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's velocity coordinates."""
        self._settle_for(joint)
        return self.part.state.v[self._velocity_slice(joint)]

    def joint_efforts(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's efforts."""
        self._settle_for(joint)
        return self.part.state.u[self._velocity_slice(joint)]

    def joint_accelerations(self, joint: Joint) -> np.ndarray:
        """Give a joint's accelerations at the present state."""
        return self.world.observed_accelerations()[self._velocity_slice(joint)]

    def parameter_row(self, array: str, joint: Joint) -> np.ndarray:
        """Give a one-axis joint's row of a model array."""
        rows = getattr(self.part.model, array)
        return rows[self.part.at.v + self.blueprint.joint_v[joint.name]]

    def joint_body(self, joint: Joint) -> int | None:
        """Give the number of the body that hangs on a joint, None if the joint is merged away."""
        body = self.blueprint.joint_body.get(joint.name)
        return None if body is None else self.offsets.body + body

    def _settle_for(self, joint: Joint) -> None:
        """Of several coordinates users get views, which are to stay valid."""
        if joint.coordinates[1] > 1:
            self.world.settle()

    def _velocity_slice(self, joint: Joint) -> slice:
        at = self.part.at.v + self.blueprint.joint_v.get(joint.name, 0)
        return slice(at, at + joint.coordinates[1])

    def _part(self, kind: str, parts: dict, name: str):
        if name not in parts:
            raise UnknownNameError(kind, name, parts, f'robot {self.name!r}')
        return parts[name]

    def _assign(self, what: str, view: np.ndarray, value: object) -> None:
        array = real_array(
            what, value, f'numbers, one for each of {len(view)} joints', f'robot {self.name!r}')
        if array.shape not in ((), view.shape):
            raise InvalidValueError(
                f'shape of {what}', array.shape,
                f'{view.shape}, one for each joint', f'robot {self.name!r}')
        view[:] = array

    def _finite(self, what: str, value: object, size: int) -> np.ndarray:
        return finite_vector(what, value, size, f'robot {self.name!r}')
