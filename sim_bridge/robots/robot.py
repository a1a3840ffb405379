"""A robot in a world: its coordinates, links, joints and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, overload, TypeVar

import numpy as np

from sim_bridge.compilation.compile import Blueprint
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.pipeline.join import Offsets
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import (
    finite_vector,
    positive_number,
    real_array,
    truth,
    unit_quaternion,
)
from sim_bridge.robots.body_type import body_type, set_body_type, velocity_towards
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joint_commands import JointCommands
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.tree import TreeSeat
from sim_bridge.robots.link import Link
from sim_bridge.robots.make_device import make_device
from sim_bridge.sensors.devices import Device, ImuSensor
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import removed, RobotSlot

_Kind = TypeVar('_Kind', bound=Device)
_Part = TypeVar('_Part')


class Robot(DeclaredAttributes):
    """
    A body of links, after Choreonoid's Body.

    q, dq, u and ddq are arrays over `joint_names`, the one-axis joints in the order of the
    description [rad or m; N m or N]. q, dq and u are views of the simulation's own state: writing
    them changes it. They stay valid until another robot is added to the world.
    """

    __slots__ = (
        '_commands', '_crawlers', '_devices', '_joints', '_links', 'description', 'geometries',
        'joint_names', 'loop_joints', 'name', 'simulation', 'slot', 'world')
    internal_names = DeclaredAttributes.internal_names | {
        'blueprint', 'leave', 'offsets', 'remember', 'simulation', 'site', 'slot'}
    advice = {
        'name': 'it is given where the robot is added',
        'world': 'add_copy of another world adds a robot like it',
        **{name: f'set {own} of its joints' for name, own in (
            ('lower', 'lower'), ('upper', 'upper'), ('effort_limits', 'effort_limit'),
            ('velocity_limits', 'velocity_limit'))}}

    def __init__(self, world: Any, simulation: Simulation, slot: RobotSlot):
        """Show what a slot holds; World makes robots."""
        self.world = world
        self.simulation = simulation
        self.slot = slot
        self.name = slot.name
        self.description = slot.description
        self.joint_names = list(slot.blueprint.joint_names)
        self.loop_joints: dict[str, ConstraintJoint] = {}
        """The joints that close its loops, by name; also `joint` gives them."""
        description = slot.description
        self._links = {
            key: Link(self, link, slot.link(key)) for key, link in description.links.items()}
        self._joints: dict[str, Joint] = {}
        above: dict[str, tuple[Link, Joint]] = {}
        for joint_description in description.joints.values():
            parent = self._links[joint_description.parent]
            child = self._links[joint_description.child]
            joint = Joint(TreeSeat(self, joint_description, parent, child))
            self._joints[joint.name] = joint
            above[child.name] = parent, joint
            parent.children.append(child)
        self.geometries: list[Geometry] = []
        for place in slot.geometries:
            link = self._links[place.link.name]
            link.geometries.append(Geometry(link, place))
            self.geometries.append(link.geometries[-1])
        self._crawlers: dict[str, Crawler] = {}
        for each in description.crawlers:
            link = self._links[each.link]
            self._crawlers[each.name] = Crawler(link, link.geometries, each)
        tracks = {crawler.link.name: crawler for crawler in self._crawlers.values()}
        for key, link in self._links.items():
            parent_link, own_joint = above.get(key, (None, None))
            link.connect(parent_link, own_joint, tracks.get(key))
        self._devices = {
            sensor.name: make_device(self._links[sensor.link], sensor)
            for sensor in description.sensors}
        slot.devices[:] = self._devices.values()
        self._commands = JointCommands(simulation, slot, self.joint)

    def __repr__(self) -> str:
        """Show the size, the mass, and how the base moves."""
        sizes = (f'{counted(len(self._links), "link")}, '
                 f'{counted(len(self.joint_names), "one-axis joint")}')
        base = f'base {self.motion}'
        if self.slot.is_removed:
            base = 'removed'
        elif self.slot.carrier is not None:
            base = f'base on {self.slot.carrier.robot.name!r}'
        return f'<Robot {self.name!r}: {sizes}, {self.mass:.4g} kg, {base}>'

    def __getattr__(self, name: str) -> NoReturn:
        """Tell that it was removed, to who asks for what `leave` took away."""
        if name in ('simulation', 'world'):
            raise StateError(removed(self.name))
        super().__getattr__(name)

    # --- coordinates -----------------------------------------------------------------------------

    @property
    def q(self) -> np.ndarray:
        """Positions; a view to read and write."""
        self.simulation.settle()
        return self.slot.q

    @q.setter
    def q(self, value: np.ndarray) -> None:
        self._assign('q', self.slot.q, value)

    @property
    def dq(self) -> np.ndarray:
        """Velocities; a view to read and write."""
        self.simulation.settle()
        return self.slot.dq

    @dq.setter
    def dq(self, value: np.ndarray) -> None:
        self._assign('dq', self.slot.dq, value)

    @property
    def u(self) -> np.ndarray:
        """Applied efforts, kept until changed and clamped by steps; a view to read and write."""
        self.simulation.settle()
        return self.slot.u

    @u.setter
    def u(self, value: np.ndarray) -> None:
        self._assign('u', self.slot.u, value)

    @property
    def ddq(self) -> np.ndarray:
        """Accelerations at the present state under the present efforts; a copy."""
        return self.simulation.observed_accelerations()[self.slot.one_axis].copy()

    @property
    def lower(self) -> np.ndarray:
        """Lower position limits, -inf where there is none; a copy."""
        return self._limits(engine.LOWER)

    @property
    def upper(self) -> np.ndarray:
        """Upper position limits, inf where there is none; a copy."""
        return self._limits(engine.UPPER)

    @property
    def effort_limits(self) -> np.ndarray:
        """Effort limits, inf where there is none; a copy."""
        return self._limits(engine.EFFORT)

    @property
    def velocity_limits(self) -> np.ndarray:
        """Velocity limits, inf where there is none, which position control keeps to; a copy."""
        return self._limits(engine.VELOCITY)

    # --- commands --------------------------------------------------------------------------------

    def command_effort(self, values: Sequence[float], joints: Sequence[str] | None = None) -> None:
        """
        Set the efforts u, which act under any control.

        values: N m or N, one for each of `joints`, or of all `joint_names`. Where anything is
        wrong nothing is set. This and the other commands raise UnknownNameError for a joint that
        is not there, and InvalidValueError for a wrong number of values or one that is not finite;
        those for motors StateError for a joint whose control does not go for such a target.
        """
        self._commands.set_efforts(values, joints)

    def command_velocity(
        self, values: Sequence[float], joints: Sequence[str] | None = None
    ) -> None:
        """
        Set the target velocities of joints whose control is not 'effort'.

        values: rad/s or m/s, one for each of `joints`, or of all `joint_names`.
        """
        self._commands.set_velocities(values, joints)

    def command_position(
        self,
        values: Sequence[float],
        joints: Sequence[str] | None = None,
        velocities: Sequence[float] | None = None,
    ) -> None:
        """
        Set the target positions of joints whose control is 'position' or 'servo'.

        values: rad or m, one for each of `joints`, or of all `joint_names`. velocities: the target
        velocities there [rad/s or m/s]; None: zero.
        """
        self._commands.set_positions(values, joints, velocities)

    def set_commands(
        self,
        position: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        effort: np.ndarray | None = None,
    ) -> None:
        """
        Set targets and efforts without any check, for those who have checked them.

        position [rad or m], velocity [rad/s or m/s], effort [N m or N]: (n,) of all `joint_names`;
        nan, or None for all, leaves what there is.
        """
        self._commands.set_unchecked(position, velocity, effort)

    def drop_commands(self) -> None:
        """Clear all efforts, and set the motors' targets to the joints' present positions."""
        self._commands.drop()

    @property
    def motor_efforts(self) -> np.ndarray:
        """What the motors of `joint_names` gave in the last step, beside u [N m or N]; a copy."""
        return self.slot.motor.copy()

    @property
    def hold(self) -> bool:
        """Whether joints, but floating ones, are locked in place, whatever it takes; to be set."""
        return bool(self.slot.part.state.hold[self._holdable()].any())

    @hold.setter
    def hold(self, value: bool) -> None:
        self.slot.part.state.hold[self._holdable()] = truth('hold', value, f'robot {self.name!r}')
        self.simulation.invalidate()

    # --- base ------------------------------------------------------------------------------------

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is welded to the world."""
        return self.slot.blueprint.fixed_base

    @property
    def motion(self) -> str:
        """
        What moves the base: 'dynamic', forces; 'static', nothing; 'kinematic', `move_to`.

        After AGX's motion control, to be set at any time. The base stays where it is and, unless
        it becomes static, goes on as it moves; a kinematic one does so until it is told otherwise.
        As when a robot is added, views of the world's arrays are to be taken anew, and older
        snapshots no longer fit. Other links of a robot are moved by the motors of their joints,
        which unless limited are as strong as it takes.

        Raises InvalidValueError for another value, or for a body without end that would move, and
        StateError for a base that hangs on a joint, or that has no mass and would be dynamic.
        """
        return body_type(self.slot)

    @motion.setter
    def motion(self, value: str) -> None:
        set_body_type(self.simulation, self.slot, value)

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
        place = f'robot {self.name!r}'
        if self.motion != 'kinematic':
            raise InvalidValueError(
                'motion', self.motion, "'kinematic', for what is moved", place)
        duration = self.simulation.time_step if dt is None else positive_number(
            'dt', dt, 'a positive number [s]', place)
        self.set_base_velocity(*velocity_towards(self.slot, position, orientation, duration))

    @property
    def gravity_mode(self) -> bool:
        """Whether gravity acts on all of its links; to be set for all, or for one by `link`."""
        return all(link.gravity for link in self.links)

    @gravity_mode.setter
    def gravity_mode(self, value: bool) -> None:
        gravity = truth('gravity_mode', value, f'robot {self.name!r}')
        for link in self.links:
            link.gravity = gravity

    def set_base_pose(
        self, position: Sequence[float] | np.ndarray,
        orientation: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0, 1.0),
    ) -> None:
        """
        Put the root link's frame somewhere in the world.

        position: m. orientation: quaternion x y z w, normalised here. Raises InvalidValueError for
        anything else.
        """
        p = self._finite('position', position, 3)
        quat = unit_quaternion(orientation, f'robot {self.name!r}')
        mount = self.slot.blueprint.mount
        if mount is not None:
            raise InvalidValueError(
                'base pose', (*p.tolist(), *quat.tolist()),
                f'a robot that does not hang on joint {mount.joint.name!r}',
                f'robot {self.name!r}')
        if not self._links:
            return
        model, state, at = self.slot.part
        if self.fixed_base:
            rotation = matrix_from_quaternion(quat)
            model.frame[at.body] = [*rotation.ravel(), *p]
        else:
            state.q[at.q : at.q + 7] = [*p, *quat]
        # wakes what lay on it, too
        self.simulation.invalidate()

    def set_base_velocity(
        self, linear: Sequence[float] | np.ndarray,
        angular: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    ) -> None:
        """
        Set the velocity of the root link.

        linear: of its origin [m/s]. angular: [rad/s]. Both in world axes. Raises InvalidValueError
        for a fixed base or values that are not finite.
        """
        v = self._finite('linear velocity', linear, 3)
        w = self._finite('angular velocity', angular, 3)
        if self.fixed_base or self.slot.blueprint.mount is not None:
            raise InvalidValueError(
                'base velocity', (*v.tolist(), *w.tolist()), 'a robot with a free base',
                f'robot {self.name!r}')
        _, state, at = self.slot.part
        state.v[at.v : at.v + 6] = [*v, *w]

    @property
    def is_asleep(self) -> bool:
        """Whether it rests and is not simulated (`World(sleep=True)`); writing to it wakes it."""
        return self.slot.is_asleep

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
        return self._named('link', self._links, name)

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint of any type by name, of a loop too; raises UnknownNameError."""
        if name in self.loop_joints:
            return self.loop_joints[name]
        return self._named('joint', self._joints, name)

    @property
    def crawlers(self) -> tuple[Crawler, ...]:
        """All continuous tracks, in the order of the description."""
        return tuple(self._crawlers.values())

    def crawler(self, name: str) -> Crawler:
        """Return a continuous track by name; raises UnknownNameError."""
        return self._named('crawler', self._crawlers, name)

    def device(self, name: str) -> Device:
        """Return a device by name; raises UnknownNameError."""
        return self._named('sensor', self._devices, name)

    @overload
    def devices(self) -> list[Device]: ...

    @overload
    def devices(self, kind: type[_Kind]) -> list[_Kind]: ...

    def devices(self, kind: type[Device] = Device) -> Sequence[Device]:
        """
        Return the devices of a class, in the order of the description.

        Where a class is given, an IMU's gyro and accelerometer count as devices too.
        """
        if kind is Device:
            return list(self._devices.values())
        every: list[Device] = []
        for device in self._devices.values():
            every.append(device)
            if isinstance(device, ImuSensor):
                every += [device.gyro, device.accelerometer]
        return [device for device in every if isinstance(device, kind)]

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return float(sum(link.m for link in self._links.values()))

    @property
    def center_of_mass(self) -> np.ndarray:
        """(3,) centre of mass of all links [m], world; the root's origin if there is no mass."""
        if self.mass == 0.0:
            return self.root_link.p
        moments = [link.m * link.wc for link in self._links.values()]
        return np.asarray(sum(moments)) / self.mass

    # --- for the library, not among the names that `dir` gives -----------------------------------

    @property
    def blueprint(self) -> Blueprint:
        """What its description was compiled to."""
        return self.slot.blueprint

    @property
    def offsets(self) -> Offsets:
        """Where its bodies and coordinates begin in the world's model."""
        self.simulation.settle()
        return self.slot.part.at

    def site(self, link: Link) -> np.ndarray:
        """Return a link's row of `engine.pipeline.observe` at the present state."""
        return self.simulation.observed_sites()[link.slot.site]

    def remember(self) -> None:
        """Make the present state the one that `World.reset` goes back to."""
        self.slot.remember()

    def leave(self) -> None:
        """Detach from the world: everything except the description then raises StateError."""
        for name in ('world', 'simulation'):
            object.__delattr__(self, name)

    # --- inside ----------------------------------------------------------------------------------

    def _limits(self, column: int) -> np.ndarray:
        return self.slot.part.model.limits[self.slot.one_axis, column].copy()

    def _holdable(self) -> np.ndarray:
        """Return the velocity coordinates that a hold locks: mimic joints follow those."""
        own = self.slot.blueprint.model
        with_axis = own.v_index[(own.kind > engine.WELD) & (own.kind < engine.FREE)]
        return self.slot.part.at.v + np.setdiff1d(with_axis, own.mimic[:, 0])

    def _named(self, kind: str, parts: Mapping[str, _Part], name: str) -> _Part:
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
