"""Dead reckoning: a vehicle's pose from its measured twists."""

from __future__ import annotations

from collections import deque
import math
from typing import NamedTuple

from sim_bridge.drives.kinematics import Twist

# [rad] below this, the series is exact to the last bit
_SMALL = 1e-3


class PlanarPose(NamedTuple):
    """Planar pose: x, y [m] and yaw [rad], not wrapped."""

    x: float
    y: float
    yaw: float


_ORIGIN = PlanarPose(0.0, 0.0, 0.0)


class SavedOdometry(NamedTuple):
    """Odometry state. recent: latest steps, each with displacement (twist × time) and time [s]."""

    pose: PlanarPose
    twist: Twist
    recent: tuple[tuple[Twist, float], ...]


class Odometry:
    """
    Integrates a vehicle's motion.

    pose: drive frame since the start. twist: in that frame, averaged over the latest steps.
    """

    def __init__(self, window: int = 1):
        """Start at the origin. window: number of steps averaged in the twist."""
        self._recent: deque[tuple[Twist, float]] = deque(maxlen=window)
        self.restart()

    def restart(self, pose: PlanarPose = _ORIGIN) -> None:
        """Start again at a pose, at rest."""
        self.pose = pose
        self.twist: Twist = (0.0, 0.0, 0.0)
        self._recent.clear()

    def advance(self, twist: Twist, elapsed: float) -> None:
        """Move with a constant twist for an elapsed time [s]."""
        moved: Twist = (twist[0] * elapsed, twist[1] * elapsed, twist[2] * elapsed)
        self.pose = moved_pose(self.pose, moved)
        if self._recent.maxlen == 1:
            self.twist = twist
            return
        self._recent.append((moved, elapsed))
        time = sum(each for _, each in self._recent)
        x, y, yaw = (math.fsum(each[k] for each, _ in self._recent) / time for k in range(3))
        self.twist = x, y, yaw

    def save(self) -> SavedOdometry:
        """Return the state for `restore`."""
        return SavedOdometry(self.pose, self.twist, tuple(self._recent))

    def restore(self, saved: SavedOdometry) -> None:
        """Return to a saved state."""
        self.pose, self.twist = saved.pose, saved.twist
        self._recent.clear()
        self._recent.extend(saved.recent)


def moved_pose(pose: PlanarPose, moved: Twist) -> PlanarPose:
    """
    Return a pose after motion with constant twist, exactly on an arc.

    moved: twist times time [m, m, rad], in the pose's frame (exponential map in SE(2)).
    """
    dx, dy, turn = moved
    if abs(turn) < _SMALL:
        square = turn * turn
        along = 1.0 - square / 6.0 * (1.0 - square / 20.0)
        across = 0.5 * turn * (1.0 - square / 12.0)
    else:
        along, across = math.sin(turn) / turn, (1.0 - math.cos(turn)) / turn
    x, y = along * dx - across * dy, across * dx + along * dy
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return PlanarPose(pose.x + c * x - s * y, pose.y + s * x + c * y, pose.yaw + turn)


def motion_between(pose: PlanarPose, then: PlanarPose) -> Twist:
    """Return the motion (twist times time) between two poses; inverse of `moved_pose`."""
    turn = math.remainder(then.yaw - pose.yaw, 2.0 * math.pi)
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    x, y = then.x - pose.x, then.y - pose.y
    ahead, aside = c * x + s * y, c * y - s * x
    half = 0.5 * turn
    # half / tan(half), by its series near 0
    along = 1.0 - half * half / 3.0 if abs(half) < _SMALL else half / math.tan(half)
    return along * ahead + half * aside, along * aside - half * ahead, turn
