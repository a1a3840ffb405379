"""Damping, of all bodies or of one: the part that a world and a body have in common."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.validation import number_from


class Damping(NamedTuple):
    """
    What becomes of velocities after a step.

    linear, angular: shares that are lost, where the speed is above its threshold [m/s, rad/s].
    greatest: angular speed that is left [rad/s].
    """

    linear: float = 0.0
    angular: float = 0.0
    linear_threshold: float = 0.01
    angular_threshold: float = 0.01
    greatest: float = math.inf

    @property
    def acts(self) -> bool:
        """Whether it ever changes anything."""
        return self.linear > 0.0 or self.angular > 0.0 or self.greatest < math.inf

    def damped(self, v: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (3,) velocities after it; the same objects where nothing is lost."""
        speed, turning = float(np.linalg.norm(v)), float(np.linalg.norm(w))
        if self.linear > 0.0 and speed > self.linear_threshold:
            v = (1.0 - self.linear) * v
        left = (
            1.0
            if self.angular == 0.0 or turning <= self.angular_threshold
            else (1.0 - self.angular)
        )
        if turning * left > self.greatest:
            left = self.greatest / turning
        return v, w if left == 1.0 else left * w


class WithDamping:
    """How velocities are damped, by ODE's names."""

    def _damping(self) -> Damping:
        """Return what acts."""
        raise NotImplementedError

    def _damp_by(self, damping: Damping) -> None:
        """Take another."""
        raise NotImplementedError

    def _share(self, name: str, value: float, most: float, expected: str) -> None:
        if value != math.inf or most < math.inf:
            number_from(name, value, 0.0, most, type(self).__name__, expected)
        self._damp_by(self._damping()._replace(**{name: float(value)}))

    def setLinearDamping(self, scale: float) -> None:
        """Set the share of the velocity that is lost in a step, 0 to 1."""
        self._share('linear', scale, 1.0, 'a share, 0 to 1')

    def getLinearDamping(self) -> float:
        """Return that share."""
        return self._damping().linear

    def setAngularDamping(self, scale: float) -> None:
        """Set the share of the angular velocity that is lost in a step, 0 to 1."""
        self._share('angular', scale, 1.0, 'a share, 0 to 1')

    def getAngularDamping(self) -> float:
        """Return that share."""
        return self._damping().angular

    def setDamping(self, linear_scale: float, angular_scale: float) -> None:
        """Set both shares."""
        self.setLinearDamping(linear_scale)
        self.setAngularDamping(angular_scale)

    def setLinearDampingThreshold(self, threshold: float) -> None:
        """Set the speed up to which nothing is lost [m/s]."""
        self._share('linear_threshold', threshold, math.inf, 'a number of at least 0 [m/s]')

    def getLinearDampingThreshold(self) -> float:
        """Return that speed."""
        return self._damping().linear_threshold

    def setAngularDampingThreshold(self, threshold: float) -> None:
        """Set the angular speed up to which nothing is lost [rad/s]."""
        self._share('angular_threshold', threshold, math.inf, 'a number of at least 0 [rad/s]')

    def getAngularDampingThreshold(self) -> float:
        """Return that angular speed."""
        return self._damping().angular_threshold

    def setMaxAngularSpeed(self, max_speed: float) -> None:
        """Set the greatest angular speed that a step leaves [rad/s]."""
        self._share('greatest', max_speed, math.inf, 'a number of at least 0 [rad/s]')

    def getMaxAngularSpeed(self) -> float:
        """Return that angular speed."""
        return self._damping().greatest
