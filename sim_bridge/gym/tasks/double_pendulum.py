"""Task: swing up a double pendulum by its shoulder motor only (pendubot)."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

_MOST = 20.0  # maximum shoulder torque [N m]


class DoublePendulum(Task):
    """
    Double pendulum, initially hanging, with a motor in the shoulder.

    Observations: cosine and sine of both rods' angles from upright, and their rates [rad/s]. The
    reward is the mean of both cosines, minus 0.001 times the squared rates and 0.1 times the
    squared action.
    """

    robot_name = 'double_pendulum'
    period = 0.02
    duration = 10.0
    action_size = 1
    observation_size = 6

    @staticmethod
    def make_world() -> World:
        """Return the double pendulum alone."""
        world = World(time_step=1e-3)
        world.load_urdf('double_pendulum')
        return world

    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Start hanging almost straight down, almost at rest."""
        self.robot.q[which] = draw.uniform(-0.1, 0.1, (len(which), 2))
        self.robot.dq[which] = draw.uniform(-0.1, 0.1, (len(which), 2))

    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Apply the shoulder torque."""
        self.robot.u[which, 0] = _MOST * actions[:, 0]

    def observe(self) -> FloatArray:
        """Return the cosines and sines of the angles from upright, and their rates (n, 6)."""
        angles, rates = self._motion()
        return np.concatenate((np.cos(angles), np.sin(angles), rates), axis=1)

    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """Reward being upright; nothing ends an episode."""
        angles, rates = self._motion()
        rewards = (
            np.cos(angles).mean(axis=1) - 1e-3 * (rates**2).sum(axis=1) - 0.1 * actions[:, 0] ** 2
        )
        return rewards, np.zeros(len(rewards), bool)

    def _motion(self) -> tuple[FloatArray, FloatArray]:
        """Return the angles of both rods from upright, in the world, and their rates (n, 2)."""
        return np.cumsum(self.robot.q, axis=1) - np.pi, np.cumsum(self.robot.dq, axis=1)
