"""Frame that moves with a link: poses, point velocities and accelerations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim_bridge.engine.math.vec3 import cross
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, instance_of


class RelativeMotion(NamedTuple):
    """
    A frame's pose and motion as seen from another frame (the observer), in the observer's axes.

    p: (3,) position [m]. R: (3, 3) rotation, takes vectors in the frame's axes to the observer's.
    v, w: (3,) velocity [m/s] and angular velocity [rad/s]. dv, dw: (3,) their rates in the
    observer's axes [m/s², rad/s²].
    """

    p: FloatArray
    R: FloatArray
    v: FloatArray
    w: FloatArray
    dv: FloatArray
    dw: FloatArray


class MovingFrame(DeclaredAttributes):
    """
    Common base class for links and observer frames.

    p, R, v, w, dv, dw: the frame origin's pose and motion in the world, in world axes. p: (3,)
    position [m]. R: (3, 3) rotation, takes vectors in the frame's axes to world axes. v, w: (3,)
    velocity [m/s] and angular velocity [rad/s]. dv, dw: (3,) accelerations [m/s², rad/s²].
    """

    __slots__ = ()

    p: Any
    R: Any
    v: Any
    w: Any
    dv: Any
    dw: Any

    @property
    def T(self) -> FloatArray:
        """(4, 4) homogeneous transform from the frame to the world; a copy."""
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = self.R, self.p
        return result

    def point_to_world(self, point: Vector) -> FloatArray:
        """Return the world position (3,) [m] of a point given in the frame [m]."""
        return self.p + self.R @ self._vector('point', point)

    def point_from_world(self, point: Vector) -> FloatArray:
        """Return the position (3,) in the frame [m] of a point given in the world [m]."""
        return (self._vector('point', point) - self.p) @ self.R

    def vector_to_world(self, vector: Vector) -> FloatArray:
        """Return a vector (3,) in world axes; vector: in the frame's axes."""
        return self.R @ self._vector('vector', vector)

    def vector_from_world(self, vector: Vector) -> FloatArray:
        """Return a vector (3,) in the frame's axes; vector: in world axes."""
        return self._vector('vector', vector) @ self.R

    def velocity_at(
        self, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> FloatArray:
        """
        Return the velocity v + w × r (3,) of a point fixed to the frame; world axes [m/s].

        point: (3,) position in the world [m]. rel_point: (3,) position in the frame [m], instead
        of `point`. If both are None, the frame's origin. Raises InvalidValueError if both are
        given, and unless the point is three finite numbers.
        """
        return self.v + cross(self.w, self._arm(point, rel_point))

    def acceleration_at(
        self, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> FloatArray:
        """
        Return the acceleration dv + dw × r + w × (w × r) (3,) of a fixed point; world axes [m/s²].

        Arguments and errors as for `velocity_at`.
        """
        arm, w = self._arm(point, rel_point), self.w
        return self.dv + cross(self.dw, arm) + cross(w, cross(w, arm))

    def relative_to(self, other: MovingFrame) -> RelativeMotion:
        """
        Return pose, velocity and acceleration as seen from another link or observer frame.

        They exclude the observer's own motion; in a rotating observer frame they contain the
        centrifugal and Coriolis terms. Raises InvalidValueError for other objects.
        """
        other = instance_of('other', other, MovingFrame, 'a link or an observer frame')
        R, w, w_other = other.R, self.w, other.w
        apart = self.p - other.p
        moving = self.v - other.v - cross(w_other, apart)
        turning = w - w_other
        gain = self.dv - other.acceleration_at(self.p) - 2.0 * np.array(cross(w_other, moving))
        turned = self.dw - other.dw - cross(w_other, turning)
        return RelativeMotion(
            apart @ R, R.T @ self.R, moving @ R, turning @ R, gain @ R, turned @ R
        )

    @property
    def _place(self) -> str:
        raise NotImplementedError

    def _arm(self, point: object, rel_point: object) -> FloatArray:
        """Return the vector (3,) from the origin to a point given in either frame; world [m]."""
        place = self._where(point, rel_point)
        return np.zeros(3) if place is None else place - self.p

    def _where(self, point: object, rel_point: object) -> FloatArray | None:
        """Return the world position (3,) [m] of a point given in either frame; None for None."""
        if rel_point is None:
            return None if point is None else self._vector('point', point)
        if point is not None:
            raise InvalidValueError(
                'rel_point', rel_point, 'None beside point: give one of both', self._place
            )
        return self.p + self.R @ self._vector('rel_point', rel_point)

    def _vector(self, what: str, value: object) -> FloatArray:
        return finite_vector(what, value, 3, self._place, 'three finite numbers')
