"""Pose and frame of a drive's wheel odometry in messages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sim_bridge.ros.wire.messages import WORLD_FRAME

if TYPE_CHECKING:
    from sim_bridge.drives.drive import Drive


def reckoned_pose(drive: Drive) -> tuple[float, ...]:
    """Return position [m] and quaternion x y z w in the odom frame, from a drive's odometry."""
    x, y, yaw = drive.pose
    return x, y, 0.0, 0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw)


def reckoning_frame(drive: Drive, prefix: str, usual: str) -> str:
    """
    Return the frame name for a drive's odometry.

    prefix: before the robot's frame names. usual: odom frame name, if the drive has none itself.
    The name is never the world frame, from which the odometry drifts.
    """
    name = drive.description.odom_frame or usual
    return prefix + ('odom' if name == WORLD_FRAME else name)
