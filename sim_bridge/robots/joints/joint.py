"""A joint for users: its coordinates, frames and axes, and the forces it transmits."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, overload

import numpy as np

from sim_bridge.description.compliance import Compliance, GivenCompliance
from sim_bridge.description.model import JointDescription, JointType, Mimic
from sim_bridge.engine.data.loops import BREAK_ALONG, BREAK_FORCE, BREAK_TORQUE
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.validation import (
    finite_number,
    finite_vector,
    real_array,
    truth,
    unit_quaternion,
)
from sim_bridge.robots.joints.arguments import checked_cfm, checked_erp, compliance_of, of_rows
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.constraint import ConstraintSeat
from sim_bridge.robots.joints.feedback import Feedback, feedback_of
from sim_bridge.robots.joints.seat import Seat
from sim_bridge.robots.joints.tree import TreeSeat, WITH_QUATERNION
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
        attrgetter(f'{slot}.{name}'), set_it if is_writable else None, doc=declared.__doc__)


class AnyJoint(DeclaredAttributes):
    """
    The common base of joints in trees and of constraint joints.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    """

    __slots__ = ('_of_balls', '_only', '_seat', 'axes', 'name')

    internal_names = DeclaredAttributes.internal_names | {'place'}

    is_tree: ClassVar[bool]
    """Whether it is part of a tree, and so exact; else it is a constraint."""
    _seat: Seat
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
    direction: ReadOnly[FloatArray] = _of_axis('direction')

    def __init__(self, seat: Seat):
        """Show what a seat provides; robots and worlds make joints."""
        self._seat = seat
        self.name = seat.name
        count, place = seat.axis_count, seat.place
        own: Any = self
        self.axes = tuple(
            Axis(own, seat, number, place if count == 1 else f'{place}, axis {number}')
            for number in range(count))
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
        return f'<{what} of {self._seat.owner}{self._moving}>'

    type = ReadOnly[JointType | str](
        '_seat.type', 'The joint type; of a constraint its kind in `World.add_joint`.')
    key = ReadOnly[str | None](
        '_seat.key', "Its name among the world's joints; None for a joint of a robot's tree.")
    place = ReadOnly[str]('_seat.place', 'Where the joint is, for messages.')
    coordinates = ReadOnly[tuple[int, int]](
        '_seat.coordinates', 'The numbers of position and of velocity coordinates.')
    mimic = ReadOnly[Mimic | None](
        '_seat.mimic', 'The law by which it follows another joint; None if it follows none.')

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
        constraint joint, whose position follows from its links.
        """
        return self._read(self._seat.positions)

    @q.setter
    def q(self, value: Number | Vector) -> None:
        self._seat.check_movable('q', self.place)
        values = self._checked('q', value, self.coordinates[0])
        if isinstance(values, np.ndarray) and self.type in WITH_QUATERNION:
            values[-4:] = unit_quaternion(values[-4:], self.place, 'quaternion of q')
        self._seat.positions()[:] = values

    @property
    def dq(self) -> Coordinates:
        """Velocity [rad/s or m/s]; a number or an array, and set, like `q`."""
        return self._read(self._seat.velocities)

    @dq.setter
    def dq(self, value: Number | Vector) -> None:
        self._seat.check_movable('dq', self.place)
        self._seat.velocities()[:] = self._checked('dq', value, self.coordinates[1])

    @property
    def ddq(self) -> Coordinates:
        """
        Acceleration [rad/s² or m/s²] for the present state and efforts; a copy.

        For a constraint joint the efforts along its axes are their means over the last step.
        """
        values = self._seat.accelerations()
        return float(values[0]) if len(values) == 1 else values.copy()

    @property
    def u(self) -> Coordinates:
        """Applied effort [N m or N] under any control; a step clamps it to the effort limit."""
        return self._read(self._seat.efforts)

    @u.setter
    def u(self, value: Number | Vector) -> None:
        self._seat.set_efforts(slice(None), self._checked('u', value, self.coordinates[1]))

    # --- frames ----------------------------------------------------------------------------------

    link1 = ReadOnly[Link | None](
        '_seat.frames.first.link', 'The first link, the parent in a URDF; None for the world.')
    link2 = ReadOnly[Link | None](
        '_seat.frames.second.link', 'The second link, the child in a URDF; None for the world.')

    @property
    def anchor(self) -> FloatArray:
        """(3,) position of the joint frame on the first link [m], world; after ODE."""
        return self._seat.frames.first.pose[1].copy()

    @property
    def anchor2(self) -> FloatArray:
        """(3,) position of the joint frame on the second link [m], world."""
        return self._seat.frames.second.pose[1].copy()

    @property
    def axis(self) -> FloatArray:
        """(3,) unit vector of the first axis, fixed on the first link; world axes."""
        frames = self._seat.frames
        return frames.first.pose[0] @ frames.axis

    @property
    def axis2(self) -> FloatArray:
        """(3,) unit vector of the last axis, fixed on the second link; world axes."""
        frames = self._seat.frames
        return frames.second.pose[0] @ frames.axis2

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) rotation of the joint frame on the first link: takes vectors to world axes."""
        return self._seat.frames.first.pose[0].copy()

    @property
    def error(self) -> tuple[float, float]:
        """
        Position error [m], and sine of the angular error; 0 for a joint in a tree.

        Beyond a right angle 2 less the sine, so that opposite axes have an error of 2.
        """
        return self._seat.error()

    # --- forces ----------------------------------------------------------------------------------

    @property
    def reaction(self) -> tuple[FloatArray, FloatArray]:
        """
        Force [N] and torque [N m] of the first link on the second, (3,) each, world axes.

        The torque is about `anchor2`. Both are for the present state and comprise applied efforts,
        motors, friction, stops and constraint forces. For a constraint joint, compliant rows and
        the efforts along the axes are means over the last step. Raises StateError for a robot's
        fixed joint without a force-torque sensor, which is merged into one body.
        """
        return self._seat.reaction()

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
        return feedback_of(self._seat, self.axes, frame, about, part)

    @property
    def potential_energy(self) -> float:
        """Potential energy of the springs of its axes [J]."""
        return sum(
            0.5 * axis.stiffness * (axis.q - axis.reference) ** 2
            for axis in self.axes if axis.stiffness > 0.0)

    # --- inside ----------------------------------------------------------------------------------

    def _read(self, values_of: Callable[[], FloatArray]) -> Coordinates:
        """Return a number for a single coordinate, else the array, brought up to date."""
        if self._seat.coordinates[1] > 1:
            self._seat.settle()
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
        kind = self._seat.type
        return kind.value if isinstance(kind, JointType) else kind

    @property
    def _moving(self) -> str:
        """Position and velocity as text; empty for a joint that was removed."""
        if not self.coordinates[0]:
            return ''
        try:
            q, dq = self._seat.positions(), self._seat.velocities()
        except SimBridgeError:
            return ''
        texts = [', '.join(f'{value:.6g}' for value in values) for values in (q, dq)]
        if len(q) > 1:
            texts = [f'[{text}]' for text in texts]
        return f': q = {texts[0]}, dq = {texts[1]}'


class Joint(AnyJoint):
    """
    A joint of a tree: of a robot's description, or of `World.add_joint` where it closes no loop.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    q, dq, ddq and u are numbers for one-axis joints [rad or m; per s; per s²; N m or N], and
    arrays for others:

    - planar (3,): along the plane's x and y, about its normal;
    - piston (2,): along the axis, about the axis;
    - universal (2,): about axis 1, fixed on the parent, about axis 2, fixed on the child;
    - hinge2 (2,): as universal; with a suspension (3,), the third along axis 1;
    - ball: q (4,) is the quaternion x y z w of the child's frame in the joint frame on the parent;
      dq, ddq and u (3,) are angular velocity and acceleration of the child relative to the parent,
      and torque, in the axes of that joint frame;
    - floating: q (7,) is position and quaternion x y z w of the child's frame in the world; dq,
      ddq and u (6,) are linear, then angular, in world axes.

    Setting them to anything but that many finite numbers raises InvalidValueError. Quaternions are
    normalised. The coordinates are those of the second link, the child, relative to the first, the
    parent, whichever of the two is nearer to the root of the tree.
    """

    __slots__ = ()

    is_tree = True
    _seat: TreeSeat

    def __init__(self, seat: TreeSeat):
        """Show what a seat in a tree provides."""
        super().__init__(seat)
        if seat.is_ball:
            self._of_balls = Axis(self, seat, 0, seat.place, rows=slice(0, 3))

    robot = ReadOnly[Robot](
        '_seat.robot', 'The robot that it is part of, or whose base is mounted on it.')
    description = ReadOnly[JointDescription](
        '_seat.description', 'The description that it was made from.')
    parent_link = ReadOnly[Link | None](
        '_seat.parent_link', 'The link nearer to the root of the tree; None for the world.')
    child_link = ReadOnly[Link](
        '_seat.child_link', 'The link farther from the root of the tree.')
    by_second = ReadOnly[bool](
        '_seat.by_second', 'Whether the second link is the child; else the first one is.')


_LIMITS = 'a number above 0, or inf where none does, or six of them [N; N m]'


class _Toughness:
    """What a constraint joint bears at most: a column of its seat's `toughness`."""

    def __init__(self, column: int, unit: str):
        """Declare a column. unit: of it, for messages."""
        self._column, self._expected = column, f'a number above 0, or inf where none does [{unit}]'
        self.__doc__ = f'What breaks the joint. Can be set to {self._expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, joint: None, owner: type) -> _Toughness: ...
    @overload
    def __get__(self, joint: ConstraintJoint, owner: type | None = None) -> float: ...

    def __get__(
        self, joint: ConstraintJoint | None, owner: type | None = None
    ) -> float | _Toughness:
        """Return the present value."""
        return self if joint is None else float(joint._seat.toughness[self._column])

    def __set__(self, joint: ConstraintJoint, value: Number) -> None:
        """Set it; raises InvalidValueError for what is not above 0."""
        array = real_array(self._name, value, self._expected, joint.place)
        if array.ndim or not array > 0.0:
            raise InvalidValueError(self._name, value, self._expected, joint.place)
        joint._seat.toughness[self._column] = array
        joint._seat.invalidate()


class ConstraintJoint(AnyJoint):
    """
    A joint outside the trees: bilateral constraints with Lagrange multipliers, after ODE's joints.

    It closes a loop, or is compliant. With cfm = 0 it is rigid and holds to rounding; else its
    velocity error is ERP / h times its position error, less CFM times its force, with h the time
    step. That is a spring and a damper, implicit and so stable for any: `compliance` says which,
    in each direction.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    q, dq, ddq and u are numbers or arrays over the axes, in the order of a tree's joint of that
    type; the suspension of a hinge-2 is not an axis. For ball joints they raise StateError: an
    angular motor measures the angles. Setting q or dq raises StateError: they follow from the
    links.
    """

    __slots__ = ()

    is_tree = False
    _seat: ConstraintSeat

    def __init__(self, seat: ConstraintSeat):
        """Show what a seat among the constraints provides."""
        super().__init__(seat)
        seat.joint = self

    @property
    def erp(self) -> Coordinates:
        """
        Error reduction parameter: share of the error that a step corrects [1]; can be set.

        A number for all rows, or (n,) one for each where they differ. The rows are those of the
        joint type, in the order of docs/closed_loops.md.
        """
        return _as_array(self._seat.softness[0])

    @erp.setter
    def erp(self, value: Number | Vector) -> None:
        erp = of_rows(checked_erp, value, self._seat.row_count, self.place)
        self._seat.softness = erp, self._seat.softness[1]

    @property
    def cfm(self) -> Coordinates:
        """
        Constraint force mixing [m/(N s), rad/(N m s)]; can be set; as `erp`.

        0: the joint, or the row, is rigid.
        """
        return _as_array(self._seat.softness[1])

    @cfm.setter
    def cfm(self, value: Number | Vector) -> None:
        cfm = of_rows(checked_cfm, value, self._seat.row_count, self.place)
        self._seat.softness = self._seat.softness[0], cfm

    @property
    def compliance(self) -> Compliance:
        """
        Stiffness and damping in each direction, six each; can be set, with numbers for all too.

        Along x, y and z of the joint's axes (`rotation`) [N/m; N s/m], then about them [N m/rad;
        N m s/rad]. Infinite where the joint is rigid, 0 where it is free; see `Compliance`. What
        is set for free directions is not used. The same as `erp` and `cfm`, in other words.
        Raises InvalidValueError where a direction would have neither spring nor damper.
        """
        return self._seat.compliance

    @compliance.setter
    def compliance(self, value: GivenCompliance) -> None:
        self._seat.compliance = compliance_of(value, self.place)

    break_force = _Toughness(BREAK_FORCE, 'N')
    break_torque = _Toughness(BREAK_TORQUE, 'N m')

    @property
    def break_limits(self) -> FloatArray:
        """
        (6,) What breaks the joint in one direction alone [N; N m]; can be set, one for all too.

        Along x, y and z of the joint's axes, then about them, as of `compliance`; inf where none
        does. The joint goes on holding the other directions.
        """
        limits = self._seat.toughness[BREAK_ALONG:].view()
        limits.flags.writeable = False
        return limits

    @break_limits.setter
    def break_limits(self, value: Number | Vector) -> None:
        array = real_array('break_limits', value, _LIMITS, self.place)
        if array.shape not in ((), (6,)) or not (array > 0.0).all():
            raise InvalidValueError('break_limits', value, _LIMITS, self.place)
        self._seat.toughness[BREAK_ALONG:] = array
        self._seat.invalidate()

    @property
    def broken_directions(self) -> np.ndarray:
        """(6,) The directions in which it is broken, as of `break_limits`."""
        return (self._seat.broken >> np.arange(1, 7) & 1).astype(bool)

    @property
    def distance(self) -> float:
        """
        The distance that a distance joint keeps [m]; can be set.

        A rigid one is closed to the new distance in the next step. Raises StateError for a joint
        of another type, and InvalidValueError for what is not above 0 and finite.
        """
        self._check_distance()
        return self._seat.distance

    @distance.setter
    def distance(self, value: float) -> None:
        self._check_distance()
        number = finite_number('distance', value, self.place)
        if not number > 0.0:
            raise InvalidValueError('distance', value, 'a number above 0 [m]', self.place)
        self._seat.distance = number

    def _check_distance(self) -> None:
        if self.type != 'distance':
            raise StateError(f'{self.place} is of type {self.type} and keeps no distance')

    @property
    def is_broken(self) -> bool:
        """
        Whether the joint holds nothing any more, and nothing acts on its axes; can be set.

        It breaks in a step in which its rows would have to transmit more than `break_force` or,
        about `anchor2`, more than `break_torque`, or when all its directions are broken; efforts
        along its axes do not count. That step is solved without it; of several the most overloaded
        breaks first. Its links stay excluded from contact. `World.reset` mends it, as setting
        False does.
        """
        return self._seat.is_broken

    @is_broken.setter
    def is_broken(self, value: bool) -> None:
        self._seat.is_broken = truth('is_broken', value, self.place)


def _joint_of(owner: Robot | World, name: str) -> Any:
    return owner.joint(name)


def _as_array(values: float | tuple[float, ...]) -> Coordinates:
    return np.array(values) if isinstance(values, tuple) else values
