"""Joint resistance: damping, springs and dry friction."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.laws.motions import Motions, Numbers
from sim_bridge.robots.robot import Robot

# reference velocity [rad/s or m/s] above which friction is compensated in full
_FRICTION_VELOCITY = 0.02


class JointResistance:
    """
    Efforts compensating damping, springs and dry friction in a robot's joints.

    Reads the joint parameters once. Mimic joints are left out.
    """

    def __init__(self, robot: Robot) -> None:
        """Read the joints; raises InvalidValueError if the argument is no robot."""
        self._robot = robot
        Motions(robot, None, None)
        self._damping, self._stiffness, self._rest, self._friction = (
            np.array([getattr(robot.joint(name), field) for name in robot.joint_names], float)
            for field in ('damping', 'stiffness', 'reference', 'friction')
        )

    def efforts(
        self, dq_ref: Numbers | None = None, *, q: Numbers | None = None, dq: Numbers | None = None
    ) -> FloatArray:
        """
        Return (n,) damping dq + stiffness (q - reference) + friction sign(dq_ref) [N m or N].

        Friction depends on the reference velocity, since the measured velocity changes its sign
        with every disturbance; below 0.02 rad/s or m/s it is proportional to this velocity.
        Arguments and errors as in `pd`.
        """
        motions = Motions(self._robot, q, dq, many=True)
        share = np.clip(motions.vector('dq_ref', dq_ref) / _FRICTION_VELOCITY, -1.0, 1.0)
        efforts = (
            self._damping * motions.joint_dq
            + self._friction * share
            + self._stiffness * (motions.joint_q - self._rest)
        )
        return motions.of_leaders(efforts)
