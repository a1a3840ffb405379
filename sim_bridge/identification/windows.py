"""
Recordings cut into short windows for simulation and comparison.

Over half a second, model errors stay small; over a minute they would grow until the motions are
unrelated (multiple shooting). Each window begins at its own fitted state. Samples
are compared as bin means: simulated motion is interpolated at the sample times, so samples need
not coincide with steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.identification.recording import Recording

# windows: usual length, maximum and sufficient number
LENGTH = 0.5  # s
_MOST = 120
_ENOUGH = 24
SHORTEST = 0.1  # s
_BINS = 50
# initial state spread, relative to the noise and to the motion
_WIDE, _SHARE = 30.0, 0.05
_NEAR_STOP = 1e-3  # relative to a joint's range
_NEAR = 0.04  # [s] neighbourhood for estimating the initial state
# samples this close to a step's end count as taken at its end; share of the step
_AT_END = 1e-4


@dataclass(frozen=True, eq=False)
class Windows:
    """
    W windows with K steps and B bins, for n joints.

    of, begin: (W,) recording number and first sample time [s]. start: (W, 2n) guessed
    initial state, positions and velocities. start_spread: (2n,) this guess's largest expected
    error. measured: (W, B, 2n) means over a bin's samples, nan if there are none. counts:
    (W, B) samples. noise: (2n,) single-sample standard deviation. bin_of: (K,) each step's
    bin. weights: (K, 6, W) weights in the bin's mean for the states at both ends of a step:
    q v q' v' for positions and v v' for velocities.
    """

    recordings: tuple[Recording, ...]
    time_step: float
    of: IntArray
    begin: FloatArray
    start: FloatArray
    start_spread: FloatArray
    measured: FloatArray
    counts: FloatArray
    noise: FloatArray
    bin_of: IntArray
    weights: FloatArray
    left_out: float

    @property
    def count(self) -> int:
        """Window count."""
        return len(self.begin)

    @property
    def steps(self) -> int:
        """Steps per window."""
        return len(self.bin_of)

    @property
    def length(self) -> float:
        """Window length [s]."""
        return self.steps * self.time_step

    def efforts(self, delay: float) -> FloatArray:
        """Return (K, W, n) mean efforts in each step; delay: time until they act [s]."""
        within = np.arange(self.steps + 1) * self.time_step - delay
        found = np.empty((self.steps, self.count, self.start.shape[1] // 2))
        for number, recording in enumerate(self.recordings):
            own = self.of == number
            edges = self.begin[own, np.newaxis] + within
            found[:, own] = recording.mean_efforts(edges).transpose(1, 0, 2)
        return found


def cut(
    recordings: Sequence[Recording],
    time_step: float,
    stops: tuple[FloatArray, FloatArray],
    length: float | None = None,
) -> Windows:
    """
    Cut recordings into windows.

    stops: (n,) lower and upper joint positions; samples near them are excluded, because an impact
    carries no information about the fitted parameters. length: window length [s]; None: half a
    second, or less for few data. If there are too many windows, a selection is spread over the
    recordings. Raises InvalidValueError if no window fits between gaps.
    """
    total = sum(each.duration for each in recordings)
    is_given = length is not None
    if length is None:
        length = min(LENGTH, max(total / _ENOUGH, SHORTEST))
        while length > SHORTEST and not _places(recordings, length, stops)[0]:
            length = max(0.5 * length, SHORTEST)
    steps = round(length / time_step)
    period = max(each.period for each in recordings)
    width = max(round(max(period, length / _BINS) / time_step), 1)
    steps = width * max(round(steps / width), 1)
    places, left_out = _places(recordings, steps * time_step, stops)
    if not places:
        longest = max(each.duration for each in recordings)
        raise InvalidValueError(
            'window',
            f'{length:g} s',
            'a length for which states and efforts are recorded '
            f'without a gap and away from stops: the longest recording takes {longest:.4g} s'
            + _resting(recordings, stops)
            + (
                ''
                if is_given
                else '; record more'
                if longest < length
                else '; move joints off their stops'
            ),
            ', '.join(each.name for each in recordings),
        )
    bin_of = np.arange(steps) // width
    bins, n = steps // width, recordings[0].positions.shape[1]
    weights = np.zeros((steps, 6, len(places)))
    counts = np.zeros((len(places), bins))
    measured = np.full((len(places), bins, 2 * n), np.nan)
    start = np.empty((len(places), 2 * n))
    for w, (number, begin) in enumerate(places):
        recording = recordings[number]
        start[w] = _state(recording, begin)
        _fill(recording, begin, time_step, bin_of, weights[:, :, w], counts[w], measured[w])
    noises = [each.noise() for each in recordings]
    velocity = [found for _, found in noises if found is not None]
    noise = np.concatenate(
        [
            np.median([found for found, _ in noises], axis=0),
            np.median(velocity, axis=0) if velocity else np.ones(n),
        ]
    )
    return Windows(
        tuple(recordings),
        time_step,
        np.array([number for number, _ in places]),
        np.array([begin for _, begin in places]),
        start,
        _spread(recordings, noise),
        measured,
        counts,
        noise,
        bin_of,
        weights,
        left_out,
    )


def _places(
    recordings: Sequence[Recording], length: float, stops: tuple[FloatArray, FloatArray]
) -> tuple[list[tuple[int, float]], float]:
    """Return each window's recording and time, and the time outside all windows [s]."""
    found: list[tuple[int, float]] = []
    left_out = 0.0
    for number, recording in enumerate(recordings):
        gaps = np.concatenate([recording.gaps(), _at_stops(recording, stops)])
        at, last = recording.times[0], recording.times[-1]
        while at + length <= last + 1e-9:
            inside = gaps[(gaps[:, 0] < at + length) & (gaps[:, 1] >= at)]
            if len(inside):
                later = recording.times[recording.times > inside[:, 1].max() + 1e-9]
                left_out += float(min(later[0] if len(later) else last, last) - at)
                if not len(later):
                    break
                at = later[0]
                continue
            found.append((number, float(at)))
            later = recording.times[recording.times >= at + length - 1e-9]
            if not len(later):
                break
            at = later[0]
    if len(found) > _MOST:
        found = [found[k] for k in np.linspace(0, len(found) - 1, _MOST).round().astype(int)]
    return found, left_out


def _at_stops(recording: Recording, stops: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the times [s] of the k samples near a stop, as intervals (k, 2) without length."""
    margin = 5.0 * recording.noise()[0]
    lower, upper = stops
    with np.errstate(invalid='ignore'):
        margin = np.maximum(
            margin, np.where(np.isfinite(upper - lower), _NEAR_STOP * (upper - lower), 0.0)
        )
    near = ((recording.positions <= lower + margin) | (recording.positions >= upper - margin)).any(
        axis=1
    )
    times = recording.times[near]
    return np.stack([times, times], axis=-1)


def _resting(recordings: Sequence[Recording], stops: tuple[FloatArray, FloatArray]) -> str:
    """Return as text how long joints are at their stops."""
    found = []
    for number, name in enumerate(recordings[0].joint_names):
        own = stops[0][number : number + 1], stops[1][number : number + 1]
        alone = [each.of_joints([name]) for each in recordings]
        count = sum(len(_at_stops(each, own)) for each in alone)
        if count:
            share = count / sum(len(each.times) for each in recordings)
            found.append(f'{name} in {100.0 * share:.0f} % of the states')
    return f'; at their stops are {", ".join(found)}' if found else ''


def _state(recording: Recording, time: float) -> FloatArray:
    """Return the state (2n,) at a time, by a cubic fit through nearby samples."""
    reach = max(_NEAR, 4.0 * recording.period)
    near = np.abs(recording.times - time) <= reach
    within = (recording.times[near] - time) / reach
    powers = np.vander(within, 4, increasing=True)
    rows, values = powers, recording.positions[near]
    positions, velocities = (np.linalg.lstsq(rows, values, rcond=None)[0][k] for k in range(2))
    velocities = velocities / reach
    if recording.velocities is not None:
        velocities = np.linalg.lstsq(powers, recording.velocities[near], rcond=None)[0][0]
    return np.concatenate([positions, velocities])


def _spread(recordings: Sequence[Recording], noise: FloatArray) -> FloatArray:
    """Return the largest expected error (2n,) of guessed states: many times the usual error."""
    n = len(noise) // 2
    moved = np.max([np.ptp(each.positions, axis=0) for each in recordings], axis=0)
    # without the noise: differences would amplify it
    speed = np.max([np.sqrt(np.mean(_slow(each) ** 2, axis=0)) for each in recordings], axis=0)
    velocity = noise[n:] if recordings[0].velocities is not None else noise[:n] / _NEAR
    return np.concatenate(
        [
            np.maximum(_WIDE * noise[:n], _SHARE * np.maximum(moved, 1e-6)),
            np.maximum(_WIDE * velocity, _SHARE * np.maximum(speed, 1e-6)),
        ]
    )


def _slow(recording: Recording) -> FloatArray:
    """Return (·, n) velocities over intervals long enough for motion to exceed the noise."""
    every = max(round(_NEAR / recording.period), 1)
    steps = np.diff(recording.times[::every])[:, np.newaxis]
    found: FloatArray = np.diff(recording.positions[::every], axis=0) / steps
    return found


def _fill(
    recording: Recording,
    begin: float,
    time_step: float,
    bin_of: IntArray,
    weights_out: FloatArray,
    counts_out: FloatArray,
    measured_out: FloatArray,
) -> None:
    """Write a window's samples, and the simulated steps' weights in their means."""
    steps, n = len(bin_of), recording.positions.shape[1]
    within = (recording.times - begin) / time_step
    inside = (within > -_AT_END) & (within < steps + _AT_END)
    within = within[inside]
    step = np.clip(np.ceil(within - _AT_END).astype(int) - 1, 0, steps - 1)
    share = np.clip(within - step, 0.0, 1.0)
    share[np.abs(share - 1.0) < _AT_END] = 1.0
    bins = bin_of[step]
    np.add.at(counts_out, bins, 1.0)
    own = 1.0 / counts_out[bins]
    square, cube = share**2, share**3
    for column, weight in enumerate(
        (
            2.0 * cube - 3.0 * square + 1.0,
            time_step * (cube - 2.0 * square + share),
            3.0 * square - 2.0 * cube,
            time_step * (cube - square),
            1.0 - share,
            share,
        )
    ):
        np.add.at(weights_out[:, column], step, own * weight)
    sums = np.zeros((len(counts_out), 2 * n))
    np.add.at(sums[:, :n], bins, own[:, np.newaxis] * recording.positions[inside])
    if recording.velocities is None:
        sums[:, n:] = np.nan
    else:
        np.add.at(sums[:, n:], bins, own[:, np.newaxis] * recording.velocities[inside])
    sums[counts_out == 0.0] = np.nan
    measured_out[:] = sums
