"""Conversion of a tracked vehicle's velocity to the speeds of its tracks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.ros.publish.axes import running_crawlers

if TYPE_CHECKING:
    from sim_bridge import Crawler
    from sim_bridge.robots.robot import Robot

_VERTICAL = 1e-5


class TrackedDrive:
    """
    Computes the track speeds for a velocity of the root link.

    A track on the ground moves its place on the robot along axis × up. It gets the speed of that
    place, as if nothing slid. Two tracks along x therefore turn like two wheels. Long tracks scrub
    sideways, so the vehicle itself turns slower, unless a multiplier compensates for it (that of
    ros2_controllers' diff_drive_controller for its wheels).
    """

    def __init__(self, robot: Robot, separation_multiplier: float = 1.0):
        """
        Read the places of the tracks from the robot in its present, upright pose.

        separation_multiplier: ratio of the separation of wheels that turn the vehicle as its
        tracks do to the separation of the tracks.
        """
        crawlers = [] if robot.fixed_base else running_crawlers(robot)
        self.names = [crawler.name for crawler in crawlers]
        self._matrix = np.array([_row(robot, crawler) for crawler in crawlers]).reshape(-1, 3)
        self._matrix[:, 2] *= separation_multiplier

    @property
    def is_possible(self) -> bool:
        """Whether the robot has at least two tracks and is not fixed to the world."""
        return len(self.names) > 1

    def speeds(self, forward: float, left: float, yaw_rate: float) -> np.ndarray:
        """
        Return the speed of each of `names` [m/s].

        forward, left: velocity of the root link's origin along its x and y [m/s]; yaw_rate: about
        its z [rad/s].
        """
        return self._matrix @ (forward, left, yaw_rate)


def _row(robot: Robot, crawler: Crawler) -> tuple[float, float, float]:
    """Return a track's speed per velocity forward and left, and per yaw rate."""
    root = robot.root_link
    axis = root.R.T @ crawler.link.R @ crawler.axis
    place = root.R.T @ (crawler.center - root.p)
    # axis × z, of length 1
    norm = math.hypot(axis[0], axis[1])
    x, y = (axis[1] / norm, -axis[0] / norm) if norm > _VERTICAL else (0.0, 0.0)
    return x, y, y * place[0] - x * place[1]
