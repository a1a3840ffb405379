"""From the velocity that a tracked vehicle is to have to the speeds of its tracks."""

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
    How fast each track must run for the root link to move with a velocity.

    A track that stands on the ground drives its place on the robot along axis × up. There it gets
    the speed of that place, as if nothing slid. So two tracks along x turn like two wheels do;
    since long ones scrub sideways, the vehicle itself turns slower, unless a multiplier makes up
    for it (that of ros2_controllers' diff_drive_controller for its wheels).
    """

    def __init__(self, robot: Robot, separation_multiplier: float = 1.0):
        """
        Take the places of the tracks from the robot as it stands now, upright.

        separation_multiplier: how much further apart wheels would have to be that turn the vehicle
        as its tracks do.
        """
        crawlers = [] if robot.fixed_base else running_crawlers(robot)
        self.names = [crawler.name for crawler in crawlers]
        self._matrix = np.array([_row(robot, crawler) for crawler in crawlers]).reshape(-1, 3)
        self._matrix[:, 2] *= separation_multiplier

    @property
    def is_possible(self) -> bool:
        """Whether the robot has tracks, two at least, and nothing fixes it to the world."""
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
