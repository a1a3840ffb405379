"""Parameters of a joint's axes that can be changed while a world runs."""

from __future__ import annotations

import math
import sys
from typing import overload, Protocol

import numpy as np

from sim_bridge.engine.data.model import LOWER, UPPER
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array
from sim_bridge.robots.joints.seat import Seat

GREATEST = sys.float_info.max
"""The greatest finite number."""


class WithParameters(Protocol):
    """
    An axis: coordinate `number` of a seat.

    rows: the seat's rows that a parameter is written to; all three of a ball joint.
    """

    seat: Seat
    number: int
    rows: slice
    place: str


class Parameter:
    """A parameter of an axis: a column of the model's arrays, checked when it is set."""

    def __init__(
        self,
        array: str,
        column: int,
        expected: str,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ):
        """
        Declare a parameter in a column of an array of the model.

        expected: the accepted values, from `minimum` to `maximum`, in words for messages.
        """
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum = minimum, maximum
        self.__doc__ = f'Can be set to {expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, axis: None, owner: type) -> Parameter: ...
    @overload
    def __get__(self, axis: WithParameters, owner: type | None = None) -> float: ...

    def __get__(
        self, axis: WithParameters | None, owner: type | None = None
    ) -> float | Parameter:
        """Return the present value."""
        if axis is None:
            return self
        return float(axis.seat.parameters(self._array)[axis.number, self._column])

    def __set__(self, axis: WithParameters, value: float) -> None:
        """Set the value; raises InvalidValueError for one that is not accepted."""
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
        """Raise InvalidValueError if it contradicts the axis' other parameters, in its row."""


class LowerStop(Parameter):
    """The lower position limit."""

    def _check(self, number: float, row: np.ndarray, place: str) -> None:
        """Raise InvalidValueError if it is above the upper limit."""
        if number > row[UPPER]:
            raise InvalidValueError(
                'lower', number, f'at most upper, which is {row[UPPER]}', place)


class UpperStop(Parameter):
    """The upper position limit."""

    def _check(self, number: float, row: np.ndarray, place: str) -> None:
        """Raise InvalidValueError if it is below the lower limit."""
        if number < row[LOWER]:
            raise InvalidValueError(
                'upper', number, f'at least lower, which is {row[LOWER]}', place)
