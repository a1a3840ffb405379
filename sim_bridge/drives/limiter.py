"""
A limiter of velocity, acceleration and jerk of one component of a twist.

The limits have the names and the meaning of those of ros2_control's diff_drive_controller and of
control_toolbox's RateLimiter. Unlike these, a limit of jerk does not let the velocity overshoot:
the acceleration ends in time.
"""

from __future__ import annotations

import math

from sim_bridge.description.drives import SpeedLimits

# of a velocity
_ROUNDING = 1e-13


class SpeedLimiter:
    """
    Follows a velocity as fast as the limits allow.

    In every step the acceleration is the greatest from which it can still end, by steps of the
    greatest jerk, without passing the velocity. Where the limits of slowing down and speeding up
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
        """The limited velocity after the latest step."""
        self.acceleration = 0.0
        """The acceleration in the latest step."""

    def start(self, velocity: float, acceleration: float = 0.0) -> None:
        """Continue from a velocity and an acceleration."""
        self.velocity, self.acceleration = velocity, acceleration

    def step(self, wanted: float, elapsed: float) -> float:
        """Return the velocity after a step towards a wanted velocity; elapsed: its length [s]."""
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
        # exactly there, not up to rounding
        is_there = abs(goal - reached) <= _ROUNDING * max(abs(goal), abs(v))
        self.velocity = goal if is_there else reached
        self.acceleration = a
        return self.velocity


def _acceleration(missing: float, elapsed: float, limits: SpeedLimits) -> float:
    """
    Return the acceleration of a step that passes a velocity by nothing.

    missing: velocity until there. elapsed: length of the steps [s]. From an acceleration a, steps
    of the jerk J = j elapsed bring n + 1 = floor(a / J) + 1 velocities a, a - J, …: in all
    elapsed ((n + 1) a - J n (n + 1) / 2), which is to be what is missing.
    """
    jerk = limits.min_jerk if missing > 0.0 else limits.max_jerk
    if math.isinf(jerk) or missing == 0.0:
        return missing / elapsed
    decrement = jerk * elapsed
    rate = abs(missing) / elapsed
    n = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * rate / decrement) - 1.0))
    return math.copysign((rate + 0.5 * decrement * n * (n + 1)) / (n + 1), missing)
