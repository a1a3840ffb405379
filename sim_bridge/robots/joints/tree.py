"""A joint of a robot in a world, and its axes: their coordinates and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.description.stages import coordinate_counts
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.pipeline.observe import SITE_FORCE, SITE_ROTATION, SITE_TORQUE
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import unit_quaternion
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.axis import Axis

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDescription, Mimic
    from sim_bridge.robots.link import Link
    from sim_bridge.robots.robot import Robot


class JointAxis(Axis):
    """An axis of a joint of a robot's tree."""

    def __init__(self, joint: Joint, number: int):
        """Belong to a joint; joints make their axes."""
        self.robot = joint.robot
        self.joint = joint
        self.number = number
        self.coordinates = (1, 1)

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns."""
        return self.robot.blueprint.model.kind[self._stage()] == engine.PRISMATIC

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector along which, or about which, it moves its child; world."""
        pose = self.robot.simulation.observed_pose(self.robot.offsets.body + self._stage())
        # of a joint whose first link hangs on its second, what hangs moves the other way
        return pose[[2, 5, 8]] * (1.0 if self.joint.by_second else -1.0)

    @property
    def q(self) -> float | np.ndarray:
        """Position."""
        return self._value(self._positions())

    @q.setter
    def q(self, value: float | np.ndarray) -> None:
        self._positions()[:] = self._checked('q', value, self.coordinates[0])

    @property
    def dq(self) -> float | np.ndarray:
        """Velocity."""
        return self._value(self._coordinates_in('v'))

    @dq.setter
    def dq(self, value: float | np.ndarray) -> None:
        self._coordinates_in('v')[:] = self._checked('dq', value, self.coordinates[1])

    @property
    def ddq(self) -> float | np.ndarray:
        """Acceleration, at the present state under the present efforts; a copy."""
        accelerations = self.robot.simulation.observed_accelerations()
        return self._value(accelerations[self._velocity_slice()].copy())

    @property
    def u(self) -> float | np.ndarray:
        """Applied effort, whatever the control; a step clamps it to the limit."""
        return self._value(self._coordinates_in('u'))

    @u.setter
    def u(self, value: float | np.ndarray) -> None:
        self._coordinates_in('u')[:] = self._checked('u', value, self.coordinates[1])

    def parameter_rows(self, array: str, of_balls: bool = False) -> np.ndarray:
        """Return the rows of a model array; see Axis."""
        return getattr(self.robot.part.model, array)[self._velocity_slice()]

    def state_rows(self, array: str) -> np.ndarray:
        """Return the view of the rows of one of State's arrays by velocity."""
        self._settled()
        return getattr(self.robot.part.state, array)[self._velocity_slice()]

    def wake(self) -> None:
        """Let the robot be simulated, if it was asleep."""
        self.robot.wake()

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        self.robot.invalidate()

    def _positions(self) -> np.ndarray:
        """Return the view of the position coordinates."""
        count = self._settled()[0]
        start = self._starts()[0]
        return self.robot.part.state.q[start : start + count]

    def _stage(self) -> int:
        """Return the robot's body that moves along or about it."""
        own = self.robot.blueprint
        moves = (own.model.kind > engine.WELD) & (own.model.kind < engine.FREE)
        at = own.joint_v[self.joint.name] + self.number
        return int(np.flatnonzero(moves & (own.model.v_index == at))[0])

    def _coordinates_in(self, array: str) -> np.ndarray:
        """Return the view of the state's array 'v' or 'u'."""
        return JointAxis.state_rows(self, array)

    def _velocity_slice(self) -> slice:
        start = self._starts()[1]
        return slice(start, start + self.coordinates[1])

    def _settled(self) -> tuple[int, int]:
        """Return `coordinates`; of several users get views, which are to stay valid."""
        if self.coordinates[1] > 1:
            self.robot.simulation.settle()
        return self.coordinates

    def _starts(self) -> tuple[int, int]:
        """Return the first position and velocity coordinate in the world's arrays."""
        q, v = self.joint._starts()
        return q + self.number, v + self.number


class Joint(AnyJoint, JointAxis):
    """
    A joint of a robot's tree; one with a single axis is that axis, of others see `axes`.

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
    """

    is_tree = True
    by_second = True
    """Whether it is the second link, the child, that hangs on the first one, the parent."""

    def __init__(
        self, robot: Robot, description: JointDescription, parent: Link | None, child: Link
    ):
        """Belong to a robot; World makes joints."""
        self.robot = robot
        self.joint = self
        self.number = 0
        self.description = description
        self.name = description.name
        self.type = description.type
        self.parent_link = parent
        self.child_link = child
        self.coordinates = coordinate_counts(description)
        self.axes = self._make_axes()

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
    def q(self) -> float | np.ndarray:
        """Position."""
        return self._value(self._positions())

    @q.setter
    def q(self, value: float | np.ndarray) -> None:
        position = self._checked('q', value, self.coordinates[0])
        if self.type in (JointType.BALL, JointType.FLOATING):
            position[-4:] = unit_quaternion(position[-4:], self.place, 'quaternion of q')
        self._positions()[:] = position

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Force [N] and torque [N m] of the parent on the child through the joint.

        About the joint's origin, world axes. Everything that passes: the applied effort, friction,
        stops, and what the structure carries. Raises StateError for a fixed joint without a
        force-torque sensor, which is part of its body.
        """
        if self.name not in self.robot.blueprint.joint_body:
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
    def link1(self) -> Link | None:
        """The parent link."""
        return self.parent_link

    @property
    def link2(self) -> Link | None:
        """The child link."""
        return self.child_link

    @property
    def anchor(self) -> np.ndarray:
        """(3,) its origin on the parent link [m], world."""
        return self.parent_link.p + self.parent_link.R @ self.description.origin.position

    @property
    def anchor2(self) -> np.ndarray:
        """(3,) its origin on the child link [m], world."""
        return self.child_link.p

    @property
    def axis(self) -> np.ndarray:
        """(3,) its axis on the parent link, world."""
        return self.rotation @ self.description.axis

    @property
    def axis2(self) -> np.ndarray:
        """(3,) its second axis, or only one, on the child link; world."""
        own = self.description
        return self.child_link.R @ (own.axis if own.axis2 is None else own.axis2)

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) the joint's frame on the parent link, world."""
        return self.parent_link.R @ self.description.origin.rotation

    @property
    def error(self) -> tuple[float, float]:
        """By how much it is not closed: nothing, as it is part of a tree."""
        return 0.0, 0.0

    def check_axis(self, of_balls: bool = False) -> None:
        """Raise StateError unless it has a single axis; of_balls: or is a ball joint."""
        if not (of_balls and self.type is JointType.BALL):
            super().check_axis()

    @property
    def _type_name(self) -> str:
        return self.type.value

    def _make_axes(self) -> tuple[JointAxis, ...]:
        if self.type in (JointType.BALL, JointType.FLOATING):
            return ()
        count = self.coordinates[1]
        return (self,) if count == 1 else tuple(JointAxis(self, number) for number in range(count))

    def _starts(self) -> tuple[int, int]:
        blueprint, at = self.robot.blueprint, self.robot.part.at
        return (at.q + blueprint.joint_q.get(self.name, 0),
                at.v + blueprint.joint_v.get(self.name, 0))
