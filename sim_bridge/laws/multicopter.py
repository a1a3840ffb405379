"""
Velocity control for multicopters on SE(3), as gz-sim's MulticopterVelocityControl.

T. Lee, M. Leok and N. H. McClamroch, Control of complex maneuvers for a quadrotor UAV using
geometric methods on SE(3), 2011; with RotorS' angular rate error.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError

_PARALLEL = 1e-3  # squared sine up to which two directions count as parallel


@dataclass(frozen=True)
class RotorPlace:
    """
    Rotor in the vehicle's frame.

    position: x, y [m]. thrust_constant: along the vehicle's z [N s²/rad²]. moment_constant: [m].
    direction: 1 counterclockwise, -1 clockwise.
    """

    position: tuple[float, float]
    thrust_constant: float
    moment_constant: float
    direction: int


class MulticopterVelocity:
    """
    Rotor speeds for a commanded velocity and yaw rate.

    mass: [kg]. inertia: (3, 3) in the vehicle's axes [kg m²]. velocity_gain: (3,) [N s/m].
    attitude_gain: (3,) [N m/rad]. rate_gain: (3,) [N m s/rad]. max_acceleration: (3,) [m/s²].
    Raises InvalidValueError for rotors unable to produce all torques and thrust.
    """

    def __init__(
        self,
        rotors: tuple[RotorPlace, ...],
        mass: float,
        inertia: FloatArray,
        velocity_gain: FloatArray,
        attitude_gain: FloatArray,
        rate_gain: FloatArray,
        max_acceleration: FloatArray,
    ) -> None:
        """Invert the map from squared speeds to torques and thrust."""
        self.mass, self._velocity_gain = mass, velocity_gain
        self._max_acceleration = max_acceleration
        effects = np.array(
            [
                (
                    each.position[1] * each.thrust_constant,
                    -each.position[0] * each.thrust_constant,
                    -each.direction * each.thrust_constant * each.moment_constant,
                    each.thrust_constant,
                )
                for each in rotors
            ]
        ).T.reshape(4, -1)
        # rows of torques and thrust have different units: scale before judging the rank
        scale = np.abs(effects).max(axis=1, initial=0.0)
        if not scale.all() or np.linalg.matrix_rank(effects / scale[:, None]) < 4:
            expected = 'at least four rotors, able to produce three torques and a thrust'
            raise InvalidValueError('rotors', rotors, expected, 'MulticopterVelocity')
        inverse = np.linalg.inv(inertia)
        self._attitude_gain, self._rate_gain = attitude_gain @ inverse, rate_gain @ inverse
        self._squares = np.linalg.pinv(effects)
        self._squares[:, :3] = self._squares[:, :3] @ inertia

    def speeds(
        self,
        rotation: FloatArray,
        velocity: FloatArray,
        rate: FloatArray,
        gravity: FloatArray,
        command: tuple[FloatArray, float],
    ) -> FloatArray:
        """
        Return (n,) the rotor speeds [rad/s].

        rotation: (3, 3) vehicle to world. velocity: (3,) world axes [m/s]. rate: (3,) vehicle axes
        [rad/s]. gravity: (3,) [m/s²]. command: (3,) velocity in vehicle axes, and yaw rate.
        """
        wanted, yaw_rate = command
        error = velocity - rotation @ wanted
        correction = error * self._velocity_gain / self.mass
        bound = self._max_acceleration
        # opposite to the wanted acceleration, as in Lee's paper
        acceleration = np.clip(correction, -bound, bound) + gravity
        turning = self._angular_acceleration(rotation, rate, acceleration, yaw_rate)
        thrust = -self.mass * float(acceleration @ rotation[:, 2])
        squares = self._squares @ np.array([*turning, thrust])
        return np.sqrt(np.maximum(squares, 0.0))

    def _angular_acceleration(
        self, rotation: FloatArray, rate: FloatArray, acceleration: FloatArray, yaw_rate: float
    ) -> FloatArray:
        up = -acceleration / max(float(np.linalg.norm(acceleration)), math.ulp(0.0))
        # the first axis not parallel to the thrust keeps the heading
        ahead = next(
            (axis for axis in rotation.T if np.sum(np.cross(axis, up) ** 2) >= _PARALLEL),
            rotation[:, 0],
        )
        left = np.cross(up, ahead)
        left = left / np.linalg.norm(left)
        wanted = np.column_stack([np.cross(left, up), left, up])
        twist = 0.5 * (wanted.T @ rotation - rotation.T @ wanted)
        angle = np.array([twist[2, 1], twist[0, 2], twist[1, 0]])
        rate_error = rate - rotation.T @ wanted[:, 2] * yaw_rate
        result: FloatArray = -angle * self._attitude_gain - rate_error * self._rate_gain
        return result
