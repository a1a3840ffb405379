"""
Velocity, acceleration and jerk limiter for one twist component.

The limits have the same names and meaning as in ros2_control's diff_drive_controller and in
control_toolbox's RateLimiter. In contrast to these, a jerk limit does not make the velocity
overshoot: the acceleration ends in time.
"""

from __future__ import annotations

import math

from sim_bridge.description.drives import SpeedLimits

# relative velocity difference counted as rounding
_ROUNDING = 1e-13


class SpeedLimiter:
    """
    Follows a velocity as fast as the limits permit.

    In every step, the acceleration is the greatest one that can still end, with maximum-jerk
    steps, without passing the target velocity. If the limits for slowing down and speeding up
    differ, a change of direction stops at zero.
    """

    def __init__(self, limits: SpeedLimits):
        """Start at rest."""
        self._limits = limits
        self._is_even = (
            limits.max_acceleration == limits.max_deceleration_reverse
            and limits.max_acceleration_reverse == limits.max_deceleration
        )
        self.velocity = 0.0
        """Limited velocity after the latest step."""
        self.acceleration = 0.0
        """Acceleration in the latest step."""

    def start(self, velocity: float, acceleration: float = 0.0) -> None:
        """Continue from a velocity and an acceleration."""
        self.velocity, self.acceleration = velocity, acceleration

    def step(self, wanted: float, elapsed: float) -> float:
        """Return the velocity after a step towards a wanted one; elapsed: step length [s]."""
        limits, v = self._limits, self.velocity
        goal = min(max(wanted, limits.min_velocity), limits.max_velocity)
        if not self._is_even and v * goal < 0.0:
            goal = 0.0
        missing = goal - v
        speed_up = limits.max_acceleration if v >= 0.0 else limits.max_deceleration_reverse
        slow_down = limits.max_deceleration if v > 0.0 else limits.max_acceleration_reverse
        best = _acceleration(missing, elapsed, limits)
        a = min(
            max(best, self.acceleration - limits.min_jerk * elapsed),
            self.acceleration + limits.max_jerk * elapsed,
        )
        a = min(max(a, -slow_down), speed_up)
        reached = v + a * elapsed
        # set the goal exactly, without rounding
        is_there = abs(goal - reached) <= _ROUNDING * max(abs(goal), abs(v))
        self.velocity = goal if is_there else reached
        self.acceleration = a
        return self.velocity


def _acceleration(missing: float, elapsed: float, limits: SpeedLimits) -> float:
    """
    Return the acceleration for a step without overshoot of the target velocity.

    missing: velocity difference to the target. elapsed: step length [s]. From acceleration a,
    steps with jerk J = j elapsed add n + 1 = floor(a / J) + 1 velocity increments a, a - J, …:
    in total elapsed ((n + 1) a - J n (n + 1) / 2); this sum must equal `missing`.
    """
    jerk = limits.min_jerk if missing > 0.0 else limits.max_jerk
    if math.isinf(jerk) or missing == 0.0:
        return missing / elapsed
    decrement = jerk * elapsed
    rate = abs(missing) / elapsed
    n = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * rate / decrement) - 1.0))
    return math.copysign((rate + 0.5 * decrement * n * (n + 1)) / (n + 1), missing)
