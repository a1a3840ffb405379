"""Recorded joint motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import items_of, one_of, real_array

# arrays with any number type, converted to float
_Numbers = np.ndarray[Any, np.dtype[Any]]

HOLDS = ('next', 'previous', 'linear')
# noise relative to the motion range, assumed if no noise is measurable
_LEAST_NOISE = 1e-6
# intervals above this many usual periods count as gaps
_GAP = 5.0
_FEWEST = 20


@dataclass(frozen=True, eq=False)
class Recording:
    """
    Joint positions, velocities and efforts over time.

    name: for messages, such as the bag's name. joint_names: n one-axis joints. times: (N,) state
    times [s], rising. positions: (N, n) [rad or m]. velocities: (N, n) [rad/s or m/s], or None if
    not measured. effort_times: (M,) [s]. efforts: (M, n) drive efforts [N m or N]. hold: when an
    effort acts: 'next': until the next one, as for commands; 'previous': since the previous one,
    as for a measured mean; 'linear': interpolated. notes: anomalies in the data. Raises
    InvalidValueError for arrays with inconsistent shapes and for non-finite numbers.
    """

    name: str
    joint_names: tuple[str, ...]
    times: _Numbers
    positions: _Numbers
    velocities: _Numbers | None
    effort_times: _Numbers
    efforts: _Numbers
    hold: str = 'next'
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the arrays."""
        place = f'recording {self.name!r}'
        names = items_of('joint_names', self.joint_names, str, 'joint names', place)
        object.__setattr__(self, 'joint_names', names)
        n = len(names)
        one_of('hold', self.hold, HOLDS, place)
        for what, times, fewest in (
            ('times', self.times, _FEWEST),
            ('effort_times', self.effort_times, 2),
        ):
            array = _checked(what, times, (None,), place)
            if len(array) < fewest or not (np.diff(array) > 0.0).all():
                raise InvalidValueError(
                    what, array, f'at least {fewest} times in rising order [s]', place
                )
            object.__setattr__(self, what, array)
        for what, like in (
            ('positions', self.times),
            ('velocities', self.times),
            ('efforts', self.effort_times),
        ):
            value = getattr(self, what)
            if value is not None:
                object.__setattr__(self, what, _checked(what, value, (len(like), n), place))

    def __repr__(self) -> str:
        """Show the size."""
        return (
            f'<Recording {self.name!r}: {counted(len(self.joint_names), "joint")}, '
            f'{counted(len(self.times), "state")} in {self.duration:.4g} s>'
        )

    @property
    def duration(self) -> float:
        """Time from first to last state [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def period(self) -> float:
        """Usual (median) time between states [s]."""
        return float(np.median(np.diff(self.times)))

    def of_joints(self, names: Sequence[str]) -> Recording:
        """Return the recording for some of its joints, in the given order."""
        columns = [self.joint_names.index(name) for name in names]
        return Recording(
            self.name,
            tuple(names),
            self.times,
            self.positions[:, columns],
            None if self.velocities is None else self.velocities[:, columns],
            self.effort_times,
            self.efforts[:, columns],
            self.hold,
            self.notes,
        )

    def between(self, begin: float, end: float) -> Recording:
        """Return the states within a time span [s]; raises InvalidValueError for too few."""
        kept = (self.times >= begin) & (self.times <= end)
        if np.count_nonzero(kept) < _FEWEST:
            raise InvalidValueError(
                'from, to',
                f'{begin:g} to {end:g} s',
                f'a time that holds at least {_FEWEST} '
                f'states; they are from {self.times[0]:g} to {self.times[-1]:g} s',
                f'recording {self.name!r}',
            )
        return Recording(
            self.name,
            self.joint_names,
            self.times[kept],
            self.positions[kept],
            None if self.velocities is None else self.velocities[kept],
            self.effort_times,
            self.efforts,
            self.hold,
            self.notes,
        )

    def mean_efforts(self, edges: FloatArray) -> FloatArray:
        """Return (..., K, n) mean efforts between (..., K + 1) times [s]."""
        sums = np.stack(
            [np.interp(edges, self.effort_times, column) for column in self._integral().T], axis=-1
        )
        # outside the recording, the first and last efforts continue
        first, last = self.effort_times[0], self.effort_times[-1]
        sums += np.minimum(edges - first, 0.0)[..., np.newaxis] * self.efforts[0]
        sums += np.maximum(edges - last, 0.0)[..., np.newaxis] * self.efforts[-1]
        means: FloatArray = np.diff(sums, axis=-2) / np.diff(edges, axis=-1)[..., np.newaxis]
        return means

    def gaps(self) -> FloatArray:
        """
        Return (k, 2) time intervals [s] with missing states or efforts.

        Commands have their own rate. If they cease for much longer, the drives' behaviour is
        unknown.
        """
        found = []
        for times in (self.times, self.effort_times):
            steps = np.diff(times)
            most = max(_GAP * float(np.median(steps)), _GAP * self.period)
            found += [(times[k], times[k + 1]) for k in np.flatnonzero(steps > most)]
            if times is self.effort_times:
                found += [(-np.inf, times[0]), (times[-1] + most, np.inf)]
        return np.array(found).reshape(-1, 2)

    def noise(self) -> tuple[FloatArray, FloatArray | None]:
        """
        Return (n,) standard deviations: position noise and velocity noise.

        Computed from third-order differences of the samples: these are small for smooth motion.
        """
        return _noise(self.positions), (
            None if self.velocities is None else _noise(self.velocities)
        )

    def _integral(self) -> FloatArray:
        """Return (M, n) integrated efforts up to their times [N m s]."""
        steps = np.diff(self.effort_times)[:, np.newaxis]
        if self.hold == 'next':
            portions = steps * self.efforts[:-1]
        elif self.hold == 'previous':
            portions = steps * self.efforts[1:]
        else:
            portions = 0.5 * steps * (self.efforts[:-1] + self.efforts[1:])
        return np.concatenate([np.zeros((1, portions.shape[1])), np.cumsum(portions, axis=0)])


def _noise(values: FloatArray) -> FloatArray:
    differences = np.diff(values, 3, axis=0)
    # for white noise, their variance is 20 times the noise variance; the median ignores jerks
    found = np.median(np.abs(differences), axis=0) / 0.6745 / np.sqrt(20.0)
    least = _LEAST_NOISE * np.maximum(np.ptp(values, axis=0), 1e-3)
    return np.maximum(found, least)


def _checked(what: str, value: Any, shape: tuple[int | None, ...], place: str) -> FloatArray:
    sizes = ' x '.join('N' if size is None else str(size) for size in shape)
    expected = f'{sizes} finite numbers'
    array = real_array(what, value, expected, place)
    fits = len(array.shape) == len(shape) and all(
        size is None or size == own for size, own in zip(shape, array.shape, strict=True)
    )
    if not fits or not np.isfinite(array).all():
        raise InvalidValueError(
            what,
            f'{array.shape} numbers' if not fits else 'numbers that are not finite',
            expected,
            place,
        )
    return array
