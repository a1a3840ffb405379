"""Task: swing up a pendulum with a motor too weak to lift it, and hold it upright."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

# half the torque that would hold the rod level [N m]
_MOST = 2.4


class Pendulum(Task):
    """
    Pendulum, initially hanging.

    Observations: cosine and sine of the angle from upright, and its rate [rad/s]. The reward per
    period is cos(angle), minus 0.01 times the squared rate and 0.1 times the squared action.
    """

    robot_name = 'pendulum'
    period = 0.02
    duration = 10.0
    action_size = 1
    observation_size = 3

    @staticmethod
    def make_world() -> World:
        """Return the pendulum alone."""
        world = World(time_step=1e-3)
        world.load_urdf('pendulum')
        return world

    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Start hanging almost straight down, almost at rest."""
        self.robot.q[which, 0] = draw.uniform(-0.1, 0.1, len(which))
        self.robot.dq[which, 0] = draw.uniform(-0.1, 0.1, len(which))

    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Apply the pivot torque."""
        self.robot.u[which] = _MOST * actions

    def observe(self) -> FloatArray:
        """Return cosine and sine of the angle from upright, and its rate (n, 3)."""
        angle = self.robot.q[:, 0] - np.pi
        return np.stack((np.cos(angle), np.sin(angle), self.robot.dq[:, 0]), axis=1)

    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """Reward being upright; nothing ends an episode."""
        angle, rate = self.robot.q[:, 0] - np.pi, self.robot.dq[:, 0]
        rewards = np.cos(angle) - 0.01 * rate**2 - 0.1 * actions[:, 0] ** 2
        return rewards, np.zeros(len(rewards), bool)
