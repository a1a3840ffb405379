"""A joint, as its users see it: where it is, how it moves, and its axes."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar, NoReturn, TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import SimBridgeError, StateError
from sim_bridge.foundation.validation import finite_number, finite_vector
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.feedback import Feedback, feedback_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sim_bridge.description.model import JointDescription, Mimic
    from sim_bridge.robots.interfaces import LinkInterface, RobotInterface
    from sim_bridge.robots.joints.seat import Seat, YieldingSeat
    from sim_bridge.robots.joints.tree import TreeSeat

_ALL = slice(None)


class _NoAxis:
    """Stands for the only axis of a joint that does not have just one."""

    __slots__ = ('_message',)

    def __init__(self, message: str):
        """Raise StateError with a message for whatever is asked."""
        object.__setattr__(self, '_message', message)

    def __getattr__(self, name: str) -> NoReturn:
        raise StateError(self._message)

    def __setattr__(self, name: str, value: object) -> None:
        raise StateError(self._message)


def _of_axis(name: str, slot: str = '_only') -> Any:
    """
    Return the property of a joint that its only axis has under the same name.

    slot: where the joint keeps that axis.
    """
    declared, own = getattr(Axis, name), attrgetter(slot)

    def set_it(joint: Any, value: object) -> None:
        setattr(own(joint), name, value)

    is_writable = not isinstance(declared, property) or declared.fset is not None
    return property(
        attrgetter(f'{slot}.{name}'), set_it if is_writable else None, doc=declared.__doc__)


class AnyJoint(DeclaredAttributes):
    """
    What all joints have in common, whether they are part of a tree or close a loop.

    With a single axis a joint has its axis' properties; of others see `axes`.
    """

    __slots__ = ('_of_balls', '_only', '_seat', 'axes', 'name')

    internal_names = DeclaredAttributes.internal_names | {'place'}

    is_tree: ClassVar[bool]
    """Whether it is part of a tree, and so exact; else it is solved for as rows."""
    _seat: Seat
    name: str
    axes: tuple[Axis, ...]
    """One for each coordinate that turns about, or slides along, an axis."""

    # of ball joints in trees too, the same in all directions
    damping: float = _of_axis('damping', '_of_balls')
    armature: float = _of_axis('armature', '_of_balls')

    friction: float = _of_axis('friction')
    stiffness: float = _of_axis('stiffness')
    reference: float = _of_axis('reference')
    lower: float = _of_axis('lower')
    upper: float = _of_axis('upper')
    effort_limit: float = _of_axis('effort_limit')
    velocity_limit: float = _of_axis('velocity_limit')
    kp: float = _of_axis('kp')
    kd: float = _of_axis('kd')
    max_effort: float = _of_axis('max_effort')
    bounce: float = _of_axis('bounce')
    stop_erp: float = _of_axis('stop_erp')
    stop_cfm: float = _of_axis('stop_cfm')
    control: str = _of_axis('control')
    target_position: float = _of_axis('target_position')
    target_velocity: float = _of_axis('target_velocity')
    motor_effort: float = _of_axis('motor_effort')
    friction_effort: float = _of_axis('friction_effort')
    stop_effort: float = _of_axis('stop_effort')
    is_linear: bool = _of_axis('is_linear')
    direction: np.ndarray = _of_axis('direction')

    def __init__(self, seat: Seat):
        """Be the joint that sits somewhere; robots and worlds make joints."""
        self._seat = seat
        self.name = seat.name
        count, place = seat.axis_count, seat.place
        self.axes = tuple(
            Axis(self, seat, number, place if count == 1 else f'{place}, axis {number}')
            for number in range(count))
        if count == 1:
            self._only: Any = self.axes[0]
        else:
            has = 'its `axes` have' if count else 'only one-axis joints and axes have'
            self._only = _NoAxis(f'{place} is {self._type_name}: {has} such parameters')
        self._of_balls = self._only

    def __repr__(self) -> str:
        """Show type, name, links or robot, and how it moves."""
        what = f'{type(self).__name__} {self.name!r} ({self._type_name})'
        return f'<{what} {self._whose}{self._moving}>'

    @property
    def type(self) -> JointType | str:
        """The kind of joint: of a description's, or of `World.add_joint`'s words for rows."""
        return self._seat.type

    @property
    def key(self) -> str | None:
        """Its name among the world's joints; None for one that is a robot's alone."""
        return self._seat.key

    @property
    def place(self) -> str:
        """Where the joint is, for messages."""
        return self._seat.place

    @property
    def coordinates(self) -> tuple[int, int]:
        """The numbers of position and of velocity coordinates."""
        return self._seat.coordinates

    @property
    def mimic(self) -> Mimic | None:
        """The law that makes this joint follow another."""
        return self._seat.mimic

    @property
    def followed(self) -> str | None:
        """The joint that this one mimics, if any."""
        law = self._seat.mimic
        return None if law is None else law.joint

    # --- how it moves ----------------------------------------------------------------------------

    @property
    def q(self) -> float | np.ndarray:
        """
        Position: a number of a one-axis joint, else an array over the coordinates.

        Raises StateError where it is set for a joint that closes a loop, or yields: it is for the
        links to move.
        """
        return self._read(self._seat.positions)

    @q.setter
    def q(self, value: float | Sequence[float] | np.ndarray) -> None:
        self._seat.check_movable('q', self.place)
        self._seat.set_positions(_ALL, self._checked('q', value, self.coordinates[0]))

    @property
    def dq(self) -> float | np.ndarray:
        """Velocity, likewise."""
        return self._read(self._seat.velocities)

    @dq.setter
    def dq(self, value: float | Sequence[float] | np.ndarray) -> None:
        self._seat.check_movable('dq', self.place)
        self._seat.set_velocities(_ALL, self._checked('dq', value, self.coordinates[1]))

    @property
    def ddq(self) -> float | np.ndarray:
        """
        Acceleration, at the present state under the present efforts; a copy.

        Where the joint closes a loop, or yields, under what acted along its axes, on average, in
        the last step.
        """
        values = self._seat.accelerations()
        return float(values[0]) if len(values) == 1 else values.copy()

    @property
    def u(self) -> float | np.ndarray:
        """Applied effort, whatever the control; a step clamps it to the limit."""
        return self._read(self._seat.efforts)

    @u.setter
    def u(self, value: float | Sequence[float] | np.ndarray) -> None:
        self._seat.set_efforts(_ALL, self._checked('u', value, self.coordinates[1]))

    # --- where it is -----------------------------------------------------------------------------

    @property
    def link1(self) -> LinkInterface | None:
        """The first link, a tree joint's parent; None for the world."""
        return self._seat.frames.first.link

    @property
    def link2(self) -> LinkInterface | None:
        """The second link, a tree joint's child; None for the world."""
        return self._seat.frames.second.link

    @property
    def anchor(self) -> np.ndarray:
        """(3,) where it is on the first link [m], world; after ODE."""
        return self._seat.frames.first.pose[1].copy()

    @property
    def anchor2(self) -> np.ndarray:
        """(3,) where it is on the second link [m], world."""
        return self._seat.frames.second.pose[1].copy()

    @property
    def axis(self) -> np.ndarray:
        """(3,) its axis on the first link, world."""
        frames = self._seat.frames
        return frames.first.pose[0] @ frames.axis

    @property
    def axis2(self) -> np.ndarray:
        """(3,) its second axis, or only one, on the second link; world."""
        frames = self._seat.frames
        return frames.second.pose[0] @ frames.axis2

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) its frame on the first link, world."""
        return self._seat.frames.first.pose[0].copy()

    @property
    def error(self) -> tuple[float, float]:
        """By how much it is not closed: way [m], and sine of an angle or of its complement."""
        return self._seat.error()

    # --- what passes -----------------------------------------------------------------------------

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Force [N] and torque [N m] of the first link on the second; about `anchor2`, world axes.

        Everything that passes at the present state: the applied effort, friction, stops, and what
        the structure carries. Of a joint that closes a loop, or yields: rows that yield, and what
        acts along the axes, with their means over the last step. Raises StateError for a robot's
        fixed joint without a force-torque sensor, which is part of its body.
        """
        return self._seat.reaction()

    def feedback(
        self, frame: str = 'world', about: str = 'center_of_mass', part: str = 'all'
    ) -> Feedback:
        """Return what the joint does to both its links; see `feedback.feedback_of`."""
        return feedback_of(self._seat, self.axes, frame, about, part)

    @property
    def potential_energy(self) -> float:
        """Energy of the springs of its axes [J]."""
        return sum(
            0.5 * axis.stiffness * (axis.q - axis.reference) ** 2
            for axis in self.axes if axis.stiffness > 0.0)

    # --- inside ----------------------------------------------------------------------------------

    def _read(self, values_of: Callable[[], np.ndarray]) -> float | np.ndarray:
        """Return a number for a single coordinate; else an array, which is to stay valid."""
        if self._seat.coordinates[1] > 1:
            self._seat.settle()
        values = values_of()
        return float(values[0]) if len(values) == 1 else values

    def _checked(self, what: str, value: object, size: int) -> np.ndarray | float:
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
    def _whose(self) -> str:
        raise NotImplementedError

    @property
    def _moving(self) -> str:
        """Position and velocity, as text; none where the joint was taken out of the world."""
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
    A joint of a robot's tree; one with a single axis has its properties, of others see `axes`.

    q, dq, ddq, u are numbers for one-axis joints [rad or m, and N m or N], for others arrays:

    - planar (3,): along the plane's x and y, about its normal;
    - piston (2,): along and about the axis;
    - universal (2,): about axis 1, fixed on the parent, about axis 2, fixed on the child;
    - hinge2 (2,) likewise, or (3,) and along axis 1 where it has a suspension;
    - ball: q (4,) the quaternion x y z w of the child's frame in the joint frame on the parent,
      the others (3,): angular velocity of the child relative to the parent in that frame's axes,
      the rate at which it changes there, and torque;
    - floating: q (7,) position and quaternion x y z w of the child's frame in the world, the
      others (6,) linear then angular, world axes.

    Set to anything but that many finite numbers they raise InvalidValueError; a quaternion is
    normalised.

    One of `World.add_joint` that closes no loop is such a joint too: exact, and as cheap as a
    robot's own joints. Its coordinates are those of the second link relative to the first,
    whichever of the two hangs on the other.
    """

    __slots__ = ()

    is_tree = True
    _seat: TreeSeat

    def __init__(self, seat: TreeSeat):
        """Be the joint that sits in a tree."""
        super().__init__(seat)
        if seat.is_ball:
            self._of_balls = Axis(self, seat, 0, seat.place, rows=slice(0, 3))

    @property
    def robot(self) -> RobotInterface:
        """The robot that it is part of, or whose base hangs on it."""
        return self._seat.robot

    @property
    def description(self) -> JointDescription:
        """What a description says of it."""
        return self._seat.description

    @property
    def parent_link(self) -> LinkInterface | None:
        """The link that carries it, nearer to the root; None for the world."""
        return self._seat.parent_link

    @property
    def child_link(self) -> LinkInterface:
        """The link that hangs on it."""
        return self._seat.child_link

    @property
    def by_second(self) -> bool:
        """Whether it is the second link that hangs on the first one."""
        return self._seat.by_second

    @property
    def _whose(self) -> str:
        return f'of {self.robot.name!r}'


class ConstraintJoint(AnyJoint):
    """
    A joint that is solved for as rows beside the trees: bilateral constraints with multipliers.

    It holds to rounding, or where cfm is not 0 yields like ODE's joints: its velocity error is
    ERP / h times its position error, less CFM times its force. After ODE's joints, their feedback
    and parameters.

    One that leaves a single coordinate free has its axis' properties, of others see `axes`. q, dq,
    ddq, u are numbers or arrays over these, in the order of a tree's joint of that type; a
    hinge-2's suspension is no axis. They raise StateError for ball joints, whose angles an angular
    motor measures, and q and dq where they are set: they follow from the links.
    """

    __slots__ = ()

    is_tree = False
    _seat: YieldingSeat

    @property
    def erp(self) -> float:
        """Share of the error that a step takes back where it yields; from 0 to 1, to be set."""
        return self._seat.erp

    @erp.setter
    def erp(self, value: float) -> None:
        self._seat.erp = value

    @property
    def cfm(self) -> float:
        """How much it yields [m/(N s), rad/(N m s)]; 0 where it is rigid, to be set."""
        return self._seat.cfm

    @cfm.setter
    def cfm(self, value: float) -> None:
        self._seat.cfm = value

    @property
    def _whose(self) -> str:
        names = [link.name if link else 'the world' for link in (self.link1, self.link2)]
        return f'of {names[0]} and {names[1]}'
