"""Damping: common part of world and body."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.validation import number_from


class Damping(NamedTuple):
    """
    Velocity reduction after a step.

    linear, angular: relative losses per step above the speed thresholds [m/s, rad/s]. greatest:
    upper limit for the angular speed [rad/s].
    """

    linear: float = 0.0
    angular: float = 0.0
    linear_threshold: float = 0.01
    angular_threshold: float = 0.01
    greatest: float = math.inf

    @property
    def acts(self) -> bool:
        """Whether the damping has any effect."""
        return self.linear > 0.0 or self.angular > 0.0 or self.greatest < math.inf

    def damped(self, v: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the damped velocities (3,); the same objects if nothing is lost."""
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
    """Damping settings with ODE's names."""

    def _damping(self) -> Damping:
        """Return the damping."""
        raise NotImplementedError

    def _damp_by(self, damping: Damping) -> None:
        """Set the damping."""
        raise NotImplementedError

    def _share(self, name: str, value: float, most: float, expected: str) -> None:
        if value != math.inf or most < math.inf:
            number_from(name, value, 0.0, most, type(self).__name__, expected)
        self._damp_by(self._damping()._replace(**{name: float(value)}))

    def setLinearDamping(self, scale: float) -> None:
        """Set the relative velocity loss in a step, 0 to 1."""
        self._share('linear', scale, 1.0, 'a share, 0 to 1')

    def getLinearDamping(self) -> float:
        """Return the relative velocity loss in a step."""
        return self._damping().linear

    def setAngularDamping(self, scale: float) -> None:
        """Set the relative angular velocity loss in a step, 0 to 1."""
        self._share('angular', scale, 1.0, 'a share, 0 to 1')

    def getAngularDamping(self) -> float:
        """Return the relative angular velocity loss in a step."""
        return self._damping().angular

    def setDamping(self, linear_scale: float, angular_scale: float) -> None:
        """Set both relative losses."""
        self.setLinearDamping(linear_scale)
        self.setAngularDamping(angular_scale)

    def setLinearDampingThreshold(self, threshold: float) -> None:
        """Set the greatest speed without damping [m/s]."""
        self._share('linear_threshold', threshold, math.inf, 'a number of at least 0 [m/s]')

    def getLinearDampingThreshold(self) -> float:
        """Return the greatest speed without damping [m/s]."""
        return self._damping().linear_threshold

    def setAngularDampingThreshold(self, threshold: float) -> None:
        """Set the greatest angular speed without damping [rad/s]."""
        self._share('angular_threshold', threshold, math.inf, 'a number of at least 0 [rad/s]')

    def getAngularDampingThreshold(self) -> float:
        """Return the greatest angular speed without damping [rad/s]."""
        return self._damping().angular_threshold

    def setMaxAngularSpeed(self, max_speed: float) -> None:
        """Set the upper limit for the angular speed after a step [rad/s]."""
        self._share('greatest', max_speed, math.inf, 'a number of at least 0 [rad/s]')

    def getMaxAngularSpeed(self) -> float:
        """Return the upper limit for the angular speed [rad/s]."""
        return self._damping().greatest
