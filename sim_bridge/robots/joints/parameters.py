"""Parameters of joints' axes that can be changed while a world runs."""

from __future__ import annotations

import math
import sys
from typing import overload, Protocol, TYPE_CHECKING

from sim_bridge.engine.data.model import LOWER, UPPER
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array

if TYPE_CHECKING:
    import numpy as np

    from sim_bridge.robots.joints.seat import Seat

GREATEST = sys.float_info.max
"""The maximum of what is finite."""


class WithParameters(Protocol):
    """
    An axis, of a seat's coordinate `number`.

    rows: those that a parameter is written to, more than one for a ball joint.
    """

    seat: Seat
    number: int
    rows: slice
    place: str


class Parameter:
    """A parameter of an axis, kept in the model and checked when it is set."""

    def __init__(
        self,
        array: str,
        column: int,
        expected: str,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ):
        """
        Be a column of the model's array.

        expected: what is accepted, from `minimum` to `maximum`, for messages.
        """
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum = minimum, maximum
        self.__doc__ = f'To be set to {expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the parameter's name."""
        self._name = name

    @overload
    def __get__(self, axis: None, owner: type) -> Parameter: ...
    @overload
    def __get__(self, axis: WithParameters, owner: type | None = None) -> float: ...

    def __get__(
        self, axis: WithParameters | None, owner: type | None = None
    ) -> float | Parameter:
        """Read it."""
        if axis is None:
            return self
        return float(axis.seat.parameters(self._array)[axis.number, self._column])

    def __set__(self, axis: WithParameters, value: float) -> None:
        """Change it; raises InvalidValueError for another value."""
        number = value if type(value) is float else self._number(value, axis.place)
        if not self._minimum <= number <= self._maximum:
            raise InvalidValueError(self._name, value, self._expected, axis.place)
        rows = axis.seat.parameters(self._array)
        self._check(number, rows[axis.number], axis.place)
        rows[axis.rows, self._column] = number
        axis.seat.invalidate()

    def _number(self, value: object, place: str) -> float:
        array = real_array(self._name, value, self._expected, place)
        if array.ndim:
            raise InvalidValueError(self._name, value, self._expected, place)
        return float(array)

    def _check(self, number: float, row: np.ndarray, place: str) -> None:
        """Refuse what does not fit the axis' other parameters, which its row has."""


class LowerStop(Parameter):
    """The lower position limit."""

    def _check(self, number: float, row: np.ndarray, place: str) -> None:
        """Refuse a limit above the upper one."""
        if number > row[UPPER]:
            raise InvalidValueError(
                'lower', number, f'at most upper, which is {row[UPPER]}', place)


class UpperStop(Parameter):
    """The upper position limit."""

    def _check(self, number: float, row: np.ndarray, place: str) -> None:
        """Refuse a limit below the lower one."""
        if number < row[LOWER]:
            raise InvalidValueError(
                'upper', number, f'at least lower, which is {row[LOWER]}', place)
