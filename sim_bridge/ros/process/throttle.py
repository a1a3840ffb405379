"""Messages in the log at a limited rate."""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock, ClockType

# rclpy would go by the time of day: after that was set back by an hour, nothing is said for one
_STEADY = Clock(clock_type=ClockType.STEADY_TIME)


def once_in(seconds: float) -> dict[str, Any]:
    """Return the arguments of a logging call for at most one message in so many seconds."""
    return {'throttle_duration_sec': seconds, 'throttle_time_source_type': _STEADY}
