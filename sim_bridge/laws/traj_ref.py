"""Sinusoidal joint reference with its derivatives."""

from __future__ import annotations

import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, real_array
from sim_bridge.laws.values import for_each


class TrajRef(DeclaredAttributes):
    """
    Reference q0 + amplitude sin(omega t + phase), after the Supaero course's class.

    Methods take a time t [s] and return (n,), or times (N,) and return (N, n).
    """

    __slots__ = ('amplitude', 'omega', 'phase', 'q0')
    advice = dict.fromkeys(__slots__, 'it is checked at construction; make another reference')

    def __init__(
        self,
        q0: Vector,
        omega: Number | Vector,
        amplitude: Number | Vector,
        phase: Number | Vector = 0.0,
    ) -> None:
        """
        Set the sinusoids for n joints.

        q0: (n,) centre [rad or m]. omega: angular frequency [rad/s]. amplitude: [rad or m]. phase:
        [rad]. One number for all joints, or (n,). Raises InvalidValueError.
        """
        expected = 'finite numbers, one for each joint [rad or m]'
        size = real_array('q0', q0, expected, '').size
        self.q0 = finite_vector('q0', q0, size, '', expected)
        self.omega = for_each('omega', omega, size)
        self.amplitude = for_each('amplitude', amplitude, size)
        self.phase = for_each('phase', phase, size)

    def __call__(self, t: Number | Vector) -> FloatArray:
        """Return the positions [rad or m]."""
        return self.at(t)[0]

    def velocity(self, t: Number | Vector) -> FloatArray:
        """Return the velocities [rad/s or m/s]."""
        return self.at(t)[1]

    def acceleration(self, t: Number | Vector) -> FloatArray:
        """Return the accelerations [rad/s² or m/s²]."""
        return self.at(t)[2]

    def at(self, t: Number | Vector) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions, velocities and accelerations; raises InvalidValueError for a bad t."""
        if type(t) is float and math.isfinite(t):
            # the usual case
            angle = self.omega * t + self.phase
        else:
            expected = 'a finite time, or several (N,) [s]'
            times = real_array('t', t, expected, '')
            if times.ndim > 1 or not np.isfinite(times).all():
                raise InvalidValueError('t', t, expected)
            angle = self.omega * times[..., None] + self.phase
        wave = self.amplitude * np.sin(angle)
        return (
            self.q0 + wave,
            self.amplitude * self.omega * np.cos(angle),
            -(self.omega**2) * wave,
        )
