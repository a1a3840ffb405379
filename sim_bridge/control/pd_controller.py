"""Node that holds a pose or follows a sinusoid, with PD control for each joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import sys

import numpy as np

import sim_bridge as sb
from sim_bridge.control.controller import JointController
from sim_bridge.control.joint_loop import ControlledRobot, ControllerParameters, Motion
from sim_bridge.control.reference import per_joint
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process
from sim_bridge.ros.process.guarded_node import GuardedMixin

# inertias are computed again after this joint motion [rad or m]
_SAME_POSE = 0.02


@dataclass(frozen=True)
class PdParameters(ControllerParameters):
    """Parameters of the PD controller."""

    stiffness: tuple[float, ...] = parameter(
        (),
        'Proportional gains; empty for natural_frequency^2 times the inertia felt by each joint',
        unit='N m/rad or N/m',
        low=0.0,
    )
    damping: tuple[float, ...] = parameter(
        (),
        'Derivative gains; empty for 2 damping_ratio natural_frequency times that inertia',
        unit='N m s/rad or N s/m',
        low=0.0,
    )
    natural_frequency: float = parameter(
        80.0, 'Natural frequency, if stiffness is not given', unit='rad/s', low=0.0, above=True
    )
    damping_ratio: float = parameter(1.0, 'Damping ratio, if damping is not given', low=0.0)


class PdLaw:
    """
    `sb.laws.pd` for each joint, with given gains or gains scaled by the joint's felt inertia.

    There is no gravity compensation: the robot sags by its weight divided by its stiffness.
    """

    def __init__(self, controlled: ControlledRobot, parameters: PdParameters) -> None:
        """Check the given gains; raises InvalidValueError."""
        self._controlled, self._parameters = controlled, parameters
        self._stiffness, self._damping = (
            self._spread(per_joint(name, values, controlled.joints)) if values else None
            for name, values in (
                ('stiffness', parameters.stiffness),
                ('damping', parameters.damping),
            )
        )
        self._is_controlled = self._spread(np.ones(len(controlled.joints))) > 0.0
        self._inertia_pose: np.ndarray | None = None
        self._inertia = np.zeros(len(controlled.robot.joint_names))

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort for every controlled joint (n,) [N m or N]."""
        robot, indices = self._controlled.robot, self._controlled.indices
        robot.q[indices], robot.dq[indices] = motion.q, motion.dq
        stiffness, damping = self._stiffness, self._damping
        if stiffness is None or damping is None:
            pose = self._inertia_pose
            if pose is None or np.abs(motion.q - pose).max() > _SAME_POSE:
                self._inertia_pose = motion.q
                self._inertia = sb.laws.felt_inertia(robot, joints=self._is_controlled)
            w, z = self._parameters.natural_frequency, self._parameters.damping_ratio
            stiffness = self._inertia * w**2 if stiffness is None else stiffness
            damping = 2.0 * z * w * self._inertia if damping is None else damping
        efforts: np.ndarray = sb.laws.pd(
            robot,
            self._spread(motion.reference_q),
            self._spread(motion.reference_dq),
            stiffness=stiffness,
            damping=damping,
        )[indices]
        return efforts

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Return the controlled joints' values in an array over all joints, 0 for others."""
        spread = np.zeros(len(self._controlled.robot.joint_names))
        spread[self._controlled.indices] = values
        return spread


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the process exit code."""

    def program(node: GuardedMixin) -> JointController[PdParameters]:
        return JointController(node, PdParameters, PdLaw)

    return process.run('pd_controller', program, args)


if __name__ == '__main__':
    sys.exit(main())
