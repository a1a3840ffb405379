"""An axis of a joint: what it turns about or slides along, with all that acts there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.joints.motor import Motor
from sim_bridge.robots.joints.parameters import GREATEST, LowerStop, Parameter, UpperStop

if TYPE_CHECKING:
    from sim_bridge.robots.joints.any_joint import AnyJoint


class Axis(Motor):
    """
    A coordinate of a joint.

    q, dq, ddq, u are numbers [rad or m, and N m or N], which raise InvalidValueError where they
    are set to what is no finite number. Angles count their turns. velocity_limit holds what
    position control does, and nothing else.
    """

    damping = Parameter(
        'passive', engine.DAMPING, 'a finite number of at least 0 [N m s/rad or N s/m]', 0.0,
        GREATEST, of_balls=True)
    friction = Parameter(
        'passive', engine.FRICTION, 'a number of at least 0, or inf to lock it [N m or N]', 0.0)
    armature = Parameter(
        'passive', engine.ARMATURE, 'a finite number of at least 0 [kg m² or kg]', 0.0, GREATEST,
        of_balls=True)
    stiffness = Parameter(
        'passive', engine.STIFFNESS, 'a finite number of at least 0 [N m/rad or N/m]', 0.0,
        GREATEST)
    reference = Parameter(
        'passive', engine.REFERENCE, 'a finite number [rad or m]', -GREATEST, GREATEST)
    lower = LowerStop(
        'limits', engine.LOWER, 'a number, or -inf for none [rad or m]', maximum=GREATEST)
    upper = UpperStop(
        'limits', engine.UPPER, 'a number, or inf for none [rad or m]', minimum=-GREATEST)
    effort_limit = Parameter(
        'limits', engine.EFFORT, 'a number of at least 0, or inf for none [N m or N]', 0.0)
    velocity_limit = Parameter(
        'limits', engine.VELOCITY, 'a number of at least 0, or inf for none [rad/s or m/s]', 0.0)

    joint: AnyJoint
    number: int
    """Which of the joint's coordinates it is, from 0."""
    coordinates: tuple[int, int]
    """The numbers of position and of velocity coordinates: one each, but for joints."""

    def __repr__(self) -> str:
        """Show the names."""
        return f'<Axis {self.number} of {self.joint!r}>'

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f'{self.joint.place}, axis {self.number}'

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns."""
        raise NotImplementedError

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector along which, or about which, it moves; world."""
        raise NotImplementedError

    def parameter_rows(self, array: str, of_balls: bool = False) -> np.ndarray:
        """
        Return the rows (n, k) of the model's array 'passive', 'limits', 'motor' or 'stop'.

        One, but for ball joints, which have three; raises StateError for those where not
        `of_balls`, and for other joints that are no axes.
        """
        raise NotImplementedError

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        raise NotImplementedError

    def _checked(self, what: str, value: object, size: int) -> np.ndarray:
        expected = {0: 'nothing, it has no coordinates', 1: 'a finite number'}.get(size, '')
        return finite_vector(what, value, size, self.place, expected)

    @staticmethod
    def _value(array: np.ndarray) -> float | np.ndarray:
        return float(array[0]) if len(array) == 1 else array
