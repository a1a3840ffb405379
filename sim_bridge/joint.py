"""A joint of a robot in a world: its coordinates and its parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.engine import model as engine
from sim_bridge.engine.observe import SITE_FORCE, SITE_ROTATION, SITE_TORQUE
from sim_bridge.errors import InvalidValueError, StateError
from sim_bridge.values import finite_vector

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDescription, Mimic
    from sim_bridge.link import Link
    from sim_bridge.robot import Robot

_COORDINATES = {JointType.FIXED: (0, 0), JointType.PLANAR: (3, 3), JointType.FLOATING: (7, 6)}


class _Parameter:
    """A joint parameter kept in the model, checked when it is set."""

    def __init__(
        self,
        array: str,
        column: int,
        expected: str,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ):
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum = minimum, maximum

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, joint: Joint, owner: type | None = None) -> float:
        return float(joint.parameter_row(self._array)[self._column])

    def __set__(self, joint: Joint, value: float) -> None:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self._minimum <= number <= self._maximum:
            raise InvalidValueError(self._name, value, self._expected, joint.place)
        self.check(joint, number)
        joint.parameter_row(self._array)[self._column] = number
        joint.robot.invalidate()

    def check(self, joint: Joint, number: float) -> None:
        """Refuse what does not fit the joint's other parameters."""


class _LowerStop(_Parameter):
    """The lower position limit."""

    def check(self, joint: Joint, number: float) -> None:
        """Refuse a limit above the upper one."""
        if number > joint.upper:
            raise InvalidValueError(
                'lower', number, f'at most upper, which is {joint.upper}', joint.place)


class _UpperStop(_Parameter):
    """The upper position limit."""

    def check(self, joint: Joint, number: float) -> None:
        """Refuse a limit below the lower one."""
        if number < joint.lower:
            raise InvalidValueError(
                'upper', number, f'at least lower, which is {joint.lower}', joint.place)


class Joint:
    """
    A joint.

    q, dq, ddq, u are numbers for one-axis joints [rad or m, and N m or N]; for planar joints
    arrays (3,): along the plane's x and y, about its normal; for floating ones q is (7,) position
    and quaternion x y z w of the child's frame in the world, the others (6,) linear then angular,
    world axes. Set to anything but that many finite numbers they raise InvalidValueError; a
    quaternion is normalised.
    """

    damping = _Parameter(
        'passive', engine.DAMPING, 'a number of at least 0 [N m s/rad or N s/m]', 0.0)
    friction = _Parameter('passive', engine.FRICTION, 'a number of at least 0 [N m or N]', 0.0)
    armature = _Parameter('passive', engine.ARMATURE, 'a number of at least 0 [kg m² or kg]', 0.0)
    stiffness = _Parameter(
        'passive', engine.STIFFNESS, 'a number of at least 0 [N m/rad or N/m]', 0.0)
    reference = _Parameter('passive', engine.REFERENCE, 'a number [rad or m]')
    lower = _LowerStop('limits', engine.LOWER, 'a number, or -inf for none [rad or m]')
    upper = _UpperStop('limits', engine.UPPER, 'a number, or inf for none [rad or m]')
    effort_limit = _Parameter(
        'limits', engine.EFFORT, 'a number of at least 0, or inf for none [N m or N]', 0.0)

    def __init__(self, robot: Robot, description: JointDescription, parent: Link, child: Link):
        """Belong to a robot; World makes joints."""
        self.robot = robot
        self.description = description
        self.name = description.name
        self.type = description.type
        self.parent_link = parent
        self.child_link = child

    def __repr__(self) -> str:
        """Show the names."""
        return f'<Joint {self.name!r} ({self.type.value}) of {self.robot.name!r}>'

    @property
    def place(self) -> str:
        """Where the joint is, for messages."""
        return f'robot {self.robot.name!r}, joint {self.name!r}'

    @property
    def mimic(self) -> Mimic | None:
        """The law that makes this joint follow another."""
        return self.description.mimic

    @property
    def velocity_limit(self) -> float:
        """The described velocity limit [rad/s or m/s]; the simulation does not enforce it."""
        return self.description.limits.velocity

    @property
    def q(self) -> float | np.ndarray:
        """Position."""
        return self._value(self.robot.joint_positions(self))

    @q.setter
    def q(self, value: float | np.ndarray) -> None:
        position = self._checked('q', value, self.coordinates[0])
        if self.type is JointType.FLOATING:
            length = np.linalg.norm(position[3:])
            if length < 1e-6:
                raise InvalidValueError(
                    'q', value, 'a quaternion x y z w of non-zero length at the end', self.place)
            position[3:] /= length
        self.robot.joint_positions(self)[:] = position

    @property
    def dq(self) -> float | np.ndarray:
        """Velocity."""
        return self._value(self.robot.joint_velocities(self))

    @dq.setter
    def dq(self, value: float | np.ndarray) -> None:
        velocity = self._checked('dq', value, self.coordinates[1])
        self.robot.joint_velocities(self)[:] = velocity

    @property
    def ddq(self) -> float | np.ndarray:
        """Acceleration, at the present state under the present efforts; a copy."""
        return self._value(self.robot.joint_accelerations(self).copy())

    @property
    def u(self) -> float | np.ndarray:
        """Applied effort; a step clamps it to the limit."""
        return self._value(self.robot.joint_efforts(self))

    @u.setter
    def u(self, value: float | np.ndarray) -> None:
        self.robot.joint_efforts(self)[:] = self._checked('u', value, self.coordinates[1])

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Force [N] and torque [N m] of the parent on the child through the joint.

        About the joint's origin, world axes. Everything that passes: the applied effort, friction,
        stops, and what the structure carries. Raises StateError for a fixed joint without a
        force-torque sensor, which is part of its body.
        """
        body = self.robot.joint_body(self)
        if body is None:
            raise StateError(
                f'the reaction of fixed joint {self.name!r} of robot {self.robot.name!r} is not '
                'computed: its links are one body. Declare a force-torque sensor on it'
            )
        # the child link's frame is the joint's, and its site's reaction that of its body's joint
        site = self.robot.site(self.child_link)
        rotation = site[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3)
        force, torque = site[SITE_FORCE : SITE_FORCE + 3], site[SITE_TORQUE : SITE_TORQUE + 3]
        return -rotation @ force, -rotation @ torque

    @property
    def coordinates(self) -> tuple[int, int]:
        """The numbers of position and of velocity coordinates."""
        return _COORDINATES.get(self.type, (1, 1))

    def parameter_row(self, array: str) -> np.ndarray:
        """
        Give the joint's row of the model's array 'passive' or 'limits'.

        Raises StateError for a joint that is not a one-axis one.
        """
        if self.coordinates != (1, 1):
            raise StateError(
                f'{self.place} is {self.type.value}: only one-axis joints have such parameters'
            )
        return self.robot.parameter_row(array, self)

    def _checked(self, what: str, value: object, size: int) -> np.ndarray:
        expected = {0: 'nothing, it has no coordinates', 1: 'a finite number'}.get(size, '')
        return finite_vector(what, value, size, self.place, expected)

    @staticmethod
    def _value(array: np.ndarray) -> float | np.ndarray:
        return float(array[0]) if len(array) == 1 else array
