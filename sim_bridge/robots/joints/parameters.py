"""Parameters of joints' axes that can be changed while a world runs."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array

if TYPE_CHECKING:
    from sim_bridge.robots.joints.axis import Axis

GREATEST = sys.float_info.max
"""The maximum of what is finite."""


class Parameter:
    """A parameter of an axis, kept in the model and checked when it is set."""

    def __init__(
        self,
        array: str,
        column: int,
        expected: str,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        of_balls: bool = False,
    ):
        """
        Be a column of the model's array.

        expected: what is accepted, from `minimum` to `maximum`, for messages. of_balls: ball
        joints have it, too, the same in all directions.
        """
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum = minimum, maximum
        self._of_balls = of_balls

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the parameter's name."""
        self._name = name

    def __get__(self, axis: Axis, owner: type | None = None) -> float:
        """Read it; raises StateError for a joint that does not have it."""
        return float(axis.parameter_rows(self._array, self._of_balls)[0, self._column])

    def __set__(self, axis: Axis, value: float) -> None:
        """Change it; raises InvalidValueError for another value, StateError as above."""
        array = real_array(self._name, value, self._expected, axis.place)
        if array.ndim or not self._minimum <= array <= self._maximum:
            raise InvalidValueError(self._name, value, self._expected, axis.place)
        number = float(array)
        rows = axis.parameter_rows(self._array, self._of_balls)
        self.check(axis, number)
        rows[:, self._column] = number
        axis.invalidate()

    def check(self, axis: Axis, number: float) -> None:
        """Refuse what does not fit the axis' other parameters."""


class LowerStop(Parameter):
    """The lower position limit."""

    def check(self, axis: Axis, number: float) -> None:
        """Refuse a limit above the upper one."""
        if number > axis.upper:
            raise InvalidValueError(
                'lower', number, f'at most upper, which is {axis.upper}', axis.place)


class UpperStop(Parameter):
    """The upper position limit."""

    def check(self, axis: Axis, number: float) -> None:
        """Refuse a limit below the lower one."""
        if number < axis.lower:
            raise InvalidValueError(
                'upper', number, f'at least lower, which is {axis.lower}', axis.place)
