"""Kinematic paths: poses at given times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.foundation.rotation import matrix_from_axis_angle, rotation_vector


@dataclass(frozen=True, eq=False)
class Waypoints:
    """
    Base poses at given times, with straight lines between them.

    times: (n,) from 0 on, ascending [s]. poses: n poses in the world. delay: before the first time
    [s]. loops: whether the path begins again at its end.
    """

    times: tuple[float, ...]
    poses: tuple[Pose, ...]
    delay: float = 0.0
    loops: bool = True

    def pose_at(self, time: float) -> Pose:
        """Return the pose at a world time [s]."""
        since, last = max(time - self.delay, 0.0), self.times[-1]
        if self.loops and last > 0.0:
            since %= last
        after = int(np.searchsorted(self.times, since, side='right'))
        if after == 0 or after == len(self.times):
            return self.poses[min(after, len(self.times) - 1)]
        begin, end = self.times[after - 1], self.times[after]
        share = (since - begin) / (end - begin)
        first, second = self.poses[after - 1], self.poses[after]
        turn = rotation_vector(second.rotation @ first.rotation.T)
        angle = float(np.linalg.norm(turn))
        rotation = first.rotation
        if angle > 0.0:
            rotation = matrix_from_axis_angle(turn / angle, share * angle) @ rotation
        return Pose(first.position + share * (second.position - first.position), rotation)
