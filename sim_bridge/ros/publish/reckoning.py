"""The pose that a drive reckons, and its frame, as messages have them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sim_bridge.ros.wire.messages import WORLD_FRAME

if TYPE_CHECKING:
    from sim_bridge.drives.drive import Drive


def reckoned_pose(drive: Drive) -> tuple[float, ...]:
    """Return position [m] and quaternion x y z w that a drive reckons in its odom frame."""
    x, y, yaw = drive.pose
    return x, y, 0.0, 0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw)


def reckoning_frame(drive: Drive, prefix: str, usual: str) -> str:
    """
    Return the name of the frame that a drive reckons in.

    prefix: of the robot's frames. usual: name of the odom frame if the drive has none of its own;
    what is reckoned is never in the world's frame, from which it drifts.
    """
    name = drive.description.odom_frame or usual
    return prefix + ('odom' if name == WORLD_FRAME else name)
