"""Task: drive the rover to a place with its two wheels."""

from __future__ import annotations

import numpy as np

from sim_bridge.batch.batch import Batch
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

_WHEELS = ('left_wheel_joint', 'right_wheel_joint')
_FASTEST, _MOST = 8.0, 4.0  # [rad/s, N m]
_NEAREST, _FARTHEST, _ARRIVED = 1.0, 3.0, 0.1  # [m]


class RoverGoal(Task):
    """
    Rover on the ground; actions are wheel speeds.

    Observations: vector to the goal in rover axes [m], forward speed [m/s] and yaw rate [rad/s].
    The reward is the reduction of the goal distance in the period [m], minus 0.001 times the mean
    squared action, plus 1 for arriving. Arriving ends the episode.
    """

    robot_name = 'rover'
    period = 0.05
    duration = 15.0
    action_size = 2
    observation_size = 4

    def __init__(self, batch: Batch) -> None:
        """Act in a batch."""
        super().__init__(batch)
        self._wheels = np.array([self.robot.joint_names.index(name) for name in _WHEELS])
        self._goal, self._before = np.zeros((batch.n, 2)), np.zeros(batch.n)

    @staticmethod
    def make_world() -> World:
        """Return the rover on flat ground."""
        world = World(time_step=2e-3)
        world.add_ground()
        rover = world.load_urdf('rover')
        for name in _WHEELS:
            joint = rover.joint(name)
            joint.control, joint.max_effort = 'velocity', _MOST
        return world

    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Draw a goal in any direction."""
        angle = draw.uniform(-np.pi, np.pi, len(which))
        distance = draw.uniform(_NEAREST, _FARTHEST, len(which))
        ways = distance[:, np.newaxis] * np.stack((np.cos(angle), np.sin(angle)), axis=1)
        self._goal[which] = self.robot.base_position[which, :2] + ways
        self._before[which] = distance

    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Set the wheel speeds."""
        self.robot.target_velocity[np.ix_(which, self._wheels)] = _FASTEST * actions

    def observe(self) -> FloatArray:
        """Return the vector to the goal, forward speed and yaw rate (n, 4)."""
        x, y, z, w = self.robot.base_orientation.T
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        ahead = np.stack((np.cos(yaw), np.sin(yaw)), axis=1)
        aside = np.stack((-np.sin(yaw), np.cos(yaw)), axis=1)
        way = self._goal - self.robot.base_position[:, :2]
        return np.stack(
            (
                (way * ahead).sum(axis=1),
                (way * aside).sum(axis=1),
                (self.robot.base_linear_velocity[:, :2] * ahead).sum(axis=1),
                self.robot.base_angular_velocity[:, 2],
            ),
            axis=1,
        )

    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """Reward coming nearer; arriving ends an episode."""
        distance = np.linalg.norm(self._goal - self.robot.base_position[:, :2], axis=1)
        has_arrived = distance < _ARRIVED
        rewards = self._before - distance - 1e-3 * (actions**2).mean(axis=1) + has_arrived
        self._before[:] = distance
        return rewards, has_arrived
