"""Gains of a PID law, as in ros2_control's controllers."""

from __future__ import annotations

from dataclasses import dataclass
import math

from sim_bridge.foundation.validation import finite_number, number_from


@dataclass(frozen=True)
class Gains:
    """
    Gains converting an error to an effort, or to a velocity for velocity-driven joints.

    p: effort per position error, d: per velocity error, i: per integrated position error [s];
    i_clamp: upper limit of the integral term. ff_velocity_scale: feedforward per desired velocity;
    None: 1 for velocity-driven joints, else 0. i_clamp_min: lower limit of the integral term;
    None: -i_clamp. u_clamp_min, u_clamp_max: limits of p, i and d terms together.
    """

    p: float = 0.0
    i: float = 0.0
    d: float = 0.0
    i_clamp: float = math.inf
    ff_velocity_scale: float | None = None
    i_clamp_min: float | None = None
    u_clamp_min: float = -math.inf
    u_clamp_max: float = math.inf

    def __post_init__(self) -> None:
        """Check all values; raises InvalidValueError."""
        for name in ('p', 'i', 'd'):
            finite_number(name, getattr(self, name), 'gains')
        if self.i_clamp != math.inf:
            number_from('i_clamp', self.i_clamp, 0.0, math.inf, 'gains', 'a number of at least 0')
        if self.ff_velocity_scale is not None:
            finite_number(
                'ff_velocity_scale', self.ff_velocity_scale, 'gains', 'a finite number, or None'
            )

    def integrated(self, integral: float, error: float, step: float) -> float:
        """Return the integral of the error after a step [s], within the limits of its term."""
        if not self.i:
            return integral
        low = -self.i_clamp if self.i_clamp_min is None else self.i_clamp_min
        ends = low / self.i, self.i_clamp / self.i
        return min(max(integral + step * error, min(ends)), max(ends))

    def command(self, feedforward: float, error: float, rate: float, integral: float) -> float:
        """Return the command; rate: time derivative of the error."""
        if self.u_clamp_min == -math.inf and self.u_clamp_max == math.inf:
            return float(feedforward + self.p * error + self.d * rate + self.i * integral)
        correction = self.p * error + self.d * rate + self.i * integral
        return float(feedforward + min(max(correction, self.u_clamp_min), self.u_clamp_max))
