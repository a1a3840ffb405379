"""Robot in a world: coordinates, links, joints and devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NoReturn, overload, TYPE_CHECKING, TypeVar

import numpy as np

from sim_bridge.compilation.compile import Blueprint
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.data.state import DISABLED
from sim_bridge.engine.pipeline.join import Offsets
from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import ByName, counted
from sim_bridge.foundation.validation import is_floats, real_array, truth
from sim_bridge.robots.actuator import Actuator, controls_of, set_controls
from sim_bridge.robots.base import Base
from sim_bridge.robots.body_type import body_type, set_body_type
from sim_bridge.robots.coupling import Coupling
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.joint_commands import JointCommands
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.keyframes import set_keyframe
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.parts import RobotParts
from sim_bridge.sensors.devices import Device, ImuSensor
from sim_bridge.simulation.change import Change, finished
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.sleeping import OwnSleep
from sim_bridge.simulation.slots import removed, RobotSlot
from sim_bridge.simulation.step_hooks import AFTER, BEFORE, StepHook

_Kind = TypeVar('_Kind', bound=Device)
_ALL = slice(None)
# for more numbers, a sum in Python takes longer than NumPy
_FEW = 32


def _array(name: str, doc: str) -> Settable[FloatArray, Number | Vector]:
    """Return a property for an array over `joint_names`: a view of the slot's array; settable."""
    view = attrgetter(f'slot.{name}')

    def read(robot: Robot) -> FloatArray:
        robot.simulation.cache.settle()
        return view(robot)

    def write(robot: Robot, value: object) -> None:
        robot._assign(name, view(robot), value)

    return Settable(read, write, doc=doc)


def _limit(column: int, doc: str) -> ReadOnly[FloatArray]:
    """Return a property for a limit over `joint_names`; column: in the model's `limits`."""
    return ReadOnly(
        lambda robot: robot.slot.part.model.limits[robot.slot.one_axis, column].copy(), doc
    )


class Robot(DeclaredAttributes):
    """
    A robot or a single body: links and joints; after Choreonoid's Body.

    q, dq, ddq, u and the limits are arrays (n,) over `joint_names`, the one-axis joints in
    description order. q, dq and u are views of the world's state: writing to them changes it. They
    stay valid until a robot or joint is added or removed. Assignment raises InvalidValueError for
    numbers that are not finite; the next step checks values written into a view. A position beyond
    a stop is accepted: the stop pushes the joint back.
    """

    __slots__ = (
        '_base',
        '_commands',
        '_parts',
        '_place',
        '_world',
        'actuators',
        'couplings',
        'description',
        'geometries',
        'joint_names',
        'loop_joints',
        'name',
        'simulation',
        'slot',
    )
    internal_names = DeclaredAttributes.internal_names | {
        'blueprint',
        'leave',
        'offsets',
        'remember',
        'set_commands',
        'simulation',
        'site',
        'slot',
    }
    advice = {
        'name': 'it is given when the robot is added',
        'world': 'add_copy of another world adds a copy of the robot',
        **{
            name: f'set {own} of its joints'
            for name, own in (
                ('lower', 'lower'),
                ('upper', 'upper'),
                ('effort_limits', 'effort_limit'),
                ('lower_effort_limits', 'lower_effort_limit'),
                ('velocity_limits', 'velocity_limit'),
            )
        },
    }

    def __init__(self, world: World, simulation: Simulation, slot: RobotSlot):
        """Make the view of a robot in its slot of the simulation; only worlds call this."""
        self._world = world
        self.simulation = simulation
        self.slot = slot
        self.name: Final = slot.name
        self.description: Final = slot.description
        self.joint_names: Final = list(slot.blueprint.joint_names)
        self._place = f'robot {self.name!r}'
        self._parts = parts = RobotParts(self, slot, self._place)
        self.loop_joints = parts.loop_joints
        """Joints that close the robot's loops, by name; `joint` returns them too."""
        self.actuators: Final[ByName[Actuator]] = parts.actuators
        self.couplings: Final[ByName[Coupling]] = parts.couplings
        self.geometries = parts.geometries
        self._base = Base(simulation, slot, self._place)
        self._commands = JointCommands(simulation, slot, self.joint)

    def before_step(self, function: Callable[[Robot], object]) -> StepHook:
        """
        Call function(robot) before each step, until the hook's `remove` is called.

        Choreonoid's BodyCustomizer, for example for joint efforts from a formula:
        `robot.u = -k * robot.q`. In a copied world, the function receives the copy's robot.
        Removing the robot ends the calls.
        """
        return self.simulation.runner.hooks.add(BEFORE, function, self, self.slot)

    def after_step(self, function: Callable[[Robot], object]) -> StepHook:
        """Call function(robot) after each step; as `before_step`."""
        return self.simulation.runner.hooks.add(AFTER, function, self, self.slot)

    def __repr__(self) -> str:
        """Show the size, the mass, and the base's motion type."""
        sizes = (
            f'{counted(len(self._parts.links), "link")}, '
            f'{counted(len(self.joint_names), "one-axis joint")}'
        )
        base = f'base {self.motion}'
        if self.slot.is_removed:
            base = 'removed'
        elif self.slot.carrier is not None:
            base = f'base on {self.slot.carrier.robot.name!r}'
        return f'<Robot {self.name!r}: {sizes}, {self.mass:.4g} kg, {base}>'

    def _repr_html_(self) -> str:
        """Return a one-axis joint table for notebooks; only a title for a removed one."""
        title = repr(self).strip('<>')
        if self.slot.is_removed:
            return table(title, (), ())
        rows = zip(
            self.joint_names,
            self.q,
            self.dq,
            self.u,
            self.lower,
            self.upper,
            self.effort_limits,
            strict=True,
        )
        return table(title, ('joint', 'q', 'dq', 'u', 'lower', 'upper', 'effort limit'), rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the world and the robot's name."""
        return _robot_of, (self.world, self.name)

    if not TYPE_CHECKING:
        # as in DeclaredAttributes
        def __getattr__(self, name: str) -> NoReturn:
            """Raise StateError for names deleted by `leave`; Python calls it for missing names."""
            if name in ('simulation', 'world', '_world'):
                raise StateError(removed(self.name))
            super().__getattr__(name)

    world = ReadOnly[World]('_world', 'World of the robot.')

    @property
    def actuated_joints(self) -> list[str]:
        """One-axis joint names without a mimic law."""
        return [name for name in self.joint_names if self._parts.joints[name].mimic is None]

    # --- coordinates -----------------------------------------------------------------------------

    q = _array('q', '(n,) positions [rad or m]; a view to read and write.')
    dq = _array('dq', '(n,) velocities [rad/s or m/s]; a view to read and write.')
    u = _array(
        'u', '(n,) applied efforts [N m or N], clamped to the limits by steps; a writable view.'
    )

    @property
    def ddq(self) -> FloatArray:
        """(n,) accelerations [rad/s² or m/s²] for the current state and efforts; a copy."""
        return self.simulation.observation.observer().workspace.ddq[self.slot.one_axis].copy()

    lower = _limit(engine.LOWER, '(n,) lower position limits [rad or m], -inf for none; a copy.')
    upper = _limit(engine.UPPER, '(n,) upper position limits [rad or m], inf for none; a copy.')
    effort_limits = _limit(engine.EFFORT, '(n,) effort limits [N m or N], inf for none; a copy.')
    lower_effort_limits = _limit(
        engine.LOWER_EFFORT, '(n,) lower effort limits [N m or N], -inf for none; a copy.'
    )
    velocity_limits = _limit(
        engine.VELOCITY,
        '(n,) velocity limits of position control [rad/s or m/s], inf for none; a copy.',
    )

    # --- commands --------------------------------------------------------------------------------

    def command_effort(self, values: Vector, joints: Sequence[str] | None = None) -> None:
        """
        Set the efforts u, which act in any control mode.

        values: [N m or N], one for each name in `joints` (None: `joint_names`). This and the
        other commands set all values, or none on an error: they raise UnknownNameError for an
        unknown joint, InvalidValueError for a wrong value count or a value that is not
        finite, and StateError for a joint whose control mode does not use the target.
        """
        self._commands.set_efforts(values, joints)

    def command_velocity(self, values: Vector, joints: Sequence[str] | None = None) -> None:
        """
        Set target velocities for joints in a control mode other than 'effort'.

        values: [rad/s or m/s], one for each name in `joints`, or in `joint_names` if None.
        """
        self._commands.set_velocities(values, joints)

    def command_position(
        self, values: Vector, joints: Sequence[str] | None = None, velocities: Vector | None = None
    ) -> None:
        """
        Set target positions for joints in control mode 'position' or 'servo'.

        values: [rad or m], one for each name in `joints`, or in `joint_names` if None. velocities:
        target velocities at these positions [rad/s or m/s]; zero if None.
        """
        self._commands.set_positions(values, joints, velocities)

    def drop_commands(self) -> None:
        """Clear all efforts u, and set the motor targets to the current positions, at rest."""
        self._commands.drop()

    @property
    def motor_efforts(self) -> FloatArray:
        """(n,) motor efforts in the last step, without u [N m or N]; a copy."""
        return self.slot.motor.copy()

    @property
    def hold(self) -> bool:
        """Whether all joints except floating ones are locked by unlimited effort; can be set."""
        # three times as fast as `any`
        return bool(np.count_nonzero(self.slot.part.state.hold[self._lockable()]))

    @hold.setter
    def hold(self, value: bool) -> None:
        is_held = truth('hold', value, self._place)
        self.simulation.write(self.slot.part.state, 'hold', self._lockable(), is_held)

    controls = Settable[FloatArray, Number | Vector](
        controls_of,
        set_controls,
        doc='(n,) controls of the actuators, in the order of `actuators`; a copy; can be set.',
    )

    # --- base ------------------------------------------------------------------------------------

    fixed_base = ReadOnly[bool](
        'slot.blueprint.fixed_base', 'Whether the root link is welded to the world.'
    )

    @property
    def motion(self) -> str:
        """
        The base's motion type: 'dynamic', 'static' or 'kinematic'; can be set; after AGX.

        A dynamic base moves under forces. A static base never moves. A kinematic base moves by
        `move_to` and `set_base_velocity`. Setting the type keeps the pose and, except for
        'static', the velocity. As after adding a robot, take views of the world's arrays again;
        older snapshots no longer fit. Joint motors move the other links; without limits they use
        any effort needed.

        Raises InvalidValueError for another word and for an unbounded body that would move;
        StateError for a base mounted on a joint, and for a body without mass that would be
        dynamic.
        """
        return body_type(self.slot)

    @motion.setter
    def motion(self, value: str) -> None:
        set_body_type(self.simulation, self.slot, value)

    def move_to(
        self, position: Vector, orientation: Vector = (0.0, 0.0, 0.0, 1.0), dt: float | None = None
    ) -> None:
        """
        Set a kinematic base's velocity so that it reaches a pose after `dt`.

        Linear and angular velocity are constant; the rotation takes the shorter way. Both persist
        until set again. position: (3,) [m], world. orientation: quaternion x y z w. dt: [s]; the
        time step if None. Raises InvalidValueError for an invalid pose and for a base that is not
        kinematic.
        """
        self._base.move_to(position, orientation, dt)

    @property
    def gravity_mode(self) -> bool:
        """Whether gravity acts on all links; can be set; see `Link.gravity` for single links."""
        return all(link.gravity for link in self.links)

    @gravity_mode.setter
    def gravity_mode(self, value: bool) -> None:
        gravity = truth('gravity_mode', value, self._place)
        for link in self.links:
            link.gravity = gravity

    def set_base_pose(self, position: Vector, orientation: Vector = (0.0, 0.0, 0.0, 1.0)) -> None:
        """
        Set the root link frame's pose in the world.

        position: (3,) [m]. orientation: quaternion x y z w, normalized here. Raises
        InvalidValueError for an invalid pose and for a base mounted on a joint.
        """
        self._base.set_pose(position, orientation)

    def set_base_velocity(self, linear: Vector, angular: Vector = (0.0, 0.0, 0.0)) -> None:
        """
        Set the root link's velocity.

        linear: (3,) its origin's velocity [m/s]. angular: (3,) [rad/s]. Both in world axes.
        Raises InvalidValueError for values that are not finite, and for a base that is fixed or
        mounted on a joint.
        """
        self._base.set_velocity(linear, angular)

    @property
    def is_asleep(self) -> bool:
        """Whether the robot is not simulated: asleep until something wakes it, or disabled."""
        self.simulation.cache.settle()
        return self.slot.is_asleep

    @property
    def sleep(self) -> OwnSleep:
        """
        Sleep thresholds: a `Sleep`, False for never, or None for `World.sleep`; can be set.

        After ODE's auto-disable for bodies. True sets a `Sleep()`. Resets keep it.
        """
        return self.slot.sleep

    @sleep.setter
    def sleep(self, value: Sleep | bool | None) -> None:
        own: OwnSleep = value if isinstance(value, Sleep) else None
        if value is not None and own is None:
            expected = 'True, False, None or a sim_bridge.Sleep'
            own = truth('sleep', value, self._place, expected) and Sleep()
        staleness = self.simulation.staleness
        self.simulation.cache.settle()
        with Change(staleness, self.slot):
            staleness.set(self.slot, 'sleep', own)
            staleness.wake(self.slot)

    def set_keyframe(self, name: str) -> None:
        """
        Set pose, velocities, joints and actuator controls to a named state of the file.

        `robot.description.keyframes` has the states, such as MuJoCo's keyframes. Raises
        UnknownNameError for another name.
        """
        set_keyframe(self, name)

    def disable(self) -> None:
        """
        Stop simulating the robot until an awake body touches it or a joint pulls it; after ODE.

        It stays in place under any force, and keeps its velocity until it is enabled again;
        `World.reset` enables it. Robots mounted on it, and robots that it is mounted on, are
        disabled too.
        """
        self.simulation.cache.settle()
        self.simulation.write(self.slot.part.state, 'idle', self.slot.trees, DISABLED)

    def enable(self) -> None:
        """Simulate the robot again, after `disable` or while it sleeps."""
        self.simulation.cache.settle()
        idle, trees = self.slot.part.state.idle, self.slot.trees
        self.simulation.staleness.wake_bodies(idle, trees[idle[trees] < 0])

    # --- parts -----------------------------------------------------------------------------------

    @property
    def links(self) -> list[Link]:
        """All links in description order."""
        return list(self._parts.links.values())

    @property
    def joints(self) -> list[Joint]:
        """All tree joints, including fixed ones, in description order."""
        return list(self._parts.joints.values())

    @property
    def root_link(self) -> Link:
        """The link tree's root; raises UnknownNameError for a robot without links."""
        return self.link(self.description.root)

    def link(self, name: str | int) -> Link:
        """Return a link by name or by index in `links`; raise UnknownNameError otherwise."""
        return self._parts.links[self._name_at('link', name, list(self._parts.links))]

    def joint(self, name: str | int) -> Joint | ConstraintJoint:
        """
        Return a joint by name, including loop joints, or by id; raise UnknownNameError otherwise.

        An id is an index in `joint_names`, as `Link.joint_id`.
        """
        key = self._name_at('joint', name, self.joint_names)
        if isinstance(key, str) and key in self.loop_joints:
            return self.loop_joints[key]
        return self._parts.joints[key]

    @property
    def attached_joints(self) -> list[Joint | ConstraintJoint]:
        """All joints on its links, each once, including the world's joints; see `Link.joints`."""
        every = {id(joint): joint for link in self._parts.links.values() for joint in link.joints}
        return list(every.values())

    @property
    def extra_joints(self) -> list[ConstraintJoint]:
        """Joints that close the robot's loops, in order; Choreonoid's extra joints."""
        return list(self.loop_joints.values())

    def extra_joint(self, index: int) -> ConstraintJoint:
        """Return a joint in `extra_joints`; raise UnknownNameError for another index."""
        joints = ByName('extra joint', self._place, self.loop_joints)
        return joints[self._name_at('extra joint', index, list(joints))]

    @property
    def crawlers(self) -> tuple[Crawler, ...]:
        """All crawlers, in description order."""
        return tuple(self._parts.crawlers.values())

    def crawler(self, name: str) -> Crawler:
        """Return a crawler by name; raise UnknownNameError otherwise."""
        return self._parts.crawlers[name]

    def device(self, name: str) -> Device:
        """Return a device by name; raise UnknownNameError otherwise."""
        return self._parts.devices[name]

    @overload
    def devices(self) -> list[Device]: ...

    @overload
    def devices(self, kind: type[_Kind]) -> list[_Kind]: ...

    def devices(self, kind: type[Device] = Device) -> Sequence[Device]:
        """
        Return the devices belonging to a class, or all, in description order.

        With a class, an IMU's gyro and accelerometer count as separate devices.
        """
        if not isinstance(kind, type):
            raise InvalidValueError('kind', kind, 'a class of devices', self._place)
        if kind is Device:
            return list(self._parts.devices.values())
        every: list[Device] = []
        for device in self._parts.devices.values():
            every.append(device)
            if isinstance(device, ImuSensor):
                every += [device.gyro, device.accelerometer]
        return [device for device in every if isinstance(device, kind)]

    def initialize_device_states(self) -> None:
        """
        Restart all devices as `World.reset` does: their noise and their sampling times.

        Their values are NaN until their next samples, as before the first.
        """
        finished(self._reset_devices)
        self.simulation.staleness.forget_observations()

    def _reset_devices(self) -> None:
        for device in self._parts.devices.values():
            device.reset(self.simulation.run.seed)

    def clear_external_forces(self) -> None:
        """Discard the forces and torques set to act on its links in the next step."""
        self.simulation.cache.settle()
        _, state, at = self.slot.part
        count = engine.body_count(self.slot.blueprint.model)
        self.simulation.write(state, 'wrench', slice(at.body, at.body + count), 0.0)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(link.m for link in self._parts.links.values()))

    @property
    def center_of_mass(self) -> FloatArray:
        """(3,) centre of mass [m], world; the root's origin if massless."""
        if self.mass == 0.0:
            return self.root_link.p
        moments = [link.m * link.wc for link in self._parts.links.values()]
        return np.asarray(sum(moments)) / self.mass

    # --- internal, not listed by `dir` -----------------------------------------------------------

    blueprint = ReadOnly[Blueprint]('slot.blueprint', 'Compiled description.')

    @property
    def offsets(self) -> Offsets:
        """Offsets for the robot's first body and coordinates in the world's model."""
        self.simulation.cache.settle()
        return self.slot.part.at

    def site(self, link: Link) -> FloatArray:
        """Return a link's site row (30,); see `engine.pipeline.observe`."""
        return self.simulation.observation.sites()[link.slot.site]

    def remember(self) -> None:
        """Make the current state the one that `World.reset` restores."""
        self.slot.remember()

    def set_commands(
        self,
        position: FloatArray | None = None,
        velocity: FloatArray | None = None,
        effort: FloatArray | None = None,
    ) -> None:
        """
        Set targets and efforts without checks.

        position [rad or m], velocity [rad/s or m/s], effort [N m or N]: (n,) over `joint_names`,
        finite. A nan, or None for the whole array, keeps the current value.
        """
        self._commands.set_unchecked(position, velocity, effort)

    def leave(self) -> None:
        """Detach from the world; then everything except the description raises StateError."""
        for name in ('_world', 'simulation'):
            object.__delattr__(self, name)

    # --- inside ----------------------------------------------------------------------------------

    def _lockable(self) -> FloatArray:
        """Return the velocity coordinates to lock, in the world's arrays."""
        return self.slot.part.at.v + self.slot.blueprint.lockable_v

    def _name_at(self, kind: str, name: Any, names: Sequence[str]) -> Any:
        """Return the name at an integer index; return any other value unchanged."""
        if isinstance(name, bool) or not isinstance(name, (int, np.integer)):
            return name
        if not 0 <= name < len(names):
            raise UnknownNameError(kind, int(name), map(str, range(len(names))), self._place)
        return names[int(name)]

    def _assign(self, what: str, view: FloatArray, value: object) -> None:
        if len(view) < _FEW and is_floats(value, len(view)):
            # usual case, in half the time
            self.simulation.staleness.write_view(RobotSlot, what, view, _ALL, value)
            return
        if type(value) is np.ndarray and value.dtype == np.float64:
            # without a copy
            array = value
        else:
            array = real_array(
                what, value, f'numbers, one for each of {counted(len(view), "joint")}', self._place
            )
        if array.shape not in ((), view.shape):
            raise InvalidValueError(
                f'shape of {what}', array.shape, f'{view.shape}, one for each joint', self._place
            )
        are_finite = np.isfinite(array)
        # a third of the time of `all`
        if b'\0' in are_finite.tobytes() and len(view):
            number = int(np.argmin(are_finite))
            raise InvalidValueError(
                what,
                float(array.flat[number]),
                'a finite number',
                f'{self._place}, joint {self.joint_names[number]!r}',
            )
        self.simulation.staleness.write_view(RobotSlot, what, view, _ALL, array)


def _robot_of(world: World, name: str) -> Any:
    return world.robots[name]
