"""A node that follows its reference by inverse dynamics (computed torque)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import sys

import numpy as np
from rclpy.node import Node

import sim_bridge as sb
from sim_bridge.control.controller import (
    ControlledRobot,
    ControllerParameters,
    JointController,
    Motion,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process

# reference velocity [rad/s or m/s] above which friction is compensated in full
_FRICTION_VELOCITY = 0.02


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
    `effort = inverse dynamics(q, dq, reference acceleration + feedback)`.

    With a true model every joint's error e obeys e'' + 2 z w e' + w^2 e = 0, whatever the others
    do: w is natural_frequency, z damping_ratio. Needs a fixed base, and control over all joints
    that mimic no other.
    """

    def __init__(self, controlled: ControlledRobot, parameters: ComputedTorqueParameters) -> None:
        """Read the resistance of the joints; raises InvalidValueError for a free base."""
        robot = controlled.robot
        if not robot.fixed_base:
            expected = 'a robot with a fixed base; pd_controller controls others'
            raise InvalidValueError('base', 'free', expected, f'robot {robot.name!r}')
        self._controlled, self._parameters = controlled, parameters
        joints = [robot.joint(name) for name in controlled.joints]
        self._damping = np.array([joint.damping for joint in joints])
        self._friction = np.array([joint.friction for joint in joints])
        self._stiffness = np.array([joint.stiffness for joint in joints])
        self._spring_rest = np.array([joint.reference for joint in joints])

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort of every controlled joint (n,) [N m or N]."""
        robot, indices = self._controlled.robot, self._controlled.indices
        w, z = self._parameters.natural_frequency, self._parameters.damping_ratio
        robot.q[indices], robot.dq[indices] = motion.q, motion.dq
        acceleration = np.zeros(len(robot.joint_names))
        acceleration[indices] = (
            motion.reference_ddq
            + 2.0 * z * w * (motion.reference_dq - motion.dq)
            + w**2 * (motion.reference_q - motion.q)
        )
        rigid = sb.dynamics.inverse_dynamics(robot, acceleration)[indices]
        efforts: np.ndarray = rigid + self._resistance(motion)
        return efforts

    def _resistance(self, motion: Motion) -> np.ndarray:
        """
        Return the efforts that overcome damping, springs and friction (n,) [N m or N].

        Friction is computed from the reference velocity, since the measured one changes its sign
        with every disturbance.
        """
        friction = self._friction * np.clip(motion.reference_dq / _FRICTION_VELOCITY, -1.0, 1.0)
        spring = self._stiffness * (motion.q - self._spring_rest)
        resistance: np.ndarray = self._damping * motion.dq + spring + friction
        return resistance


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code of the process."""
    def program(node: Node) -> JointController[ComputedTorqueParameters]:
        return JointController(node, ComputedTorqueParameters, ComputedTorqueLaw)

    return process.run('computed_torque_controller', program, args)


if __name__ == '__main__':
    sys.exit(main())
