"""Kinematic robots on paths through waypoints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sim_bridge.description.scene.waypoints import Waypoints
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.robot import Robot

# [m] and entries of rotation matrices: larger deviations from the path are jumps
_ON_PATH = 1e-6


class WaypointMotion:
    """Step hook for a kinematic robot on a path; it depends on time only."""

    def __init__(self, path: Waypoints) -> None:
        """Follow a path."""
        self.path = path

    def __call__(self, robot: Robot) -> None:
        """Give the base the velocity to the path's next pose."""
        time, step = robot.world.time, robot.world.time_step
        now, after = self.path.pose_at(time), self.path.pose_at(time + step)
        root = robot.root_link
        is_on_path = np.abs(root.p - now.position).max() <= _ON_PATH
        if not is_on_path or np.abs(root.R - now.rotation).max() > _ON_PATH:
            # at the start, after a round, and after a reset
            robot.set_base_pose(now.position, quaternion_from_matrix(now.rotation))
        robot.move_to(after.position, quaternion_from_matrix(after.rotation))


def functions_beside_files(functions: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    """Return the functions with their roles, without motions that a world file gives again."""
    return [each for each in functions if not isinstance(each[1], WaypointMotion)]
