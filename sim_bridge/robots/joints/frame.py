"""The frames of a joint on its two links."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.math.vec3 import cross

if TYPE_CHECKING:
    from sim_bridge.robots.interfaces import LinkInterface


class JointFrame(NamedTuple):
    """
    A joint's frame on a link, or in the world where link is None.

    rotation: (3, 3) its axes, the joint's axis last, in the link's axes. position: (3,) its origin
    there [m].
    """

    link: LinkInterface | None
    rotation: np.ndarray
    position: np.ndarray

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and origin in the world."""
        if self.link is None:
            return self.rotation, self.position
        R = self.link.R
        return R @ self.rotation, self.link.p + R @ self.position

    def velocity(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return linear velocity at a world point and angular velocity of what carries it."""
        if self.link is None:
            return np.zeros(3), np.zeros(3)
        w = self.link.w
        return self.link.v + cross(w, point - self.link.p), w

    def acceleration(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, likewise, the accelerations at the present state and efforts."""
        if self.link is None:
            return np.zeros(3), np.zeros(3)
        arm, w, dw = point - self.link.p, self.link.w, self.link.dw
        return self.link.dv + cross(dw, arm) + cross(w, cross(w, arm)), dw


class JointFrames(NamedTuple):
    """
    Where a joint is: its frames on the first and the second link.

    axis: (3,) its axis in the first frame. axis2: (3,) its second axis, or only one, in the second
    frame.
    """

    first: JointFrame
    second: JointFrame
    axis: np.ndarray
    axis2: np.ndarray
