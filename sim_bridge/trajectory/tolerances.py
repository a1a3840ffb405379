"""Run of a trajectory: its tolerances and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray, Matrix
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import number_from, real_array
from sim_bridge.trajectory.trajectory import Spline, Trajectory

# outcomes of a run
REACHED, PATH_VIOLATED, GOAL_VIOLATED, CANCELED, REPLACED = (
    'reached',
    'path violated',
    'goal violated',
    'canceled',
    'replaced',
)

_QUANTITIES = ('position', 'velocity', 'acceleration')
_TABLE = 'a row each of positions, velocities and accelerations, of at least 0'
_UNITS = ('rad or m', 'rad/s or m/s', 'rad/s² or m/s²')
POSITION, VELOCITY, ACCELERATION = range(3)

# planners round positions at a stop [rad or m]
_AT_STOP = 1e-6


@dataclass(frozen=True)
class Tolerances:
    """
    Largest permitted deviations from the desired joint motion.

    path, goal: (3, n) position [rad or m], velocity [rad/s or m/s], acceleration [rad/s² or m/s²],
    during the motion and at its end; 0: unlimited. goal_time: permitted delay of arrival
    after the end [s]; 0: unlimited.
    """

    path: FloatArray
    goal: FloatArray
    goal_time: float = 0.0

    if TYPE_CHECKING:

        def __init__(self, path: Matrix, goal: Matrix, goal_time: float = 0.0) -> None: ...

    def __post_init__(self) -> None:
        """Check all values; raises InvalidValueError."""
        for name in ('path', 'goal'):
            value = getattr(self, name)
            table = real_array(f'{name} tolerances', value, _TABLE, '')
            if table.ndim != 2 or len(table) != len(_QUANTITIES) or not (table >= 0.0).all():
                raise InvalidValueError(f'{name} tolerances', value, _TABLE)
            object.__setattr__(self, name, table)
        if self.path.shape != self.goal.shape:
            raise InvalidValueError(
                'shape of goal tolerances', self.goal.shape, f'{self.path.shape}, that of path'
            )
        object.__setattr__(
            self,
            'goal_time',
            number_from(
                'goal_time',
                self.goal_time,
                0.0,
                math.inf,
                'tolerances',
                'a number of at least 0 [s]',
            ),
        )


def unlimited(size: int) -> Tolerances:
    """Return tolerances without limits; size: number of joints."""
    return Tolerances(np.zeros((3, size)), np.zeros((3, size)))


@dataclass(eq=False)
class Run:
    """
    Trajectory that will be, is or was followed.

    columns: (n,) indices of its joints in the robot. start_ns: time origin [ns]. outcome: '' until
    the end, then one of the outcomes above; words: explanation for people. states: (3, n) desired
    and (3, n) actual joint motion at the latest step, and its time [ns]. beyond: text naming the
    positions out of reach, '' if there are none. interpolates: see `Trajectory.spline`.
    decelerations: (n,), with which the joints stop if the run ends early [rad/s² or m/s²]; None if
    they stop at once.
    """

    trajectory: Trajectory
    columns: IntArray
    start_ns: int
    tolerances: Tolerances
    spline: Spline | None = None
    outcome: str = ''
    words: str = ''
    states: tuple[FloatArray, FloatArray, int] | None = field(default=None, repr=False)
    beyond: str = ''
    interpolates: bool = True
    decelerations: FloatArray | None = None

    @property
    def motion(self) -> Spline:
        """Spline of a started run."""
        assert self.spline is not None, 'it waits'
        return self.spline

    def end(self, outcome: str, words: str) -> None:
        """Record the outcome; words: its reason."""
        self.words = '; '.join(filter(None, (words, self.beyond)))
        # last, because others take the outcome as a sign that everything is set
        self.outcome = outcome

    def delay(self, by_ns: int) -> None:
        """Move all times by `by_ns` [ns]."""
        self.start_ns += by_ns
        if self.spline is not None:
            self.spline = self.spline.later(by_ns)

    def later(self, by_ns: int) -> Run:
        """Return an unfinished copy with all times later by `by_ns` [ns]."""
        spline = None if self.spline is None else self.spline.later(by_ns)
        return Run(
            self.trajectory,
            self.columns,
            self.start_ns + by_ns,
            self.tolerances,
            spline,
            interpolates=self.interpolates,
            decelerations=self.decelerations,
        )

    def part(self, left: np.ndarray) -> Run:
        """Return the remaining run for some joints; left: (n,) mask of these joints."""
        tolerances = self.tolerances
        return Run(
            self.trajectory.of(left),
            self.columns[left],
            self.start_ns,
            Tolerances(tolerances.path[:, left], tolerances.goal[:, left], tolerances.goal_time),
            self.motion.of(left),
            interpolates=self.interpolates,
            decelerations=None if self.decelerations is None else self.decelerations[left],
        )


def excess(joints: Sequence[str], error: FloatArray, bounds: FloatArray) -> str:
    """Return a text naming violated tolerances, with the deviations; '' if none is violated."""
    beyond = (np.abs(error) > bounds) & (bounds > 0.0)
    if not beyond.any():
        return ''
    return '; '.join(
        f'joint {joints[k]!r}: {_QUANTITIES[row]} off by {abs(error[row, k]):.3g} '
        f'(tolerance {bounds[row, k]:.3g} {_UNITS[row]})'
        for row, k in zip(*np.nonzero(beyond), strict=True)
    )


def beyond_stops(
    joints: Sequence[str], positions: FloatArray, lower: FloatArray, upper: FloatArray
) -> str:
    """
    Return a text naming the joints whose stops hold them off their positions; '' for none.

    positions: (k, n) points of a trajectory [rad or m]. lower, upper: (n,) stops [rad or m].
    """
    least, greatest = positions.min(axis=0), positions.max(axis=0)
    return '; '.join(
        f'joint {joint!r}: its stop at {stop:.6g} holds it off the position {asked:.6g}'
        for joint, low, high, below, above in zip(
            joints, least.tolist(), greatest.tolist(), lower.tolist(), upper.tolist(), strict=True
        )
        for stop, asked, excess in ((below, low, below - low), (above, high, high - above))
        if excess > _AT_STOP
    )
