"""Free constraint joint coordinates: positions, directions, rates and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.engine.constraints.axes import axis_direction, axis_wrench, measure_axis
from sim_bridge.engine.data.loops import ALONG, EULER, TURN_A, TURN_B, TURN_W, UNIVERSAL_B
from sim_bridge.engine.math.vec3 import dot
from sim_bridge.robots.joints.frame import JointFrame, JointFrames

_Numbers = Sequence[Any] | np.ndarray
_MIDDLE, _LAST = (EULER, 1), (EULER, 2)


class AxisKinds(NamedTuple):
    """
    Axes in the form read by kernels in `engine.constraints.axes`.

    axis_kind: (n, 2) kind of each axis, and its axis number in A or B or its angle number.
    axis_vector: (n, 3) unit vector in A, B or the world, for the kinds TURN_A, TURN_B and TURN_W.
    """

    axis_kind: np.ndarray
    axis_vector: np.ndarray


def axis_rate(
    kinds: AxisKinds, axis: int, R_A: _Numbers, R_B: _Numbers, moving: _Numbers, turning: _Numbers
) -> Any:
    """
    Return an axis rate [m/s, rad/s].

    R_A, R_B: rows of the frames' rotations. moving, turning: velocity [m/s] and angular velocity
    [rad/s] from the first link to the second, at the second anchor. Their components may be
    arrays, for several axes with one kind.
    """
    torque, force = axis_wrench(kinds, axis, R_A, R_B)
    return dot(torque, turning) + dot(force, moving)


class FreeAxes:
    """
    A constraint joint's n free coordinates, computed from its links' current motion.

    The relative angular velocity is the sum of all rates along their axes. The independent axes of
    an angular motor measure its component along each axis instead.
    """

    def __init__(self, frames: JointFrames, kinds: Sequence[tuple[int, int]], vectors: np.ndarray):
        """Store the frames. kinds, vectors: as in the engine's LoopJoint."""
        self._frames = frames
        self.pairs = tuple(kinds)
        """Kind of each axis, and its axis or angle number; as in `kinds`."""
        self.kinds = AxisKinds(np.reshape(np.array(kinds, int), (-1, 2)), vectors)
        self.linear = self.kinds.axis_kind[:, 0] == ALONG
        """(n,) whether each axis is linear; otherwise it is revolute."""
        self.are_users = any(kind in (TURN_A, TURN_B, TURN_W) for kind, _ in kinds)
        """Whether the axes are an angular motor's independent axes."""

    def positions(self, last: np.ndarray) -> np.ndarray:
        """
        Return the positions (n,) [m, rad].

        last: (n,) previous positions; angles continue from them without full-turn jumps. The
        positions of independent angular motor axes are only the integrals of their rates.
        """
        poses = [part.tolist() for frame in self._frames[:2] for part in frame.pose]
        return np.array(
            [
                measure_axis(self.kinds, axis, *poses, near)
                for axis, near in enumerate(last.tolist())
            ]
        )

    def directions(self) -> np.ndarray:
        """Return the unit vectors (n, 3) along or about which the axes move; world axes."""
        R_A, R_B = self._rotations()
        return np.array(
            [axis_direction(self.kinds, axis, R_A, R_B) for axis in range(len(self.pairs))]
        ).reshape(-1, 3)

    def vectors_on(
        self, first: JointFrame, second: JointFrame, directions: np.ndarray | None = None
    ) -> np.ndarray:
        """Return (n, 3) world directions in the axes' own frames; current directions if None."""
        turns = {TURN_A: first.pose[0], TURN_B: second.pose[0]}
        directions = self.directions() if directions is None else directions
        return np.array(
            [
                turns.get(kind, np.eye(3)).T @ each
                for (kind, _), each in zip(self.pairs, directions, strict=True)
            ]
        )

    def velocities(self) -> np.ndarray:
        """Return the axis rates (n,) [m/s, rad/s]."""
        (v_A, w_A), (v_B, w_B) = self._frames.velocities()
        moving, turning = (v_B - v_A).tolist(), (w_B - w_A).tolist()
        R_A, R_B = self._rotations()
        return np.array(
            [
                axis_rate(self.kinds, axis, R_A, R_B, moving, turning)
                for axis in range(len(self.pairs))
            ]
        )

    def accelerations(self) -> np.ndarray:
        """Return the accelerations (n,) [m/s², rad/s²] for the current state and efforts."""
        point = self._frames.second.pose[1]
        (v_A, w_A), (v_B, w_B) = self._frames.velocities()
        (a_A, dw_A), (a_B, dw_B) = (frame.acceleration(point) for frame in self._frames[:2])
        directions, result = self.directions(), np.zeros(len(self.pairs))
        # linear acceleration relative to the first link, with the Coriolis term
        moving = a_B - a_A - 2.0 * np.cross(w_A, v_B - v_A)
        result[self.linear] = directions[self.linear] @ moving
        about, turning, gained = directions[~self.linear], w_B - w_A, dw_B - dw_A
        change = self._turning_of_axes(directions, w_A, w_B)[~self.linear]
        if self.are_users:
            result[~self.linear] = about @ gained + change @ turning
        else:
            # time derivative: N Nᵀ rates = N turning, where N is `about`
            rates = self.velocities()[~self.linear]
            right = about @ (gained - rates @ change) + change @ (turning - rates @ about)
            result[~self.linear] = np.linalg.pinv(about @ about.T) @ right
        return result

    def _rotations(self) -> tuple[_Numbers, _Numbers]:
        """Return both frames' rotation rows."""
        return self._frames.first.pose[0].tolist(), self._frames.second.pose[0].tolist()

    def _turning_of_axes(
        self, directions: np.ndarray, w_A: np.ndarray, w_B: np.ndarray
    ) -> np.ndarray:
        """Return the directions' time derivatives (n, 3)."""
        on_second = [
            kind in (UNIVERSAL_B, TURN_B) or (kind, number) == _LAST for kind, number in self.pairs
        ]
        rates = np.cross(np.where(np.reshape(on_second, (-1, 1)), w_B, w_A), directions)
        rates[[kind == TURN_W for kind, _ in self.pairs]] = 0.0
        if _MIDDLE in self.pairs:
            first, middle, last = directions
            across, change = (
                np.cross(last, first),
                (np.cross(rates[2], first) + np.cross(last, rates[0])),
            )
            rates[1] = (change - (middle @ change) * middle) / np.linalg.norm(across)
        return rates
