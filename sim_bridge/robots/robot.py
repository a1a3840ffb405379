"""A robot in a world: its coordinates, links, joints and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NoReturn, TYPE_CHECKING, TypeVar

import numpy as np

from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.engine.contact.sleep import ASLEEP
from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector, real_array, truth, unit_quaternion
from sim_bridge.robots.body_type import MotionControl
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.devices import make_device
from sim_bridge.robots.geometry import Geometry, GeometrySettings
from sim_bridge.robots.joint_commands import JointCommands
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.tree import TreeSeat
from sim_bridge.robots.link import Link
from sim_bridge.robots.self_collision import excluded_bodies
from sim_bridge.sensors.devices import Device, ImuSensor
from sim_bridge.simulation.assembly import copy_part, move_over, own_part, Part

if TYPE_CHECKING:
    from sim_bridge.compilation.collisions import Collisions
    from sim_bridge.compilation.compile import Blueprint
    from sim_bridge.compilation.exclusions import Pairs
    from sim_bridge.engine.pipeline.join import Offsets
    from sim_bridge.world.world import World

_Kind = TypeVar('_Kind', bound=Device)

# what `leave` takes away: the world, and the robot's places in its arrays
_OF_WORLD = ('world', 'part', '_q', '_dq', '_u', '_target', '_control', '_motor')


class Robot(MotionControl, JointCommands):
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
        self.collisions = collisions
        self.number = 0
        """Which of all that were ever added to the world it is, from 1."""
        self.joint_names = list(blueprint.joint_names)
        self.part: Part
        self.initial: Part
        self.added: Part
        self.carrier: Link | None = None
        """The link that its base hangs on by a joint; None where it does not, or in the world."""
        self.loop_joints: dict[str, ConstraintJoint] = {}
        """The joints that close its loops, by name; also `joint` gives them."""
        self.first_site = self.first_geometry = 0
        self.known_geometry: GeometrySettings | None = None
        self._links = {
            key: Link(self, link, blueprint.links[key]) for key, link in description.links.items()
        }
        self._joints: dict[str, Joint] = {}
        for joint_description in description.joints.values():
            parent = self._links[joint_description.parent]
            child = self._links[joint_description.child]
            joint = Joint(TreeSeat(self, joint_description, parent, child))
            self._joints[joint.name] = joint
            child.parent, child.joint = parent, joint
            parent.children.append(child)
        self._devices = {sensor.name: make_device(self, sensor) for sensor in description.sensors}
        self._crawlers = {
            each.name: Crawler(self._links[each.link], each) for each in description.crawlers}
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
        """Velocity limits, inf where there is none, which position control keeps to; a copy."""
        return self.part.model.limits[self._one_axis, engine.VELOCITY].copy()

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
        if self.blueprint.mount is not None:
            raise InvalidValueError(
                'base pose', (*p.tolist(), *quat.tolist()),
                f'a robot that does not hang on joint {self.blueprint.mount.joint.name!r}',
                f'robot {self.name!r}')
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
        if self.fixed_base or self.blueprint.mount is not None:
            raise InvalidValueError(
                'base velocity', (*v.tolist(), *w.tolist()), 'a robot with a free base',
                f'robot {self.name!r}')
        _, state, at = self.part
        state.v[at.v : at.v + 6] = [*v, *w]

    @property
    def hold(self) -> bool:
        """Whether joints, but floating ones, are locked in place, whatever it takes; to be set."""
        return bool(self.part.state.hold[self._holdable()].any())

    @hold.setter
    def hold(self, value: bool) -> None:
        self.part.state.hold[self._holdable()] = truth('hold', value, f'robot {self.name!r}')
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
        """Return a link by name; raises UnknownNameError."""
        return self._part('link', self._links, name)

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint of any type by name, of a loop too; raises UnknownNameError."""
        if name in self.loop_joints:
            return self.loop_joints[name]
        return self._part('joint', self._joints, name)

    @property
    def crawlers(self) -> tuple[Crawler, ...]:
        """All continuous tracks, in the order of the description."""
        return tuple(self._crawlers.values())

    def crawler(self, name: str) -> Crawler:
        """Return a continuous track by name; raises UnknownNameError."""
        return self._part('crawler', self._crawlers, name)

    def device(self, name: str) -> Device:
        """Return a device by name; raises UnknownNameError."""
        return self._part('sensor', self._devices, name)

    def devices(self, kind: type[_Kind] = Device) -> list[_Kind]:
        """
        Return the devices of a class, in the order of the description.

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

    @property
    def simulation(self) -> World:
        """The arrays of all robots, and what keeps them up to date."""
        return self.world

    def bind(self, part: Part) -> None:
        """Take new places for the robot's numbers."""
        self.part = part
        start = part.at.v + self.blueprint.first_v
        self._one_axis = slice(start, start + len(self.joint_names))
        start_q = part.at.q + self.blueprint.first_q
        self._q = part.state.q[start_q : start_q + len(self.joint_names)]
        self._dq = part.state.v[self._one_axis]
        self.bind_commands(part.state, self._one_axis)

    def leave(self) -> None:
        """Belong to no world any more: what is not of the description raises StateError."""
        reason = _removed(self.name)
        for device in self._devices.values():
            device.retire(reason)
        for name in _OF_WORLD:
            del self.__dict__[name]

    def __getattr__(self, name: str) -> NoReturn:
        """Return why what `leave` took away is not there."""
        if name in _OF_WORLD:
            raise StateError(_removed(self.__dict__.get('name')))
        raise AttributeError(f'a robot has no attribute {name!r}', name=name, obj=self)

    def rebuild(
        self, blueprint: Blueprint, carrier: Link | None, part: Part | None = None
    ) -> None:
        """
        Hang, or move, the base in another way.

        part: arrays for it; if None, the base's coordinates become zero and all else stays.
        """
        part = part or move_over(self.blueprint, self.part, blueprint)
        self.blueprint, self.carrier = blueprint, carrier
        for name, link in self._links.items():
            link.placement = blueprint.links[name]
        for geometry, shape in zip(self.geometries, blueprint.shapes, strict=True):
            geometry.put_on(shape)
        for cached in ('excluded', 'immobile'):
            self.__dict__.pop(cached, None)
        self.bind(part)

    @property
    def offsets(self) -> Offsets:
        """Where the robot's bodies and coordinates begin in the world's model."""
        self.world.settle()
        return self.part.at

    @cached_property
    def immobile(self) -> np.ndarray:
        """Which of the robot's bodies no force moves, (nb,)."""
        return engine.immobile_bodies(self.blueprint.model)

    @cached_property
    def excluded(self) -> Pairs:
        """Which pairs of the robot's bodies never touch, by the state that it was added in."""
        return excluded_bodies(self, self.collisions)

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
        for joint in self._joints.values():
            for axis in joint.axes:
                if axis.lower <= axis.upper:
                    axis.q = min(max(0.0, axis.lower), axis.upper)
            if joint.name in joint_positions:
                joint.q = joint_positions[joint.name]
        for name in self.joint_names:
            law = self._joints[name].mimic
            if law is not None:
                self._joints[name].q = law.multiplier * self._joints[law.joint].q + law.offset
        for joint in self._joints.values():
            if joint.type is JointType.FLOATING:
                joint.q = [*joint.anchor, *quaternion_from_matrix(joint.rotation)]

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        self.world.invalidate()

    def wake(self) -> None:
        """Let it be simulated if it was asleep, since its motors' commands changed."""
        state, first = self.part.state, self.part.at.body
        idle = state.idle[first : first + len(self.blueprint.model.kind)]
        idle[idle == ASLEEP] = 0
        self.world.forget_observations()

    def site(self, link: Link) -> np.ndarray:
        """Return a link's row of `engine.pipeline.observe` at the present state."""
        return self.world.observed_sites()[self.first_site + self._site_of[link.name]]

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point and a torque to a body, for the next step call."""
        self.world.add_wrench(self.offsets.body + body, force, torque, point)

    def _holdable(self) -> np.ndarray:
        """Return the velocity coordinates that a hold locks: mimic joints follow those."""
        own = self.blueprint.model
        with_axis = own.v_index[(own.kind > engine.WELD) & (own.kind < engine.FREE)]
        return self.part.at.v + np.setdiff1d(with_axis, own.mimic[:, 0])

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


def _removed(name: str) -> str:
    return (f'robot {name!r} was removed from its world, by World.remove; what is needed of it '
            'is to be taken before')
