"""The coordinates that a joint's two frames leave free: where they are, and how they move."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from sim_bridge.engine.data.loops import ALONG, EULER, FIRST, HINGE, SECOND, SPIN, SPIN_B, X, Y, Z
from sim_bridge.robots.joints.frame import JointFrame

_MIDDLE, _LAST = (EULER, 1), (EULER, 2)


class FreeAxes:
    """
    The n coordinates of a constraint joint, read from the motion of its links.

    What `engine/loops/axes.py` has in a step. The links turn against each other as the rates of
    all angles together say, but at user axes of an angular motor as each rate says for itself.
    """

    def __init__(
        self, frames: tuple[JointFrame, JointFrame], kinds: Sequence[tuple[int, int]],
        vectors: np.ndarray
    ):
        """Measure between two frames. kinds, vectors: as the engine's LoopJoint has them."""
        self._frames = frames
        self._kinds = tuple(kinds)
        self._vectors = vectors
        self.linear = np.array([kind == ALONG for kind, _ in kinds], bool)
        """(n,) which slide; the others turn."""
        self.are_users = any(kind in (SPIN, SPIN_B) for kind, _ in kinds)
        """Whether they are user axes of an angular motor."""

    def positions(self, last: np.ndarray) -> np.ndarray:
        """
        Return (n,) where they are [m, rad].

        last: (n,) where they were; of angles that are the same the one nearest to it is given. At
        user axes nothing but the sum of their rates is known, which this is.
        """
        poses = [frame.pose for frame in self._frames]
        return np.array([
            _position(*kind, *poses, near)
            for kind, near in zip(self._kinds, last.tolist(), strict=True)])

    def directions(self) -> np.ndarray:
        """Return (n, 3) unit vectors that they go along, or about; world."""
        rotations = [frame.pose[0] for frame in self._frames]
        return np.array([
            _direction(*kind, vector, *rotations)
            for kind, vector in zip(self._kinds, self._vectors, strict=True)]).reshape(-1, 3)

    def velocities(self) -> np.ndarray:
        """Return (n,) their rates [m/s, rad/s]."""
        (v_A, w_A), (v_B, w_B) = self._velocities()
        directions, rates = self.directions(), np.zeros(len(self._kinds))
        rates[self.linear] = directions[self.linear] @ (v_B - v_A)
        rates[~self.linear] = self._rates(directions[~self.linear], w_B - w_A)
        return rates

    def accelerations(self) -> np.ndarray:
        """Return (n,) the rates of their rates [m/s², rad/s²], at present state and efforts."""
        point = self._frames[1].pose[1]
        (v_A, w_A), (v_B, w_B) = self._velocities()
        (a_A, dw_A), (a_B, dw_B) = (frame.acceleration(point) for frame in self._frames)
        directions, result = self.directions(), np.zeros(len(self._kinds))
        # seen from the first link
        moving = a_B - a_A - 2.0 * np.cross(w_A, v_B - v_A)
        result[self.linear] = directions[self.linear] @ moving
        about, turning, gained = directions[~self.linear], w_B - w_A, dw_B - dw_A
        change = self._turning_of_axes(directions, w_A, w_B)[~self.linear]
        if self.are_users:
            result[~self.linear] = about @ gained + change @ turning
        else:
            # the rate of N Nᵀ rates = N turning, where N is `about`
            rates = self._rates(about, turning)
            right = about @ (gained - rates @ change) + change @ (turning - rates @ about)
            result[~self.linear] = np.linalg.pinv(about @ about.T) @ right
        return result

    def _velocities(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return velocity and angular velocity of both links, where the joint is on the second."""
        point = self._frames[1].pose[1]
        return [frame.velocity(point) for frame in self._frames]

    def _rates(self, about: np.ndarray, turning: np.ndarray) -> np.ndarray:
        """Return the rates about axes (k, 3) of links that turn against each other."""
        return about @ turning if self.are_users else np.linalg.pinv(about.T) @ turning

    def _turning_of_axes(
        self, directions: np.ndarray, w_A: np.ndarray, w_B: np.ndarray
    ) -> np.ndarray:
        """Return (n, 3) the rates of the directions."""
        on_second = [kind in (SECOND, SPIN_B) or (kind, number) == _LAST
                     for kind, number in self._kinds]
        rates = np.cross(np.where(np.reshape(on_second, (-1, 1)), w_B, w_A), directions)
        if _MIDDLE in self._kinds:
            first, middle, last = directions
            across, change = np.cross(last, first), (
                np.cross(rates[2], first) + np.cross(last, rates[0]))
            rates[1] = (change - (middle @ change) * middle) / np.linalg.norm(across)
        return rates


def _direction(
    kind: int, number: int, vector: np.ndarray, R_A: np.ndarray, R_B: np.ndarray
) -> np.ndarray:
    if kind in (SPIN, SPIN_B):
        return (R_A if kind == SPIN else R_B) @ vector
    if kind == EULER:
        across = np.cross(R_B[:, X], R_A[:, Z])
        return (R_A[:, Z], across / np.linalg.norm(across), R_B[:, X])[number]
    return (R_B if kind == SECOND else R_A)[:, number]


def _position(
    kind: int, number: int, first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray], last: float
) -> float:
    (R_A, p_A), (R_B, p_B) = first, second
    if kind == ALONG:
        return float(R_A[:, number] @ (p_B - p_A))
    if kind in (SPIN, SPIN_B):
        return last
    if kind == EULER:
        x, z = R_B[:, X], R_A[:, Z]
        s, c = ((R_A[:, Y] @ x, R_A[:, X] @ x), (x @ z, np.linalg.norm(np.cross(x, z))),
                (R_B[:, Y] @ z, R_B[:, Z] @ z))[number]
    elif kind == HINGE:
        s, c = R_A[:, Y] @ R_B[:, X], R_A[:, X] @ R_B[:, X]
    elif kind == FIRST:
        s, c = R_A[:, Y] @ R_B[:, Z], R_A[:, X] @ R_B[:, Z]
    else:
        s, c = -R_B[:, Y] @ R_A[:, Z], R_B[:, X] @ R_A[:, Z]
    angle = math.atan2(s, c)
    return angle + 2.0 * math.pi * round((last - angle) / (2.0 * math.pi))
