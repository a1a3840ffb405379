"""A coordinate that a constraint joint leaves free."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.axis import Axis

if TYPE_CHECKING:
    from sim_bridge.robots.joints.constraint import ConstraintJoint

# columns of State.axis_effort
FRICTION_SHARE, MOTOR_SHARE, STOP_SHARE = range(3)


class ConstraintAxis(Axis):
    """A coordinate that a constraint joint leaves free; q and dq follow from the links' motion."""

    joint: ConstraintJoint

    def __init__(self, joint: ConstraintJoint, number: int):
        """Belong to a joint; joints make their axes."""
        self.joint = joint
        self.number = number
        self.coordinates = (1, 1)

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns."""
        return bool(self.joint.free.linear[self.number])

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector, world."""
        return self.joint.free.directions()[self.number]

    @property
    def q(self) -> float | np.ndarray:
        """Position; raises StateError where it is set, as it is for the links to move."""
        return self._own(self.joint.free.positions(self.joint.values.q))

    @q.setter
    def q(self, value: float | np.ndarray) -> None:
        self._refuse('q')

    @property
    def dq(self) -> float | np.ndarray:
        """Velocity; raises StateError where it is set, as above."""
        return self._own(self.joint.free.velocities())

    @dq.setter
    def dq(self, value: float | np.ndarray) -> None:
        self._refuse('dq')

    @property
    def ddq(self) -> float | np.ndarray:
        """
        Acceleration, at the present state.

        Under what acted along the axes of constraints, on average, in the last step.
        """
        return self._own(self.joint.free.accelerations())

    @property
    def u(self) -> float | np.ndarray:
        """Applied effort, whatever the control; a step clamps it to the limit."""
        self.joint.world.settle()
        return self._own(self.joint.values.u)

    @u.setter
    def u(self, value: float | np.ndarray) -> None:
        efforts = self._checked('u', value, self.coordinates[1])
        self.joint.world.settle()
        self.joint.values.u[self._own_rows()] = efforts
        self.wake()

    def parameter_rows(self, array: str, of_balls: bool = False) -> np.ndarray:
        """Return the row of a parameter array; see Axis."""
        self.joint.world.settle()
        return getattr(self.joint.values, array)[self._own_rows()]

    def state_rows(self, array: str) -> np.ndarray:
        """Return the row of an array named as one of State's by velocity."""
        self.joint.world.settle()
        values, rows = self.joint.values, self._own_rows()
        efforts = values.effort[rows]
        shares = {'friction': efforts[:, FRICTION_SHARE], 'motor': efforts[:, MOTOR_SHARE],
                  'force': efforts[:, FRICTION_SHARE] + efforts[:, STOP_SHARE]}
        return shares[array] if array in shares else getattr(values, array)[rows]

    def wake(self) -> None:
        """Let both robots be simulated, if they were asleep."""
        for frame in self.joint.frames:
            if frame.link is not None:
                frame.link.robot.wake()
        self.joint.world.forget_observations()

    def invalidate(self) -> None:
        """Forget what was computed from the parameters."""
        self.joint.world.invalidate()

    def _own_rows(self) -> slice:
        """Return its rows among the joint's."""
        return slice(self.number, self.number + self.coordinates[1])

    def _own(self, numbers: np.ndarray) -> float | np.ndarray:
        """Return what is its own of an array over the joint's coordinates."""
        return self._value(numbers[self._own_rows()])

    def _refuse(self, what: str) -> None:
        raise StateError(
            f'{what} of {self.place} follows from its links: move those, or let its motor do so')
