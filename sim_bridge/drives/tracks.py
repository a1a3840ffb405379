"""Drive description of a tracked vehicle, from its crawlers' places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.drives import DriveDescription, WheelDescription

if TYPE_CHECKING:
    from sim_bridge.robots.crawler import Crawler
    from sim_bridge.robots.robot import Robot

_VERTICAL = 1e-5


def tracked_drive(robot: Robot, separation_multiplier: float = 1.0) -> DriveDescription | None:
    """
    Return a robot's track drive, None if it has fewer than two tracks or is fixed to the world.

    A track on the ground moves its place on the robot along axis × up. The places are read in the
    robot's present, upright pose, in its root link frame. Long tracks scrub sideways, so the
    vehicle turns slower than with wheels, unless a multiplier compensates for it.

    separation_multiplier: ratio between the separation of equivalent wheels and that of the
    tracks.
    """
    wheels = [_wheel(robot, crawler) for crawler in robot.crawlers if crawler.can_run]
    running = tuple(wheel for wheel in wheels if wheel is not None)
    if robot.fixed_base or len(running) < 2:
        return None
    return DriveDescription(
        'tracked_drive', 'tracked', running, separation_multiplier=separation_multiplier
    )


def _wheel(robot: Robot, crawler: Crawler) -> WheelDescription | None:
    """Return a track as a wheel with radius 1; None if it lies on its side."""
    root = robot.root_link
    axis = root.R.T @ crawler.link.R @ crawler.axis
    if math.hypot(axis[0], axis[1]) <= _VERTICAL:
        return None
    x, y = np.array(root.R.T @ (crawler.center - root.p))[:2].tolist()
    return WheelDescription(crawler.name, (x, y), 1.0, math.atan2(-axis[0], axis[1]))
