"""Node that follows a reference by inverse dynamics (computed torque)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import sys

import numpy as np

import sim_bridge as sb
from sim_bridge.control.controller import JointController
from sim_bridge.control.joint_loop import ControlledRobot, ControllerParameters, Motion
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process
from sim_bridge.ros.process.guarded_node import GuardedMixin


@dataclass(frozen=True)
class ComputedTorqueParameters(ControllerParameters):
    """Parameters of the computed-torque controller."""

    natural_frequency: float = parameter(
        30.0, 'Natural frequency of the error dynamics', unit='rad/s', low=0.0, above=True
    )
    damping_ratio: float = parameter(
        1.0, 'Damping ratio of the error dynamics; 1 for no overshoot', low=0.0
    )


class ComputedTorqueLaw:
    """
    `sb.laws.computed_torque`, plus compensation of joint resistance.

    Every joint error has natural_frequency and damping_ratio. The law needs a fixed base, and
    control over all joints except mimic joints.
    """

    def __init__(self, controlled: ControlledRobot, parameters: ComputedTorqueParameters) -> None:
        """Read the joint resistances; raises InvalidValueError for a free base."""
        robot = controlled.robot
        if not robot.fixed_base:
            expected = 'a robot with a fixed base; pd_controller also controls a free base'
            raise InvalidValueError('base', 'free', expected, f'robot {robot.name!r}')
        self._controlled = controlled
        w, z = parameters.natural_frequency, parameters.damping_ratio
        self._stiffness, self._damping = w**2, 2.0 * z * w
        self._resistance = sb.laws.JointResistance(robot)

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort for every controlled joint (n,) [N m or N]."""
        robot, indices = self._controlled.robot, self._controlled.indices
        robot.q[indices], robot.dq[indices] = motion.q, motion.dq
        # other joints are assumed to stand still
        q, dq, ddq = robot.q.copy(), robot.dq.copy(), np.zeros(len(robot.q))
        q[indices], dq[indices] = motion.reference_q, motion.reference_dq
        ddq[indices] = motion.reference_ddq
        wanted = sb.laws.computed_torque(
            robot, q, dq, ddq, stiffness=self._stiffness, damping=self._damping
        )
        efforts: np.ndarray = (wanted + self._resistance.efforts(dq))[indices]
        return efforts


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the process exit code."""

    def program(node: GuardedMixin) -> JointController[ComputedTorqueParameters]:
        return JointController(node, ComputedTorqueParameters, ComputedTorqueLaw)

    return process.run('computed_torque_controller', program, args)


if __name__ == '__main__':
    sys.exit(main())
