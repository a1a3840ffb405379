"""Controller reference: a pose, or a sinusoid about it; parameter values by joint."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError


class Reference:
    """
    Joint positions, velocities and accelerations over time.

    The reference moves from `start` to `center` while the sinusoid grows, both with the same
    quintic blend: position, velocity and acceleration are continuous from rest. An amplitude of 0
    holds the centre.
    """

    def __init__(
        self,
        start: np.ndarray,
        center: np.ndarray,
        amplitude: np.ndarray,
        frequency: np.ndarray,
        ramp_time: float,
    ) -> None:
        """
        Start at rest.

        start, center, amplitude: (n,) [rad or m]. frequency: (n,) [Hz]. ramp_time: duration of the
        blend [s].
        """
        self._start = np.array(start)
        self._wave = sb.laws.TrajRef(
            np.array(center) - self._start, 2.0 * math.pi * np.array(frequency), amplitude
        )
        self._ramp_time = ramp_time

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and acceleration (n,) each at a time [s] since the start."""
        s, ds, dds = self._blend(time)
        moved, d_wave, dd_wave = self._wave.at(time)
        q = self._start + s * moved
        dq = ds * moved + s * d_wave
        ddq = dds * moved + 2.0 * ds * d_wave + s * dd_wave
        return q, dq, ddq

    def _blend(self, time: float) -> tuple[float, float, float]:
        """Return the blend from 0 to 1 with its first two derivatives."""
        if time >= self._ramp_time:
            return 1.0, 0.0, 0.0
        x, rate = time / self._ramp_time, 1.0 / self._ramp_time
        return (
            x**3 * (10.0 + x * (6.0 * x - 15.0)),
            30.0 * x**2 * (1.0 - x) ** 2 * rate,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) * rate**2,
        )


def per_joint(name: str, values: Sequence[float], joints: Sequence[str]) -> np.ndarray:
    """
    Return a parameter's value for every joint (n,).

    Raises InvalidValueError unless there are 1 or n values.
    """
    if len(values) not in (1, len(joints)):
        raise InvalidValueError(
            f'parameter {name!r}',
            values,
            f'1 value or {len(joints)}, one for each of {", ".join(joints)}',
        )
    return np.broadcast_to(np.array(values), (len(joints),))
