"""
Base motion at a commanded twist, without wheels.

Gazebo's planar_move and VelocityControl set a model's velocity before each step; contacts and
joints then act on it within the step, so friction on the ground takes a part of it. Here the part
lost in a step is added in the next: a wall stops the base, friction does not slow it down.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.drives.kinematics import Twist
from sim_bridge.drives.odometry import PlanarPose
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import matrix_from_quaternion

if TYPE_CHECKING:
    from sim_bridge.description.drives import BaseMotionDescription
    from sim_bridge.robots.robot import Robot

# [m/s², m/s², rad/s²] greatest rate of the velocity added for losses: friction with coefficients
# up to 2, at 0.1 m from the turning point
_GREATEST_LOSS = (20.0, 20.0, 200.0)
# [m/s, rad/s] velocity at rest
_REST = 1e-7


class SavedBaseMotion(NamedTuple):
    """BaseMotion state. added: velocity for losses. since_level: time since a reset [s]."""

    added: Twist
    since_level: float


class BaseMotion:
    """Gives a robot's free base a twist's velocity before each control step."""

    def __init__(self, robot: Robot, description: BaseMotionDescription):
        """Move a robot's base."""
        self._robot, self._description = robot, description
        self.restart()

    @property
    def can_move(self) -> bool:
        """Whether the base is free."""
        return not self._robot.fixed_base and self._robot.blueprint.mount is None

    def restart(self) -> None:
        """Start at rest, without losses."""
        self._added: Twist = (0.0, 0.0, 0.0)
        self._since_level = math.inf

    def move(self, twist: Twist, others: Twist, elapsed: float) -> None:
        """
        Set the velocity for a control step.

        twist: forward, left, yaw rate. others: up, roll rate, pitch rate, for a spatial motion.
        In the base frame [m/s, rad/s]. elapsed: step length [s].
        """
        if not self.can_move:
            return
        robot = self._robot
        at = robot.offsets
        state = robot.slot.part.state
        now = state.v[at.v : at.v + 6]
        forward, left, yaw_rate = (a + b for a, b in zip(twist, self._added, strict=True))
        rotation = matrix_from_quaternion(state.q[at.q + 3 : at.q + 7])
        if self._description.is_spatial:
            up, roll_rate, pitch_rate = others
            linear = rotation @ (forward, left, up)
            new = np.array([*linear, *(rotation @ (roll_rate, pitch_rate, yaw_rate))])
        else:
            # heading in the middle of the step
            middle = _yaw(rotation) + 0.5 * twist[2] * elapsed
            c, s = math.cos(middle), math.sin(middle)
            about = (0.0, 0.0) if self._is_level_due(elapsed) else now[3:5]
            new = np.array(
                [c * forward - s * left, s * forward + c * left, now[2], *about, yaw_rate]
            )
        if np.abs(new - now).max() > _REST:
            robot.simulation.write(state, 'v', slice(at.v, at.v + 6), new)

    def observe(self, wanted: Twist, moved: Twist, elapsed: float) -> None:
        """
        Note a step's losses.

        wanted, moved: commanded and true twist [m/s, m/s, rad/s]. elapsed: step length [s].
        """
        if not any(wanted):
            self._added = (0.0, 0.0, 0.0)
            return
        x, y, yaw_rate = (
            min(max(added + goal - true, -most * elapsed), most * elapsed)
            for added, goal, true, most in zip(
                self._added, wanted, moved, _GREATEST_LOSS, strict=True
            )
        )
        self._added = x, y, yaw_rate

    def save(self) -> SavedBaseMotion:
        """Return the state for `restore`."""
        return SavedBaseMotion(self._added, self._since_level)

    def restore(self, saved: SavedBaseMotion) -> None:
        """Return to a saved state."""
        self._added, self._since_level = saved

    def _is_level_due(self, elapsed: float) -> bool:
        """Return whether roll and pitch rate become zero in a step; count its time [s]."""
        period = self._description.level_period
        # half a step allows for rounding
        if self._since_level < period - 0.5 * elapsed:
            self._since_level += elapsed
            return False
        self._since_level = elapsed
        return True


def base_pose(robot: Robot) -> PlanarPose:
    """Return the root link's true planar pose in the world."""
    if robot.fixed_base or robot.blueprint.mount is not None:
        root = robot.root_link
        return _planar(root.p, root.R)
    at = robot.offsets
    q = robot.slot.part.state.q[at.q : at.q + 7]
    return _planar(q, matrix_from_quaternion(q[3:]))


def _planar(position: FloatArray, rotation: FloatArray) -> PlanarPose:
    return PlanarPose(float(position[0]), float(position[1]), _yaw(rotation))


def _yaw(rotation: FloatArray) -> float:
    return math.atan2(rotation[1, 0], rotation[0, 0])
