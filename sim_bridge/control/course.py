"""Square course: twist that leads a vehicle along a square's sides, from its pose."""

from __future__ import annotations

from dataclasses import dataclass
import math

# [1/s] and [1/m]: gains for heading errors and lateral errors
_HEADING_GAIN, _SIDE_GAIN = 3.0, 2.0
# tolerances at the end of a side and of a turn [m, rad]
_NEAR, _ALIGNED = 2e-3, 2e-3


@dataclass(frozen=True)
class Pace:
    """
    Speeds and decelerations of a vehicle.

    speed: m/s; yaw_rate: rad/s. deceleration, yaw_deceleration: used to stop [m/s², rad/s²].
    """

    speed: float
    yaw_rate: float
    deceleration: float
    yaw_deceleration: float


class SquareCourse:
    """
    Sides of a square, driven straight, with turns on the spot between them.

    It starts at the first pose, along its x axis, and turns left. A lap ends at the start with the
    initial heading.
    """

    def __init__(self, side: float, laps: int, pace: Pace):
        """Prepare; side: length [m]. laps: number of laps, 0 for no end."""
        self._side, self._laps, self._pace = side, laps, pace
        self._start: tuple[float, float, float] | None = None
        self._sides = 0
        self._is_turning = False
        self._turned, self._latest_yaw = 0.0, 0.0

    @property
    def is_over(self) -> bool:
        """Whether all laps are driven."""
        return bool(self._laps) and self._sides >= 4 * self._laps and not self._is_turning

    def twist(self, x: float, y: float, yaw: float) -> tuple[float, float]:
        """
        Return forward speed [m/s] and yaw rate [rad/s] at a pose.

        x, y: m. yaw: rad, with any number of turns.
        """
        if self._start is None:
            self._start, self._latest_yaw = (x, y, yaw), yaw
        self._turned += math.remainder(yaw - self._latest_yaw, 2.0 * math.pi)
        self._latest_yaw = yaw
        if self.is_over:
            return 0.0, 0.0
        if self._is_turning:
            left = 0.5 * math.pi * self._sides - self._turned
            if abs(left) > _ALIGNED:
                return 0.0, _approach(left, self._pace.yaw_rate, self._pace.yaw_deceleration)
            self._is_turning = False
            return self.twist(x, y, yaw)
        ahead, aside, heading = self._along(x, y)
        if ahead > _NEAR:
            speed = _approach(ahead, self._pace.speed, self._pace.deceleration)
            # lateral errors matter less at lower speed
            return speed, -_HEADING_GAIN * heading - _SIDE_GAIN * speed * aside
        self._sides += 1
        self._is_turning = True
        return self.twist(x, y, yaw)

    def _along(self, x: float, y: float) -> tuple[float, float, float]:
        """Return the remaining side [m], the lateral error (left) [m] and the heading error."""
        assert self._start is not None
        x0, y0, yaw0 = self._start
        c, s = math.cos(yaw0), math.sin(yaw0)
        px, py = c * (x - x0) + s * (y - y0), c * (y - y0) - s * (x - x0)
        quarter = self._sides % 4
        corner = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))[quarter]
        dx, dy = px - corner[0] * self._side, py - corner[1] * self._side
        cosine, sine = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter]
        driven, aside = cosine * dx + sine * dy, cosine * dy - sine * dx
        return self._side - driven, aside, self._turned - 0.5 * math.pi * self._sides


def _approach(missing: float, fastest: float, deceleration: float) -> float:
    """Return the velocity for stopping when nothing is missing any more."""
    distance = abs(missing)
    # linear near the end, where the square root is steep
    linear = 0.5 * math.sqrt(deceleration / 0.02) * distance
    return math.copysign(
        min(fastest, math.sqrt(2.0 * deceleration * distance), max(linear, 0.0)), missing
    )
