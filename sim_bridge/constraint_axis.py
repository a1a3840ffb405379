"""A coordinate that a constraint joint leaves free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.axis import Axis
from sim_bridge.engine.loops.loops import ALONG, EULER, FIRST, HINGE, SECOND, SPIN, SPIN_B, X, Y, Z

if TYPE_CHECKING:
    from sim_bridge.constraint_joint import ConstraintJoint

# columns of State.axis_effort
_FRICTION, _MOTOR, _STOP = range(3)


class ConstraintAxis(Axis):
    """A coordinate that a constraint joint leaves free; q and dq follow from the links' motion."""

    def __init__(
        self, joint: ConstraintJoint, number: int, kind: int, direction: int, vector: np.ndarray
    ):
        """
        Belong to a joint; joints make their axes.

        kind, direction, vector: as the engine's Loops has them for each axis.
        """
        self.joint = joint
        self.number = number
        self._kind, self._direction, self._vector = kind, direction, vector

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns."""
        return self._kind == ALONG

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector, world."""
        R_A, R_B = (frame.pose[0] for frame in self.joint.frames)
        if self._kind in (SPIN, SPIN_B):
            return (R_A if self._kind == SPIN else R_B) @ self._vector
        if self._kind == EULER:
            middle = np.cross(R_B[:, X], R_A[:, Z])
            return (R_A[:, Z], middle / np.linalg.norm(middle), R_B[:, X])[self._direction]
        return (R_B if self._kind == SECOND else R_A)[:, self._direction]

    @property
    def q(self) -> float:
        """Position."""
        (R_A, p_A), (R_B, p_B) = (frame.pose for frame in self.joint.frames)
        if self._kind == ALONG:
            return float(R_A[:, self._direction] @ (p_B - p_A))
        last = float(self.joint.values.q[self.number])
        if self._kind in (SPIN, SPIN_B):
            return last
        if self._kind == EULER:
            x, z = R_B[:, X], R_A[:, Z]
            s, c = ((R_A[:, Y] @ x, R_A[:, X] @ x), (x @ z, np.linalg.norm(np.cross(x, z))),
                    (R_B[:, Y] @ z, R_B[:, Z] @ z))[self._direction]
        elif self._kind == HINGE:
            s, c = R_A[:, Y] @ R_B[:, X], R_A[:, X] @ R_B[:, X]
        elif self._kind == FIRST:
            s, c = R_A[:, Y] @ R_B[:, Z], R_A[:, X] @ R_B[:, Z]
        else:
            s, c = -R_B[:, Y] @ R_A[:, Z], R_B[:, X] @ R_A[:, Z]
        angle = math.atan2(s, c)
        return angle + 2.0 * math.pi * round((last - angle) / (2.0 * math.pi))

    @property
    def dq(self) -> float:
        """Velocity."""
        first, second = self.joint.frames
        point = second.pose[1]
        (v_A, w_A), (v_B, w_B) = first.velocity(point), second.velocity(point)
        if self.is_linear:
            return float(self.direction @ (v_B - v_A))
        others = [axis.direction for axis in self.joint.axes if not axis.is_linear]
        rates = np.linalg.lstsq(np.array(others).T, w_B - w_A, rcond=None)[0]
        turning = [axis.number for axis in self.joint.axes if not axis.is_linear]
        return float(rates[turning.index(self.number)])

    @property
    def u(self) -> float:
        """Applied effort, whatever the control; a step clamps it to the limit."""
        self.joint.world.settle()
        return float(self.joint.values.u[self.number])

    @u.setter
    def u(self, value: float) -> None:
        effort = self._checked('u', value, 1)
        self.joint.world.settle()
        self.joint.values.u[self.number] = effort[0]
        self.wake()

    def parameter_rows(self, array: str, of_balls: bool = False) -> np.ndarray:
        """Give the row of a parameter array; see Axis."""
        self.joint.world.settle()
        return getattr(self.joint.values, array)[self.number : self.number + 1]

    def state_rows(self, array: str) -> np.ndarray:
        """Give the row of an array named as one of State's by velocity."""
        self.joint.world.settle()
        values, row = self.joint.values, slice(self.number, self.number + 1)
        efforts = values.effort[row]
        shares = {'friction': efforts[:, _FRICTION], 'motor': efforts[:, _MOTOR],
                  'force': efforts[:, _FRICTION] + efforts[:, _STOP]}
        return shares[array] if array in shares else getattr(values, array)[row]

    def wake(self) -> None:
        """Let both robots be simulated, if they were asleep."""
        for frame in self.joint.frames:
            if frame.link is not None:
                frame.link.robot.wake()
        self.joint.world.forget_observations()

    def invalidate(self) -> None:
        """Forget what was computed from the parameters."""
        self.joint.world.invalidate()
