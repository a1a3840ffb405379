"""Log messages at a limited rate."""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock, ClockType

# rclpy's default is the wall clock: set back by an hour, it would suppress messages for an hour
_STEADY = Clock(clock_type=ClockType.STEADY_TIME)


def once_in(seconds: float) -> dict[str, Any]:
    """Return the arguments of a logging call that limit it to one message per period [s]."""
    return {'throttle_duration_sec': seconds, 'throttle_time_source_type': _STEADY}
