"""What joints in trees and constraint joints have in common: coordinates, frames, forces."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, NoReturn

import numpy as np

from sim_bridge.description.model import JointType, Mimic
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import SimBridgeError, StateError
from sim_bridge.foundation.validation import finite_number, finite_vector, unit_quaternion
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.feedback import Feedback, feedback_of
from sim_bridge.robots.joints.joint_backend import JointBackend
from sim_bridge.robots.joints.tree import WITH_QUATERNION
from sim_bridge.robots.owners import Link, Robot, World


class _NoAxis:
    """A stand-in for the axis of a joint that has none or several: any use raises StateError."""

    __slots__ = ('_message',)

    def __init__(self, message: str):
        """Keep the message of the StateError."""
        object.__setattr__(self, '_message', message)

    def __getattr__(self, name: str) -> NoReturn:
        raise StateError(self._message)

    def __setattr__(self, name: str, value: object) -> None:
        raise StateError(self._message)


def _of_axis(name: str, slot: str = '_only') -> Any:
    """
    Return a joint's property that delegates to the property of that name of its only axis.

    slot: the joint's attribute that holds the axis.
    """
    declared, own = getattr(Axis, name), attrgetter(slot)

    def set_it(joint: Any, value: object) -> None:
        setattr(own(joint), name, value)

    is_writable = not isinstance(declared, property) or declared.fset is not None
    return property(
        attrgetter(f'{slot}.{name}'), set_it if is_writable else None, doc=declared.__doc__
    )


class AnyJoint(DeclaredAttributes):
    """
    The common base of joints in trees and of constraint joints.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    """

    __slots__ = ('_of_balls', '_only', '_backend', 'axes', 'name')

    internal_names = DeclaredAttributes.internal_names | {'place'}

    is_tree: ClassVar[bool]
    """Whether it is part of a tree, and so exact; else it is a constraint."""
    _backend: JointBackend
    name: str
    axes: tuple[Axis, ...]
    """One for each coordinate that turns about an axis or slides along one."""

    # ball joints in trees have these too, the same in all directions
    damping: Settable[float, Number] = _of_axis('damping', '_of_balls')
    armature: Settable[float, Number] = _of_axis('armature', '_of_balls')

    friction: Settable[float, Number] = _of_axis('friction')
    back_friction: Settable[float, Number] = _of_axis('back_friction')
    bearing_friction: Settable[float, Number] = _of_axis('bearing_friction')
    stiffness: Settable[float, Number] = _of_axis('stiffness')
    reference: Settable[float, Number] = _of_axis('reference')
    lower: Settable[float, Number] = _of_axis('lower')
    upper: Settable[float, Number] = _of_axis('upper')
    effort_limit: Settable[float, Number] = _of_axis('effort_limit')
    lower_effort_limit: Settable[float, Number] = _of_axis('lower_effort_limit')
    velocity_limit: Settable[float, Number] = _of_axis('velocity_limit')
    kp: Settable[float, Number] = _of_axis('kp')
    kd: Settable[float, Number] = _of_axis('kd')
    max_effort: Settable[float, Number] = _of_axis('max_effort')
    min_effort: Settable[float, Number] = _of_axis('min_effort')
    bounce: Settable[float, Number] = _of_axis('bounce')
    stop_erp: Settable[float, Number] = _of_axis('stop_erp')
    stop_cfm: Settable[float, Number] = _of_axis('stop_cfm')
    control: Settable[str, str] = _of_axis('control')
    target_position: Settable[float, Number] = _of_axis('target_position')
    target_velocity: Settable[float, Number] = _of_axis('target_velocity')
    motor_effort: ReadOnly[float] = _of_axis('motor_effort')
    friction_effort: ReadOnly[float] = _of_axis('friction_effort')
    stop_effort: ReadOnly[float] = _of_axis('stop_effort')
    is_linear: ReadOnly[bool] = _of_axis('is_linear')
    direction: Settable[FloatArray, Vector] = _of_axis('direction')

    def __init__(self, backend: JointBackend):
        """Show what a backend provides; robots and worlds make joints."""
        self._backend = backend
        self.name = backend.name
        count, place = backend.axis_count, backend.place
        own: Any = self
        self.axes = tuple(
            Axis(own, backend, number, place if count == 1 else f'{place}, axis {number}')
            for number in range(count)
        )
        if count == 1:
            self._only: Any = self.axes[0]
        else:
            has = 'its `axes` have' if count else 'only one-axis joints and axes have'
            self._only = _NoAxis(f'{place} is {self._type_name}: {has} such parameters')
        self._of_balls = self._only

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle or a copy keeps: the robot or the world, and the name in it."""
        link = self.link2 or self.link1
        assert link is not None, 'a joint between the world and the world'
        if self.key is None:
            return _joint_of, (link.robot, self.name)
        return _joint_of, (link.robot.world, self.key)

    def __repr__(self) -> str:
        """Show type, name, robot or links, position and velocity."""
        what = f'{type(self).__name__} {self.name!r} ({self._type_name})'
        return f'<{what} of {self._backend.owner}{self._moving}>'

    type = ReadOnly[JointType | str](
        '_backend.type', 'The joint type; of a constraint its kind in `World.add_joint`.'
    )
    key = ReadOnly[str | None](
        '_backend.key', "Its name among the world's joints; None for a joint of a robot's tree."
    )
    place = ReadOnly[str]('_backend.place', 'Where the joint is, for messages.')
    coordinates = ReadOnly[tuple[int, int]](
        '_backend.coordinates', 'The numbers of position and of velocity coordinates.'
    )
    mimic = ReadOnly[Mimic | None](
        '_backend.mimic', 'The law by which it follows another joint; None if it follows none.'
    )

    @property
    def followed(self) -> str | None:
        """The name of the joint that it follows by a mimic law, if any."""
        return None if self.mimic is None else self.mimic.joint

    # --- coordinates -----------------------------------------------------------------------------

    @property
    def q(self) -> Coordinates:
        """
        Position [rad or m]: a number for a one-axis joint, else an array over the coordinates.

        Setting it raises InvalidValueError for values that are not finite, and StateError for a
        constraint joint, whose position follows from its links, unless its axes are those of an
        angular motor, whose angles count from what is set.
        """
        return self._read(self._backend.positions)

    @q.setter
    def q(self, value: Number | Vector) -> None:
        self._backend.check_movable('q', self.place)
        values = self._checked('q', value, self.coordinates[0])
        if isinstance(values, np.ndarray) and self.type in WITH_QUATERNION:
            values[-4:] = unit_quaternion(values[-4:], self.place, 'quaternion of q')
        self._backend.set_positions(slice(None), values)

    @property
    def dq(self) -> Coordinates:
        """Velocity [rad/s or m/s]; a number or an array, and set, like `q`."""
        return self._read(self._backend.velocities)

    @dq.setter
    def dq(self, value: Number | Vector) -> None:
        self._backend.check_movable('dq', self.place)
        self._backend.write('v', slice(None), self._checked('dq', value, self.coordinates[1]))

    @property
    def ddq(self) -> Coordinates:
        """
        Acceleration [rad/s² or m/s²] for the present state and efforts; a copy.

        For a constraint joint the efforts along its axes are their means over the last step.
        """
        values = self._backend.accelerations()
        return float(values[0]) if len(values) == 1 else values.copy()

    @property
    def u(self) -> Coordinates:
        """Applied effort [N m or N] under any control; a step clamps it to the effort limit."""
        return self._read(self._backend.efforts)

    @u.setter
    def u(self, value: Number | Vector) -> None:
        self._backend.set_efforts(slice(None), self._checked('u', value, self.coordinates[1]))

    # --- frames ----------------------------------------------------------------------------------

    link1 = ReadOnly[Link | None](
        '_backend.frames.first.link', 'The first link, the parent in a URDF; None for the world.'
    )
    link2 = ReadOnly[Link | None](
        '_backend.frames.second.link', 'The second link, the child in a URDF; None for the world.'
    )

    @property
    def anchor(self) -> FloatArray:
        """(3,) position of the joint frame on the first link [m], world; after ODE."""
        return self._backend.frames.first.pose[1].copy()

    @property
    def anchor2(self) -> FloatArray:
        """(3,) position of the joint frame on the second link [m], world."""
        return self._backend.frames.second.pose[1].copy()

    @property
    def axis(self) -> FloatArray:
        """(3,) unit vector of the first axis, fixed on the first link; world axes."""
        frames = self._backend.frames
        return frames.first.pose[0] @ frames.axis

    @property
    def axis2(self) -> FloatArray:
        """(3,) unit vector of the last axis, fixed on the second link; world axes."""
        frames = self._backend.frames
        return frames.second.pose[0] @ frames.axis2

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) rotation of the joint frame on the first link: takes vectors to world axes."""
        return self._backend.frames.first.pose[0].copy()

    @property
    def error(self) -> tuple[float, float]:
        """
        Position error [m], and sine of the angular error; 0 for a joint in a tree.

        Beyond a right angle 2 less the sine, so that opposite axes have an error of 2.
        """
        return self._backend.error()

    # --- forces ----------------------------------------------------------------------------------

    @property
    def reaction(self) -> tuple[FloatArray, FloatArray]:
        """
        Force [N] and torque [N m] of the first link on the second, (3,) each, world axes.

        The torque is about `anchor2`. Both are for the present state and comprise applied efforts,
        motors, friction, stops and constraint forces. For a constraint joint, compliant rows and
        the efforts along the axes are means over the last step; all of it is where contacts push
        its links, or an impact struck them. Raises StateError for a robot's fixed joint without a
        force-torque sensor, which is merged into one body.
        """
        return self._backend.reaction()

    def feedback(
        self, frame: str = 'world', about: str = 'center_of_mass', part: str = 'all'
    ) -> Feedback:
        """
        Return the forces and torques of the joint on both its links.

        frame: the axes of the result, 'world', or 'joint' for those of the joint frame on the
            first link.
        about: the point of the torques: 'center_of_mass' of each link, or 'joint' for `anchor2`.
        part: 'all', or only what acts along the axes: of the 'motor', a 'stop' or 'friction'.

        Raises InvalidValueError for other words.
        """
        return feedback_of(self._backend, self.axes, frame, about, part)

    @property
    def potential_energy(self) -> float:
        """Potential energy of the springs of its axes [J]."""
        return sum(
            0.5 * axis.stiffness * (axis.q - axis.reference) ** 2
            for axis in self.axes
            if axis.stiffness > 0.0
        )

    # --- inside ----------------------------------------------------------------------------------

    def _read(self, values_of: Callable[[], FloatArray]) -> Coordinates:
        """Return a number for a single coordinate, else the array, brought up to date."""
        if self._backend.coordinates[1] > 1:
            self._backend.settle()
        values = values_of()
        return float(values[0]) if len(values) == 1 else values

    def _checked(self, what: str, value: object, size: int) -> FloatArray | float:
        """Return `size` finite numbers; else raise InvalidValueError."""
        if size == 1:
            return finite_number(what, value, self.place)
        expected = '' if size else 'nothing, it has no coordinates'
        return finite_vector(what, value, size, self.place, expected)

    @property
    def _type_name(self) -> str:
        kind = self._backend.type
        return kind.value if isinstance(kind, JointType) else kind

    @property
    def _moving(self) -> str:
        """Position and velocity as text; empty for a joint that was removed."""
        if not self.coordinates[0]:
            return ''
        try:
            q, dq = self._backend.positions(), self._backend.velocities()
        except SimBridgeError:
            return ''
        texts = [', '.join(f'{value:.6g}' for value in values) for values in (q, dq)]
        if len(q) > 1:
            texts = [f'[{text}]' for text in texts]
        return f': q = {texts[0]}, dq = {texts[1]}'


def _joint_of(owner: Robot | World, name: str) -> Any:
    return owner.joint(name)
