"""Parameters of a joint's axes that can be changed while a world runs."""

from __future__ import annotations

import math
import sys
from typing import Any, overload, Protocol

from sim_bridge.foundation.arrays import Number
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import real_array
from sim_bridge.robots.joints.joint_backend import JointBackend

GREATEST = sys.float_info.max
"""The greatest finite number."""


class WithParameters(Protocol):
    """
    An axis: coordinate `number` of a backend.

    rows: the backend's rows that a parameter is written to; all three of a ball joint.
    """

    backend: JointBackend
    number: int
    rows: slice
    place: str

    @property
    def joint(self) -> Any:
        """Return the joint that it is of."""


class Parameter:
    """A parameter of an axis: a column of the model's arrays, checked when it is set."""

    def __init__(
        self,
        array: str,
        column: int,
        expected: str,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        other: tuple[str, int, str] | None = None,
        opposite: int | None = None,
        both: int | None = None,
        of_loops: bool = False,
    ):
        """
        Declare a parameter in a column of an array of the model.

        expected: the accepted values, from `minimum` to `maximum`, in words for messages.
        other: 'at most' or 'at least'; the column and the name of the parameter to compare with.
        opposite: a column that gets the negative value when it is set. both: one that gets the
        same value. of_loops: whether only axes of constraint joints have it.
        """
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum, self._other = minimum, maximum, other
        self._opposite, self._both, self._of_loops = opposite, both, of_loops
        self.__doc__ = f'Can be set to {expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, axis: None, owner: type) -> Parameter: ...
    @overload
    def __get__(self, axis: WithParameters, owner: type | None = None) -> float: ...

    def __get__(self, axis: WithParameters | None, owner: type | None = None) -> float | Parameter:
        """Return the present value."""
        if axis is None:
            return self
        return float(axis.backend.parameters(self._array)[axis.number, self._column])

    def __set__(self, axis: WithParameters, value: Number) -> None:
        """Set the value; raises InvalidValueError for one that is not accepted."""
        number = value if type(value) is float else self._number(value, axis.place)
        if not self._minimum <= number <= self._maximum:
            raise InvalidValueError(self._name, value, self._expected, axis.place)
        if self._of_loops and axis.joint.is_tree:
            raise StateError(
                f'{self._name} of {axis.place}: only constraint joints have it, which solve for '
                'the force that they bear; see add_joint(..., tree=False)'
            )
        if self._other is not None:
            relation, column, name = self._other
            limit = axis.backend.parameters(self._array)[axis.number, column]
            if number > limit if relation == 'at most' else number < limit:
                raise InvalidValueError(
                    self._name, number, f'{relation} {name}, which is {limit}', axis.place
                )
        if self._opposite is not None:
            columns = [self._column, self._opposite]
            axis.backend.write(self._array, (axis.rows, columns), (number, -number))
        elif self._both is not None:
            axis.backend.write(self._array, (axis.rows, [self._column, self._both]), number)
        else:
            axis.backend.write(self._array, (axis.rows, self._column), number)

    def _number(self, value: object, place: str) -> float:
        array = real_array(self._name, value, self._expected, place)
        if array.ndim:
            raise InvalidValueError(self._name, value, self._expected, place)
        return float(array)
