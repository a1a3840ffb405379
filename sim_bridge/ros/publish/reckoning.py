"""The pose that a drive reckons, as messages have it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.drives.drive import Drive


def reckoned_pose(drive: Drive) -> tuple[float, ...]:
    """Return position [m] and quaternion x y z w that a drive reckons in its odom frame."""
    x, y, yaw = drive.odometry.pose
    return x, y, 0.0, 0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw)
