"""A frame that moves with a link: poses, velocities and accelerations of points in it."""

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
    Pose and motion of a frame as an observer in another frame sees them, in the axes of that.

    p: (3,) position [m]. R: (3, 3) rotation, takes vectors in the frame's axes to the observer's.
    v, w: velocity [m/s] and angular velocity [rad/s]. dv, dw: their rates, in the observer's axes.
    """

    p: FloatArray
    R: FloatArray
    v: FloatArray
    w: FloatArray
    dv: FloatArray
    dw: FloatArray


class MovingFrame(DeclaredAttributes):
    """
    The common base of links and observer frames.

    p, R, v, w, dv, dw: pose and motion of the frame in the world, of its origin, in world axes.
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
        """(4, 4) homogeneous transform: takes points of the frame to the world; a copy."""
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = self.R, self.p
        return result

    def point_to_world(self, point: Vector) -> FloatArray:
        """Return (3,) the position in the world of a point given in the frame [m]."""
        return self.p + self.R @ self._vector('point', point)

    def point_from_world(self, point: Vector) -> FloatArray:
        """Return (3,) the position in the frame of a point given in the world [m]."""
        return (self._vector('point', point) - self.p) @ self.R

    def vector_to_world(self, vector: Vector) -> FloatArray:
        """Return (3,) a vector in world axes, given in the frame's."""
        return self.R @ self._vector('vector', vector)

    def vector_from_world(self, vector: Vector) -> FloatArray:
        """Return (3,) a vector in the frame's axes, given in those of the world."""
        return self._vector('vector', vector) @ self.R

    def velocity_at(
        self, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> FloatArray:
        """
        Return (3,) the velocity v + w × r of a point that moves with the frame; world axes [m/s].

        point: (3,) where it is in the world [m]. rel_point: where it is in the frame, instead. The
        frame's origin if both are None. Raises InvalidValueError for both, and for what is not
        three finite numbers.
        """
        return self.v + cross(self.w, self._arm(point, rel_point))

    def acceleration_at(
        self, point: Vector | None = None, *, rel_point: Vector | None = None
    ) -> FloatArray:
        """
        Return (3,) the acceleration dv + dw × r + w × (w × r) of such a point; world axes [m/s²].

        Arguments and errors as of `velocity_at`.
        """
        arm, w = self._arm(point, rel_point), self.w
        return self.dv + cross(self.dw, arm) + cross(w, cross(w, arm))

    def relative_to(self, other: MovingFrame) -> RelativeMotion:
        """
        Return pose, velocity and acceleration as seen from a link or an observer frame.

        Without the motion of that, so with centrifugal and Coriolis terms where it turns.
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
        """Return (3,) the way from the origin to a point given in either frame; world axes [m]."""
        place = self._where(point, rel_point)
        return np.zeros(3) if place is None else place - self.p

    def _where(self, point: object, rel_point: object) -> FloatArray | None:
        """Return (3,) a point given in either frame [m], world; None for None."""
        if rel_point is None:
            return None if point is None else self._vector('point', point)
        if point is not None:
            raise InvalidValueError(
                'rel_point', rel_point, 'None beside point, which says the same', self._place
            )
        return self.p + self.R @ self._vector('rel_point', rel_point)

    def _vector(self, what: str, value: object) -> FloatArray:
        return finite_vector(what, value, 3, self._place, 'three finite numbers')
