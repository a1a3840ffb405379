"""
Drive kinematics: wheel speeds from the vehicle's twist, and the reverse.

A twist is (forward, left, yaw rate) [m/s, m/s, rad/s] of the drive frame, x forward and y left.
A wheel's speed is its joint velocity [rad/s], a track's is its surface speed [m/s].
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

# threshold for row components of order 1
_NOTHING = 1e-14
# [rad] steering angles this close to a right angle do not widen the curve
_RIGHT_ANGLE = 0.5 * math.pi - 1e-3


class Motion(NamedTuple):
    """
    Actuator commands for a motion.

    speeds: wheel speeds. angles: steering joint angles [rad]; empty for a drive without steering,
    None to leave them unchanged.
    """

    speeds: FloatArray
    angles: FloatArray | None


class Kinematics(Protocol):
    """Interface of a drive's geometry."""

    def motion(self, twist: Twist) -> Motion:
        """Return the actuator commands for the possible motion nearest to a twist."""

    def possible(self, twist: Twist) -> Twist:
        """Return the twist resulting from `motion` if no wheel slips."""

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """Return the best-fitting twist for wheel speeds and steering angles."""


class FixedWheels:
    """
    Wheels without steering, with or without rollers, and tracks.

    A wheel at p drives in direction d; its rollers move freely in direction f. It turns at
    n · (v + yaw rate × p) / (r d · n), with n normal to f. Without rollers, f is lateral: the
    wheel slides sideways. The twist for given speeds minimises the squared ground speed errors.
    Among equally good twists the smallest is chosen: two or more wheels along x do not move the
    vehicle sideways.
    """

    def __init__(self, wheels: Sequence[WheelDescription], separation_multiplier: float = 1.0):
        """
        Take the wheels.

        separation_multiplier: factor for their distances from the middle. Raises
        InvalidValueError if rollers run along the driven direction.
        """
        rows = np.array([_row(wheel) for wheel in wheels]).reshape(-1, 3)
        # rounding in sines at right angles would appear as a degree of freedom
        rows[np.abs(rows) < _NOTHING] = 0.0
        rows[:, 2] *= separation_multiplier
        radii = np.array([wheel.radius for wheel in wheels])
        self.matrix = rows / radii[:, None]
        """(n, 3) wheel speeds per twist component."""
        self._inverse = np.linalg.pinv(rows, rcond=1e-9) * radii

    def motion(self, twist: Twist) -> Motion:
        """Return the speeds for a twist; components impossible for the drive are omitted."""
        return Motion(self.matrix @ twist, _NO_ANGLES)

    def possible(self, twist: Twist) -> Twist:
        """Return the nearest twist that the drive can produce."""
        return self.twist(self.matrix @ twist, _NO_ANGLES)

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """Return the least-squares twist for wheel speeds; angles: empty."""
        x, y, yaw_rate = (self._inverse @ speeds).tolist()
        return x, y, yaw_rate


class SteeredWheels:
    """
    Car, tricycle or bicycle: wheels on the y axis, and steered wheels.

    All axles meet in one point on the y axis, about which the vehicle turns (Ackermann). The
    steering angle at (x, y) is atan2(ω x, v - ω y), folded to a quarter turn. If a steering limit
    does not permit the curve, the speed is kept and the curve becomes wider. A vehicle that cannot
    turn on the spot steers to its limit and stands. A standing vehicle keeps its steering angles.
    """

    def __init__(self, description: DriveDescription, limits: Sequence[tuple[float, float]]):
        """
        Take a drive's geometry.

        limits: lower and upper angle of each steering joint [rad].
        """
        names = [each.joint for each in description.steering]
        self._places = np.array([each.position for each in description.steering])
        self._wheels = np.array([wheel.position for wheel in description.wheels])
        self._radii = np.array([wheel.radius for wheel in description.wheels])
        # steering joint index per wheel; the last index (angle 0) is for wheels without steering
        self._turns = np.array(
            [
                names.index(wheel.steering) if wheel.steering else len(names)
                for wheel in description.wheels
            ]
        )
        least, most = _curvatures(self._places, limits)
        bound = description.curvature_limit
        self.curvatures = max(least, -bound), min(most, bound)
        """Least and greatest curvature [1/m]; infinite if it can turn on the spot."""

    def motion(self, twist: Twist) -> Motion:
        """Return speeds and angles for a twist; its lateral component is omitted."""
        v, _, yaw_rate = twist
        if v == 0.0 and yaw_rate == 0.0:
            return Motion(np.zeros(len(self._wheels)), None)
        curvature = self._curvature(v, yaw_rate)
        # the angles correspond to the curve even while the vehicle stands
        along, about = (v, yaw_rate) if curvature is None else (1.0, curvature)
        angles = self._angles(along, about)
        yaw_rate = yaw_rate if curvature is None else v * curvature
        return Motion(self._speeds(v, yaw_rate, angles), angles)

    def on_curve(self, v: float, curvature: float) -> Motion:
        """Return speeds and angles at a speed [m/s] on a curve [1/m]; angles also at rest."""
        least, most = self.curvatures
        curvature = min(max(curvature, least), most)
        angles = self._angles(1.0, curvature)
        return Motion(self._speeds(v, v * curvature, angles), angles)

    def possible(self, twist: Twist) -> Twist:
        """Return the twist on the curve permitted by the steering."""
        v, _, yaw_rate = twist
        curvature = self._curvature(v, yaw_rate)
        return v, 0.0, yaw_rate if curvature is None else v * curvature

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """
        Return the least-squares twist.

        Conditions: wheels roll at their speeds, and steered wheels do not slide sideways.
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
        """Return the curvature at the steering limit [1/m]; None within the limit."""
        least, most = self.curvatures
        if v == 0.0 and yaw_rate == 0.0:
            return None
        wanted = yaw_rate / v if v else math.copysign(math.inf, yaw_rate)
        if least <= wanted <= most:
            return None
        return most if wanted > most else least

    def _speeds(self, v: float, yaw_rate: float, angles: FloatArray) -> FloatArray:
        """Return the wheel speeds at steering angles [rad]."""
        x, y = self._wheels.T
        turned = np.append(angles, 0.0)[self._turns]
        rolled = (v - yaw_rate * y) * np.cos(turned) + yaw_rate * x * np.sin(turned)
        speeds: FloatArray = rolled / self._radii
        return speeds

    def _angles(self, v: float, yaw_rate: float) -> FloatArray:
        """Return the steering angles [rad], within a quarter turn."""
        x, y = self._places.T
        angles = np.arctan2(yaw_rate * x, v - yaw_rate * y)
        folded: FloatArray = angles - np.pi * np.round(angles / np.pi)
        return folded


class SteeredByAngle:
    """
    Car whose commands have a steering angle instead of the yaw rate, as gazebo_ros has it.

    The angle is a wheel's, in the middle of the steered axle [rad], positive for left turns
    forwards and backwards: curvature tan(angle) / wheelbase.
    """

    def __init__(self, wheels: SteeredWheels, wheelbase: float):
        """Command a car's wheels. wheelbase: distance between the axles [m]."""
        self._wheels, self._wheelbase = wheels, wheelbase

    def motion(self, twist: Twist) -> Motion:
        """Return speeds and angles for speed and steering angle; it steers at rest too."""
        v, _, angle = twist
        return self._wheels.on_curve(v, self._curvature(v, angle))

    def possible(self, twist: Twist) -> Twist:
        """Return the twist resulting from speed and steering angle."""
        v, _, angle = twist
        return self._wheels.possible((v, 0.0, v * self._curvature(v, angle)))

    def twist(self, speeds: FloatArray, angles: FloatArray) -> Twist:
        """Return the least-squares twist, with the yaw rate."""
        return self._wheels.twist(speeds, angles)

    def _curvature(self, v: float, angle: float) -> float:
        bound = min(max(angle, -_RIGHT_ANGLE), _RIGHT_ANGLE)
        return math.copysign(1.0, v) * math.tan(bound) / self._wheelbase


_NO_ANGLES = np.zeros(0)


def kinematics_of(
    description: DriveDescription, steering_limits: Sequence[tuple[float, float]] = ()
) -> Kinematics:
    """
    Return a drive's kinematics.

    steering_limits: lower and upper angle of each steering joint [rad]. Raises InvalidValueError
    for wheels unable to drive.
    """
    if description.steering:
        wheels = SteeredWheels(description, steering_limits)
        if not description.steers_by_angle:
            return wheels
        base = sum(each.position[0] for each in description.steering) / len(description.steering)
        return SteeredByAngle(wheels, base)
    return FixedWheels(description.wheels, description.separation_multiplier)


def _row(wheel: WheelDescription) -> tuple[float, float, float]:
    """Return a wheel's ground speed [m/s] per twist component."""
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
    """Return the least and greatest curvature [1/m] within steering angle limits [rad]."""
    least, most = -math.inf, math.inf
    for (x, y), bounds in zip(places.tolist(), limits, strict=True):
        for angle, is_upper in zip(bounds, (False, True), strict=True):
            across = x + y * math.tan(angle) if abs(angle) < _RIGHT_ANGLE else 0.0
            # beyond this limit, the wheel can take every angle required by a curve
            if across * x <= 0.0:
                continue
            curvature = math.tan(angle) / across
            # a steered rear wheel turns the other way
            if is_upper == (x > 0.0):
                most = min(most, curvature)
            else:
                least = max(least, curvature)
    return least, most
