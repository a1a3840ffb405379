"""
Kinematics of drives: the speeds of wheels for a twist of the vehicle, and the reverse.

A twist is (forward, left, yaw rate) [m/s, m/s, rad/s] of the drive's frame, x forward and y left.
The speed of a wheel is that of its joint [rad/s], of a track that of its surface [m/s].
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple, Protocol, TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError

if TYPE_CHECKING:
    from sim_bridge.description.drives import DriveDescription, WheelDescription

Twist = tuple[float, float, float]

# of components of a row, which are of the order of 1
_NOTHING = 1e-14
# rad: a steering angle this close to a right angle makes no curve wider
_RIGHT_ANGLE = 0.5 * math.pi - 1e-9


class Motion(NamedTuple):
    """
    What drives the vehicle.

    speeds: of the wheels. angles: of the steering joints [rad]; empty for a drive without
    steering, None to leave them as they are.
    """

    speeds: FloatArray
    angles: FloatArray | None


class Kinematics(Protocol):
    """The geometry of a drive."""

    def motion(self, twist: Twist) -> Motion:
        """Return what drives the vehicle as close to a twist as it can move."""

    def possible(self, twist: Twist) -> Twist:
        """Return the twist that `motion` leads to if no wheel slips."""

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """Return the twist that fits the speeds of the wheels and the steering angles best."""


class FixedWheels:
    """
    Wheels that are not steered, with or without rollers, and tracks.

    A wheel at p that drives in the direction d, and whose rollers let it move freely in the
    direction f, turns at n · (v + yaw rate × p) / (r d · n), where n is normal to f. Without
    rollers f is across: such a wheel slides sideways. The twist for given speeds is that of least
    squares of the speeds at the ground, and the smallest of those that fit equally well: two or
    more wheels along x do not move the vehicle to the side.
    """

    def __init__(self, wheels: Sequence[WheelDescription], separation_multiplier: float = 1.0):
        """
        Take the wheels.

        separation_multiplier: factor on their distances from the middle. Raises InvalidValueError
        if rollers run along the driven direction.
        """
        rows = np.array([_row(wheel) for wheel in wheels]).reshape(-1, 3)
        # what sines of multiples of right angles leave would pass for a freedom
        rows[np.abs(rows) < _NOTHING] = 0.0
        rows[:, 2] *= separation_multiplier
        radii = np.array([wheel.radius for wheel in wheels])
        self.matrix = rows / radii[:, None]
        """(n, 3) speeds of the wheels per component of the twist."""
        self._inverse = np.linalg.pinv(rows, rcond=1e-9) * radii

    def motion(self, twist: Twist) -> Motion:
        """Return the speeds for a twist; components that the drive does not have are left out."""
        return Motion(self.matrix @ twist, _NO_ANGLES)

    def possible(self, twist: Twist) -> Twist:
        """Return the components of a twist that the drive has."""
        return self.twist(self.matrix @ twist, _NO_ANGLES)

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """Return the twist of least squares for the speeds; angles: empty."""
        x, y, yaw_rate = (self._inverse @ speeds).tolist()
        return x, y, yaw_rate


class SteeredWheels:
    """
    A car, tricycle or bicycle: wheels on the y axis, and wheels that are steered.

    All axles meet in one point of the y axis, about which the vehicle turns (Ackermann). The
    steering angle at (x, y) is atan2(ω x, v - ω y), folded to a quarter turn. Where a limit of the
    steering does not allow the curve, the speed stays and the curve is wider. A vehicle that
    cannot turn on the spot steers to its limit and stands. One that stands keeps its steering.
    """

    def __init__(self, description: DriveDescription, limits: Sequence[tuple[float, float]]):
        """
        Take the geometry of a drive.

        limits: least and greatest angle of each steering joint [rad].
        """
        names = [each.joint for each in description.steering]
        self._places = np.array([each.position for each in description.steering])
        self._wheels = np.array([wheel.position for wheel in description.wheels])
        self._radii = np.array([wheel.radius for wheel in description.wheels])
        # which steering joint turns each wheel; the last angle is that of wheels without one
        self._turns = np.array(
            [
                names.index(wheel.steering) if wheel.steering else len(names)
                for wheel in description.wheels
            ]
        )
        self.curvatures = _curvatures(self._places, limits)
        """Least and greatest curvature [1/m]; infinite where it can turn on the spot."""

    def motion(self, twist: Twist) -> Motion:
        """Return speeds and angles for a twist; its component to the left is left out."""
        v, _, yaw_rate = twist
        if v == 0.0 and yaw_rate == 0.0:
            return Motion(np.zeros(len(self._wheels)), None)
        curvature = self._curvature(v, yaw_rate)
        # the angles are those of the curve, also while the vehicle stands
        along, about = (v, yaw_rate) if curvature is None else (1.0, curvature)
        angles = self._angles(along, about)
        yaw_rate = yaw_rate if curvature is None else v * curvature
        x, y = self._wheels.T
        turned = np.append(angles, 0.0)[self._turns]
        rolled = (v - yaw_rate * y) * np.cos(turned) + yaw_rate * x * np.sin(turned)
        return Motion(rolled / self._radii, angles)

    def possible(self, twist: Twist) -> Twist:
        """Return the twist on the curve that the steering allows."""
        v, _, yaw_rate = twist
        curvature = self._curvature(v, yaw_rate)
        return v, 0.0, yaw_rate if curvature is None else v * curvature

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """
        Return the twist of least squares.

        It is that of wheels that roll at their speeds, and of steered ones that do not slide
        sideways.
        """
        x, y = self._wheels.T
        turned = np.append(angles, 0.0)[self._turns]
        ax, ay = self._places.T
        c, s, ac, as_ = np.cos(turned), np.sin(turned), np.cos(angles), np.sin(angles)
        rows = np.concatenate(
            [np.stack([c, x * s - y * c], axis=1), np.stack([-as_, ax * ac + ay * as_], axis=1)]
        )
        rolled = np.concatenate([speeds * self._radii, np.zeros(len(angles))])
        (a, b), (_, d) = (rows.T @ rows).tolist()
        p, q = (rows.T @ rolled).tolist()
        determinant = a * d - b * b
        return (d * p - b * q) / determinant, 0.0, (a * q - b * p) / determinant

    def _curvature(self, v: float, yaw_rate: float) -> float | None:
        """Return the curvature at the limit of the steering [1/m]; None within it."""
        least, most = self.curvatures
        if v == 0.0 and yaw_rate == 0.0:
            return None
        wanted = yaw_rate / v if v else math.copysign(math.inf, yaw_rate)
        if least <= wanted <= most:
            return None
        return most if wanted > most else least

    def _angles(self, v: float, yaw_rate: float) -> FloatArray:
        """Return the steering angles [rad], within a quarter turn."""
        x, y = self._places.T
        angles = np.arctan2(yaw_rate * x, v - yaw_rate * y)
        folded: FloatArray = angles - np.pi * np.round(angles / np.pi)
        return folded


_NO_ANGLES = np.zeros(0)


def kinematics_of(
    description: DriveDescription, steering_limits: Sequence[tuple[float, float]] = ()
) -> Kinematics:
    """
    Return the kinematics of a drive.

    steering_limits: least and greatest angle of each steering joint [rad]. Raises
    InvalidValueError for wheels that cannot drive.
    """
    if description.steering:
        return SteeredWheels(description, steering_limits)
    return FixedWheels(description.wheels, description.separation_multiplier)


def _row(wheel: WheelDescription) -> tuple[float, float, float]:
    """Return the speed of a wheel at the ground [m/s] per component of the twist."""
    free = wheel.heading + wheel.roller
    nx, ny = math.sin(free), -math.cos(free)
    along = math.cos(wheel.heading) * nx + math.sin(wheel.heading) * ny
    if abs(along) < 1e-6:
        raise InvalidValueError(
            'roller',
            wheel.roller,
            'an angle [rad] across the driven direction',
            f'wheel {wheel.joint!r}',
        )
    nx, ny = nx / along, ny / along
    x, y = wheel.position
    return nx, ny, ny * x - nx * y


def _curvatures(places: FloatArray, limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the least and the greatest curvature [1/m] within limits of the angles [rad]."""
    least, most = -math.inf, math.inf
    for (x, y), bounds in zip(places.tolist(), limits, strict=True):
        for angle, is_upper in zip(bounds, (False, True), strict=True):
            across = x + y * math.tan(angle) if abs(angle) < _RIGHT_ANGLE else 0.0
            # beyond, the wheel can take every angle that a curve asks for
            if across * x <= 0.0:
                continue
            curvature = math.tan(angle) / across
            # a steered rear wheel turns the other way
            if is_upper == (x > 0.0):
                most = min(most, curvature)
            else:
                least = max(least, curvature)
    return least, most
