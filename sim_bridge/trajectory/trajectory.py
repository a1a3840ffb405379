"""
Trajectories: desired joint positions at given times, and splines through them.

Times are whole nanoseconds internally, like step times, so that each sample belongs to exactly one
simulation time.
"""

from __future__ import annotations

from collections.abc import Sequence
import copy
import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray, Matrix, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.ragged_array import RaggedArray
from sim_bridge.foundation.validation import items_of, real_array

# one row per point with values for all joints, or None
_Rows = Matrix | Sequence[Vector | None] | RaggedArray

_NAMES = ('positions', 'velocities', 'accelerations')
_UNITS = ('rad or m', 'rad/s or m/s', 'rad/s² or m/s²')
_NANO = 1e-9

# greater values are mistakes, yet far from overflow in a polynomial
_GREATEST = 1e9

# final velocity still accepted as rest, as in ros2_control
_REST = float(np.finfo(np.float32).eps)

# 146 years: sums of two times still fit into 64-bit integers
LATEST_NS = 1 << 62

# number of segments whose polynomials are computed together, once one of them is reached; for a
# long trajectory, all segments at once would delay the step
_BLOCK = 64

# derivative (row) of time to the power 0 to 5 (column): factor and remaining power
_FACTORS = np.array(
    [
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [0.0, 0.0, 2.0, 6.0, 12.0, 20.0],
    ]
)
_POWERS = np.maximum(np.arange(6) - np.arange(3).reshape(3, 1), 0)


class Trajectory(DeclaredAttributes):
    """
    Trajectory for some joints: points in time, each with a position for every joint.

    A point may also have velocities, and with them accelerations, for all joints. Between two
    points every joint follows the polynomial matching both: a line if either side has positions
    only, a cubic with velocities, a quintic with accelerations as well.

    joints: names. times_ns: (k,) point times from the start [ns]. positions [rad or m],
    velocities [rad/s or m/s], accelerations [rad/s² or m/s²]: (k, n); nan rows for points without
    values.
    """

    __slots__ = ('accelerations', 'joints', 'positions', 'times_ns', 'velocities')
    internal_names = DeclaredAttributes.internal_names | {
        'check_end',
        'check_not_over',
        'of',
        'spline',
    }

    def __init__(
        self,
        joints: Sequence[str],
        times: Vector,
        positions: _Rows,
        velocities: _Rows | None = None,
        accelerations: _Rows | None = None,
    ) -> None:
        """
        Check and store the points.

        times: point times from the start [s]; ascending, the first at least 0. positions,
        velocities, accelerations: for each point a value for each joint; a point, or all points,
        may lack velocities and accelerations, as () or None. Large inputs are read fastest from
        RaggedArray.

        Raises InvalidValueError naming point and joint.
        """
        self.joints: tuple[str, ...] = items_of('joints of trajectory', joints, str, 'joint names')
        if not self.joints or len(set(self.joints)) != len(self.joints):
            raise InvalidValueError(
                'joints of trajectory', self.joints, 'at least one joint, each once'
            )
        self.times_ns = _times_ns(times)
        values = [
            _values(name, given, len(self.times_ns), self.joints, unit, may_lack=name != _NAMES[0])
            for name, given, unit in zip(
                _NAMES, (positions, velocities, accelerations), _UNITS, strict=True
            )
        ]
        self.positions, self.velocities, self.accelerations = values
        lacking = ~np.isnan(self.accelerations[:, 0]) & np.isnan(self.velocities[:, 0])
        if lacking.any():
            raise InvalidValueError(
                'velocities of trajectory',
                None,
                'velocities where there are accelerations',
                f'point {int(np.argmax(lacking))}',
            )

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return float(self.times_ns[-1]) * _NANO

    def of(self, which: np.ndarray) -> Trajectory:
        """Return the trajectory for some of its joints; which: (n,) joint mask."""
        part = type(self).__new__(type(self))
        part.joints = tuple(name for name, is_in in zip(self.joints, which, strict=True) if is_in)
        part.times_ns = self.times_ns
        for name in _NAMES:
            setattr(part, name, getattr(self, name)[:, which])
        return part

    def check_end(self) -> None:
        """Raise InvalidValueError, naming the joint, unless it ends at rest."""
        last = self.velocities[-1]
        moving = np.abs(last) > _REST
        if moving.any():
            joint = int(np.argmax(moving))
            raise InvalidValueError(
                'velocities of trajectory',
                float(last[joint]),
                '0 at the last point [rad/s or m/s]',
                f'point {len(self.times_ns) - 1}, joint {self.joints[joint]!r}',
            )

    def check_not_over(self, start_ns: int, now_ns: int) -> None:
        """Raise InvalidValueError if a trajectory with this start time [ns] is over now [ns]."""
        end_ns = start_ns + int(self.times_ns[-1])
        if end_ns < now_ns:
            raise InvalidValueError(
                'end of trajectory',
                end_ns * _NANO,
                f'a time not yet over: it is {now_ns * _NANO:.9g} s',
            )

    def spline(
        self,
        start_ns: int,
        from_ns: int,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray | None = None,
        turning: np.ndarray | None = None,
        interpolates: bool = True,
    ) -> Spline:
        """
        Return the motion from a state at one time through all later points.

        start_ns: absolute time origin for the points [ns]. from_ns: beginning of the motion;
        earlier points are omitted, and a point at exactly this time replaces the state. q, dq,
        ddq: (n,) initial state [rad or m, and per s, s²]; ddq: None for 0. turning: (n,) mask of
        continuous joints: these take the shorter way, by whole turns. interpolates: False for
        jumps: the motion between two points is the second point.

        Raises InvalidValueError if no point is left.
        """
        self.check_not_over(start_ns, from_ns)
        times = self.times_ns + start_ns
        left = times >= from_ns
        positions = self.positions[left]
        if turning is not None and turning.any():
            turns = np.round((q - positions[0]) / math.tau)
            positions = positions + np.where(turning, turns, 0.0) * math.tau
        times, velocities = times[left], self.velocities[left]
        accelerations = self.accelerations[left]
        if times[0] > from_ns:
            times = np.concatenate([[from_ns], times])
            positions = np.concatenate([[q], positions])
            velocities = np.concatenate([[dq], velocities])
            first = np.zeros(len(q)) if ddq is None else ddq
            accelerations = np.concatenate([[first], accelerations])
        return Spline(times, positions, velocities, accelerations, interpolates)


class Spline:
    """Motion of several joints: polynomials between points in time, then rest."""

    def __init__(
        self,
        times_ns: IntArray,
        positions: FloatArray,
        velocities: FloatArray,
        accelerations: FloatArray,
        interpolates: bool = True,
    ) -> None:
        """
        Store the points.

        times_ns: (k,) ascending [ns]. positions, velocities, accelerations: (k, n); nan rows for
        points without values. interpolates: see `Trajectory.spline`.
        """
        self._times, self._interpolates = times_ns, interpolates
        self.begin_ns, self.end_ns = int(times_ns[0]), int(times_ns[-1])
        self._first, self._last = positions[0], positions[-1]
        self._durations = np.diff(times_ns) * _NANO
        self._points = positions, velocities, accelerations
        # polynomials of the block sampled last
        self._block, self._coefficients = -1, np.empty(0)

    def of(self, which: np.ndarray) -> Spline:
        """Return the motion for some of its joints; which: (n,) joint mask."""
        part = copy.copy(self)
        part._first, part._last = self._first[which], self._last[which]
        positions, velocities, accelerations = self._points
        part._points = positions[:, which], velocities[:, which], accelerations[:, which]
        part._block = -1
        return part

    def later(self, by_ns: int) -> Spline:
        """Return the same motion at times later by `by_ns` [ns]."""
        moved = copy.copy(self)
        moved._times = self._times + by_ns
        moved.begin_ns, moved.end_ns = self.begin_ns + by_ns, self.end_ns + by_ns
        return moved

    def at(self, time_ns: int) -> FloatArray:
        """Return (3, n): position, velocity and acceleration at a time [ns]; at rest outside."""
        if self.begin_ns <= time_ns < self.end_ns:
            segment = int(np.searchsorted(self._times, time_ns, 'right')) - 1
            if not self._interpolates:
                return np.nan_to_num([values[segment + 1] for values in self._points])
            since = (time_ns - int(self._times[segment])) * _NANO
            block, place = divmod(segment, _BLOCK)
            if block != self._block:
                self._compute(block)
            return (_FACTORS * since**_POWERS) @ self._coefficients[place]
        state = np.zeros((3, len(self._last)))
        state[0] = self._first if time_ns < self.begin_ns else self._last
        return state

    def _compute(self, block: int) -> None:
        begin = block * _BLOCK
        end = begin + _BLOCK
        self._coefficients = _coefficients(
            self._durations[begin:end], *(values[begin : end + 1] for values in self._points)
        )
        self._block = block


def _coefficients(
    durations: FloatArray, q: FloatArray, v: FloatArray, a: FloatArray
) -> FloatArray:
    """
    Return (k - 1, 6, n) polynomial coefficients in the time since the start of each segment.

    They interpolate the data at both ends (Hermite interpolation, order 1, 3 or 5).
    """
    t = durations.reshape(-1, 1)
    begin, way = q[:-1], np.diff(q, axis=0)
    (v0, v1), (a0, a1) = ((values[:-1], values[1:]) for values in (v, a))
    zero = np.zeros_like(begin)
    line = [begin, way / t, zero, zero, zero, zero]
    cubic = [
        begin,
        v0,
        (3.0 * way - (2.0 * v0 + v1) * t) / t**2,
        ((v0 + v1) * t - 2.0 * way) / t**3,
        zero,
        zero,
    ]
    quintic = [
        begin,
        v0,
        0.5 * a0,
        (20.0 * way - (8.0 * v1 + 12.0 * v0) * t + (a1 - 3.0 * a0) * t**2) / (2.0 * t**3),
        (-30.0 * way + (14.0 * v1 + 16.0 * v0) * t + (3.0 * a0 - 2.0 * a1) * t**2) / (2.0 * t**4),
        (12.0 * way - 6.0 * (v0 + v1) * t + (a1 - a0) * t**2) / (2.0 * t**5),
    ]
    knows_v, knows_a = (
        ~np.isnan(x0 + x1).any(axis=1, keepdims=True) for x0, x1 in ((v0, v1), (a0, a1))
    )
    return np.stack(
        [
            np.where(knows_v, np.where(knows_a, fifth, third), first)
            for first, third, fifth in zip(line, cubic, quintic, strict=True)
        ],
        axis=1,
    )


def _times_ns(times: Vector) -> IntArray:
    """Check times [s] and return them in ns."""
    seconds = real_array('times of trajectory', times, 'numbers [s]', '')
    if seconds.ndim != 1 or not len(seconds):
        raise InvalidValueError('points of trajectory', seconds.tolist(), 'at least one point')
    with np.errstate(over='ignore'):
        times_ns = np.round(seconds * 1e9)
    # compare in ns, the stored unit; nan fails every comparison
    grows = np.isfinite(times_ns)
    grows[0] &= seconds[0] >= 0.0
    grows[1:] &= times_ns[1:] > times_ns[:-1]
    if not grows.all():
        point = int(np.argmin(grows))
        expected = (
            f'more than that of the point before, {seconds[point - 1]:g} s'
            if point
            else ('at least 0 [s]')
        )
        raise InvalidValueError(
            'time of trajectory', float(seconds[point]), expected, f'point {point}'
        )
    if times_ns[-1] > LATEST_NS:
        raise InvalidValueError(
            'time of trajectory',
            float(seconds[-1]),
            f'at most {LATEST_NS * _NANO:g} s',
            f'point {len(seconds) - 1}',
        )
    return times_ns.astype(np.int64)


def _values(
    name: str, given: _Rows | None, count: int, joints: Sequence[str], unit: str, may_lack: bool
) -> FloatArray:
    """Check one quantity's values; return (count, n), nan for points without values."""
    rows = [None] * count if given is None and may_lack else given
    if not isinstance(rows, RaggedArray):
        rows = items_of(
            f'{name} of trajectory',
            () if rows is None else rows,
            object,
            f'{count} rows, one for each time',
        )
    if len(rows) != count:
        raise InvalidValueError(
            f'number of {name} of trajectory', len(rows), f'{count}, one row for each time'
        )

    def checked(point: int) -> FloatArray:
        place = f'point {point}'
        what, expected = f'{name} of trajectory', f'a row of numbers [{unit}]'
        values = real_array(what, rows[point], expected, place)
        if values.ndim != 1:
            raise InvalidValueError(what, rows[point], expected, place)
        if may_lack and not values.size:
            return np.full(len(joints), np.nan)
        if values.shape != (len(joints),):
            raise InvalidValueError(
                f'number of {what}',
                values.size,
                f'{len(joints)}, one for each of {", ".join(joints)}',
                place,
            )
        if not (np.abs(values) <= _GREATEST).all():
            joint = int(np.argmin(np.abs(values) <= _GREATEST))
            raise InvalidValueError(
                what,
                float(values[joint]),
                f'a finite number of at most {_GREATEST:g} [{unit}]',
                f'{place}, joint {joints[joint]!r}',
            )
        return values

    if isinstance(rows, RaggedArray):
        fitting = rows.counts == len(joints)
        fitting_rows = rows.table(fitting, len(joints))
        is_wrong = ~fitting & (rows.counts > 0) if may_lack else ~fitting
        is_wrong[fitting] = ~(np.abs(fitting_rows) <= _GREATEST).all(axis=1)
        if is_wrong.any():
            checked(int(np.argmax(is_wrong)))
        # allocate only now: invalid input may have any number of points and joints
        table = np.full((count, len(joints)), np.nan)
        table[fitting] = fitting_rows
        return table
    table = np.full((count, len(joints)), np.nan)
    for point, row in enumerate(rows):
        if not may_lack or row is not None:
            table[point] = checked(point)
    return table
