"""Task: let the quadruped walk forwards."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

# standing pose of each leg, and servo gains
_STAND = np.tile([0.0, 0.8, -1.6], 4)
_KP, _KD = 100.0, 2.0
# target change [rad] of haa, hfe and kfe for an action of 1
_REACH = np.tile([0.3, 0.5, 0.5], 4)
# observed clock [Hz]
_RATE = 2.0
_START_HEIGHT, _LOWEST, _LEAST_UPRIGHT = 0.32, 0.18, 0.5  # [m, m, 1]
_WANTED = 0.5  # speed [m/s]


class QuadrupedWalk(Task):
    """
    Quadruped with servo joints on the ground; actions move the targets about the standing pose.

    Observations: sine and cosine of a 2 Hz clock, joint angles relative to standing, 0.1 times the
    joint rates, height [m], and in trunk axes the vertical, the velocity [m/s] and the angular
    velocity [rad/s]. The reward is the forward speed, up to 0.5 m/s, minus terms for lateral
    speed, turning and actions, plus 0.2. A fall ends the episode.
    """

    robot_name = 'quadruped'
    period = 0.02
    duration = 6.0
    action_size = 12
    observation_size = 36

    @staticmethod
    def make_world() -> World:
        """Return the quadruped on flat ground, standing."""
        world = World(time_step=2e-3)
        world.add_ground()
        robot = world.load_urdf('quadruped', position=(0.0, 0.0, _START_HEIGHT))
        robot.q = _STAND
        for name in robot.joint_names:
            joint = robot.joint(name)
            joint.control, joint.kp, joint.kd = 'servo', _KP, _KD
        robot.command_position(_STAND)
        return world

    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Start standing, with small random leg deviations."""
        self.robot.q[which] = _STAND + draw.uniform(-0.05, 0.05, (len(which), 12))
        self.robot.target_position[which] = _STAND

    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Set the targets."""
        self.robot.target_position[which] = _STAND + _REACH * actions

    def observe(self) -> FloatArray:
        """Return the clock, the joints' motion and the trunk's motion (n, 36)."""
        phase = 2.0 * np.pi * _RATE * self.batch.time
        up, linear, angular = self._motion()
        return np.concatenate(
            (
                np.stack((np.sin(phase), np.cos(phase)), axis=1),
                self.robot.q - _STAND,
                0.1 * self.robot.dq,
                self.robot.base_position[:, 2:],
                up,
                linear,
                angular,
            ),
            axis=1,
        )

    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """Reward walking straight ahead; a fall ends an episode."""
        up, linear, angular = self._motion()
        rewards = (
            np.minimum(linear[:, 0], _WANTED)
            - 0.5 * np.abs(linear[:, 1])
            - 0.1 * np.abs(angular[:, 2])
            - 0.02 * (actions**2).mean(axis=1)
            + 0.2
        )
        height = self.robot.base_position[:, 2]
        return rewards, (height < _LOWEST) | (up[:, 2] < _LEAST_UPRIGHT)

    def _motion(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the vertical, velocity and angular velocity in trunk axes, (n, 3) each."""
        x, y, z, w = self.robot.base_orientation.T
        # transposed rotation matrix: world axes to trunk axes
        turn = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
                [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
                [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        linear = np.einsum('ijn,nj->ni', turn, self.robot.base_linear_velocity)
        angular = np.einsum('ijn,nj->ni', turn, self.robot.base_angular_velocity)
        return turn[:, 2].T, linear, angular
