"""Joint frames on the two links."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.math.vec3 import cross
from sim_bridge.robots.owners import Link


class JointFrame(NamedTuple):
    """
    Joint frame on a link; in the world if `link` is None.

    rotation: (3, 3), takes vectors in the frame's axes to link axes; z is the joint axis.
    position: (3,) origin in the link frame [m].
    """

    link: Link | None
    rotation: np.ndarray
    position: np.ndarray

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """The frame's rotation (3, 3) and origin (3,) [m] in the world."""
        if self.link is None:
            return self.rotation, self.position
        R = self.link.R
        return R @ self.rotation, self.link.p + R @ self.position

    def velocity(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the link's velocity at a world point [m/s], and its angular velocity [rad/s]."""
        if self.link is None:
            return np.zeros(3), np.zeros(3)
        w = self.link.w
        return self.link.v + cross(w, point - self.link.p), w

    def acceleration(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the link's acceleration at a world point [m/s²] and angular one [rad/s²]."""
        if self.link is None:
            return np.zeros(3), np.zeros(3)
        arm, w, dw = point - self.link.p, self.link.w, self.link.dw
        return self.link.dv + cross(dw, arm) + cross(w, cross(w, arm)), dw


class JointFrames(NamedTuple):
    """
    Joint frames on the first and second link.

    axis: (3,) first axis, in the first frame. axis2: (3,) last axis, in the second frame.
    """

    first: JointFrame
    second: JointFrame
    axis: np.ndarray
    axis2: np.ndarray

    def velocities(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each link's velocity at the second origin [m/s] and angular velocity [rad/s]."""
        point = self.second.pose[1]
        return [frame.velocity(point) for frame in (self.first, self.second)]
