"""Attribute checks for declared force fields."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector, truth


class CheckedField:
    """
    Base for dataclasses with finite numbers, vectors, truth values and names.

    An attribute's default gives its kind: a tuple stands for a vector with this length.
    """

    def __post_init__(self) -> None:
        """Raise InvalidValueError for infinite values and nan."""
        kind = type(self).__name__
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, self._checked(field, kind))
        self._check(kind)

    def _checked(self, field: Field[Any], kind: str) -> Any:
        """Return an attribute's checked value."""
        value: Any = getattr(self, field.name)
        if isinstance(field.default, tuple):
            return tuple(finite_vector(field.name, value, len(field.default), kind).tolist())
        if isinstance(field.default, bool):
            return truth(field.name, value, kind)
        if isinstance(field.default, str):
            if not isinstance(value, str):
                raise InvalidValueError(field.name, value, 'a name', kind)
            return value
        return finite_number(field.name, value, kind)

    def _check(self, kind: str) -> None:
        """Raise InvalidValueError for finite values outside their range."""

    def _check_not_negative(self, kind: str, *names: str) -> None:
        """Raise InvalidValueError for negative attributes."""
        for name in names:
            if getattr(self, name) < 0.0:
                raise InvalidValueError(name, getattr(self, name), 'a number of at least 0', kind)
