"""Task: move the arm's tool to a point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_bridge.batch.batch import Batch
from sim_bridge.description import load_description
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

# servo gains, and maximum target speed [rad/s]
_KP, _KD, _FASTEST = 1000.0, 100.0, 1.0
_REST = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])
# goal region: a shell about the shoulder, above the ground [m]
_SHOULDER, _NEAREST, _FARTHEST, _LOWEST = np.array([0.0, 0.0, 0.34]), 0.35, 0.65, 0.15


class ArmReach(Task):
    """
    Arm with servo joints; actions are the rates of the servo targets.

    Observations: joint angles and rates, and the vector from tool to goal [m]. The reward is minus
    the distance, minus 0.01 times the mean squared action.
    """

    robot_name = 'arm'
    period = 0.04
    duration = 4.0
    action_size = 7
    observation_size = 17

    def __init__(self, batch: Batch) -> None:
        """Act in a batch."""
        super().__init__(batch)
        self._tool = self.robot.links['tool_flange']
        self._goal = np.zeros((batch.n, 3))

    @staticmethod
    def make_world() -> World:
        """Return the arm alone, without sensors."""
        world = World(time_step=2e-3)
        arm = world.add_robot(replace(load_description('arm'), sensors=()))
        for name in arm.joint_names:
            joint = arm.joint(name)
            joint.control, joint.kp, joint.kd = 'servo', _KP, _KD
        return world

    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Start in a bent pose, and draw a goal within reach."""
        self.robot.q[which] = _REST + draw.uniform(-0.1, 0.1, (len(which), 7))
        self.robot.target_position[which] = self.robot.q[which]
        for world in which:
            self._goal[world] = _draw_goal(draw)

    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Move the targets."""
        self.robot.target_position[which] += self.period * _FASTEST * actions

    def observe(self) -> FloatArray:
        """Return joint angles and rates, and the vector to the goal (n, 17)."""
        return np.concatenate((self.robot.q, self.robot.dq, self._goal - self._tool.p), axis=1)

    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """Reward being near the goal; nothing ends an episode."""
        distance = np.linalg.norm(self._goal - self._tool.p, axis=1)
        return -distance - 0.01 * (actions**2).mean(axis=1), np.zeros(len(distance), bool)


def _draw_goal(draw: np.random.Generator) -> FloatArray:
    while True:
        way = draw.normal(size=3)
        goal: FloatArray = _SHOULDER + way / np.linalg.norm(way) * draw.uniform(
            _NEAREST, _FARTHEST
        )
        if goal[2] > _LOWEST:
            return goal
