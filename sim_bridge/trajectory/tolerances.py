"""A trajectory that is followed: how far joints may be from it, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sim_bridge.trajectory.trajectory import Spline, Trajectory

# how a run ended
REACHED, PATH_VIOLATED, GOAL_VIOLATED, CANCELED, REPLACED = (
    'reached', 'path violated', 'goal violated', 'canceled', 'replaced')

_QUANTITIES = ('position', 'velocity', 'acceleration')
_UNITS = ('rad or m', 'rad/s or m/s', 'rad/s² or m/s²')
POSITION, VELOCITY, ACCELERATION = range(3)


@dataclass(frozen=True)
class Tolerances:
    """
    How far joints may be from where they are to be.

    path, goal: (3, n) position [rad or m], velocity [rad/s or m/s], acceleration [rad/s² or m/s²],
    along the way and at its end; 0: however far. goal_time: for how long after the end the joints
    may take to get there [s]; 0: for ever.
    """

    path: np.ndarray
    goal: np.ndarray
    goal_time: float = 0.0

    @staticmethod
    def none(size: int) -> Tolerances:
        """Return those that anything is within."""
        return Tolerances(np.zeros((3, size)), np.zeros((3, size)))


@dataclass(eq=False)
class Run:
    """
    A trajectory that is, will be or was followed.

    columns: (n,) places of its joints among the robot's. start_ns: time that it counts from [ns].
    outcome: '' until it has ended, then how; words: about that, for people. states: of the latest
    step, (3, n) where its joints were to be and (3, n) where they were, and its time [ns].
    """

    trajectory: Trajectory
    columns: np.ndarray
    start_ns: int
    tolerances: Tolerances
    spline: Spline | None = None
    outcome: str = ''
    words: str = ''
    states: tuple[np.ndarray, np.ndarray, int] | None = field(default=None, repr=False)

    @property
    def motion(self) -> Spline:
        """The spline of a run that has begun."""
        assert self.spline is not None, 'it waits'
        return self.spline

    def end(self, outcome: str, words: str) -> None:
        """Take note of how it ended."""
        self.words = words
        # last, since it tells others that all is said
        self.outcome = outcome

    def later(self, by_ns: int) -> Run:
        """Return one like it, at times that are later by so much [ns], that has not ended."""
        spline = None if self.spline is None else self.spline.later(by_ns)
        return Run(self.trajectory, self.columns, self.start_ns + by_ns, self.tolerances, spline)

    def part(self, left: np.ndarray) -> Run:
        """Return the rest of it, of some of its joints; left: (n,) whether a joint is of them."""
        tolerances = self.tolerances
        return Run(
            self.trajectory.of(left), self.columns[left], self.start_ns,
            Tolerances(tolerances.path[:, left], tolerances.goal[:, left], tolerances.goal_time),
            self.motion.of(left))


def excess(joints: Sequence[str], error: np.ndarray, bounds: np.ndarray) -> str:
    """Return which joint is how far beyond which tolerance; '' if none is."""
    beyond = (np.abs(error) > bounds) & (bounds > 0.0)
    if not beyond.any():
        return ''
    return '; '.join(
        f'joint {joints[k]!r}: {_QUANTITIES[row]} off by {abs(error[row, k]):.3g} '
        f'(tolerance {bounds[row, k]:.3g} {_UNITS[row]})'
        for row, k in zip(*np.nonzero(beyond), strict=True))
