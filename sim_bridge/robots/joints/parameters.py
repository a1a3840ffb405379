"""Settable joint axis parameters."""

from __future__ import annotations

import math
import sys
from typing import Any, overload, Protocol

from sim_bridge.foundation.arrays import Number
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import real_array
from sim_bridge.robots.joints.joint_backend import JointBackend

GREATEST = sys.float_info.max
"""Largest finite number."""


class WithParameters(Protocol):
    """
    An axis: a backend's coordinate `number`.

    rows: backend rows written by a parameter; all three for a ball joint.
    """

    backend: JointBackend
    number: int
    rows: slice
    place: str

    @property
    def joint(self) -> Any:
        """Return the joint of the axis."""


class Parameter:
    """Axis parameter: a column in the model's arrays, checked when set."""

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
        Declare a parameter in a model array's column.

        expected: accepted values, from `minimum` to `maximum`, as text for messages. other: 'at
        most' or 'at least'; compared parameter's column and name. opposite: column
        set to the negative value. both: column set to the same value. of_loops: whether only axes
        of constraint joints have it.
        """
        self._array, self._column, self._expected = array, column, expected
        self._minimum, self._maximum, self._other = minimum, maximum, other
        self._opposite, self._both, self._of_loops = opposite, both, of_loops
        self.__doc__ = f'Can be set to {expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self._name = name

    @overload
    def __get__(self, axis: None, owner: type) -> Parameter: ...
    @overload
    def __get__(self, axis: WithParameters, owner: type | None = None) -> float: ...

    def __get__(self, axis: WithParameters | None, owner: type | None = None) -> float | Parameter:
        """Return the current value."""
        if axis is None:
            return self
        return float(axis.backend.parameters(self._array)[axis.number, self._column])

    def __set__(self, axis: WithParameters, value: Number) -> None:
        """Set the value; raise InvalidValueError if it is not accepted."""
        number = value if type(value) is float else self._number(value, axis.place)
        if not self._minimum <= number <= self._maximum:
            raise InvalidValueError(self._name, value, self._expected, axis.place)
        if self._of_loops and axis.joint.is_tree:
            raise StateError(
                f'{self._name} of {axis.place}: only constraint joints have it, because the '
                'solver computes the force that they bear; see add_joint(..., tree=False)'
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
