"""A node that holds a pose or follows a sinusoid, by PD control of each joint."""

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
from sim_bridge.control.reference import per_joint
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process

# how far [rad or m] a joint may move before inertias are computed anew
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
    `effort = stiffness (reference - q) + damping (reference velocity - dq)`, for each joint.

    There is no gravity compensation: the robot sags by its weight over its stiffness.
    """

    def __init__(self, controlled: ControlledRobot, parameters: PdParameters) -> None:
        """Check the gains that are given; raises InvalidValueError."""
        self._controlled, self._parameters = controlled, parameters
        self._stiffness, self._damping = (
            per_joint(name, values, controlled.joints) if values else None
            for name, values in (
                ('stiffness', parameters.stiffness), ('damping', parameters.damping)))
        self._inertia_pose: np.ndarray | None = None
        self._inertia = np.zeros(len(controlled.joints))

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort of every controlled joint (n,) [N m or N]."""
        stiffness, damping = self._stiffness, self._damping
        if stiffness is None or damping is None:
            pose = self._inertia_pose
            if pose is None or np.abs(motion.q - pose).max() > _SAME_POSE:
                self._inertia_pose = motion.q
                self._inertia = self._felt_inertia(motion.q)
            inertia = self._inertia
            w, z = self._parameters.natural_frequency, self._parameters.damping_ratio
            stiffness = inertia * w**2 if stiffness is None else stiffness
            damping = 2.0 * z * w * inertia if damping is None else damping
        efforts: np.ndarray = stiffness * (motion.reference_q - motion.q) + damping * (
            motion.reference_dq - motion.dq)
        return efforts

    def _felt_inertia(self, q: np.ndarray) -> np.ndarray:
        """
        Return an inertia for every joint (n,) at this pose to scale gains with [kg m^2 or kg].

        With gains D w^2 and 2 z w D the eigenvalues of the loop are those of D inv(M), times w^2
        and 2 z w. Here D is one over the row sums of |inv(M)|, so that none of them exceeds 1 and
        natural_frequency bounds the bandwidth of every motion, however the joints move together.
        The diagonal of M would not do: a straight arm has motions with a tenth of that inertia,
        which the delay from state to command would make unstable.
        """
        robot, indices = self._controlled.robot, self._controlled.indices
        robot.q[indices] = q
        joints = indices + (0 if robot.fixed_base else 6)
        inverse = np.linalg.inv(sb.dynamics.mass_matrix(robot))[np.ix_(joints, joints)]
        inertia: np.ndarray = 1.0 / np.abs(inverse).sum(axis=1)
        return inertia


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code of the process."""
    def program(node: Node) -> JointController[PdParameters]:
        return JointController(node, PdParameters, PdLaw)

    return process.run('pd_controller', program, args)


if __name__ == '__main__':
    sys.exit(main())
