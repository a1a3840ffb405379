"""Ranges for numbers in dataclass fields."""

from __future__ import annotations

from dataclasses import field, fields
import math
from typing import Any, NamedTuple

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array


class Range(NamedTuple):
    """Number range. above: the least value is excluded. finite: infinity is excluded."""

    least: float = 0.0
    greatest: float = math.inf
    finite: bool = True
    above: bool = False

    def __str__(self) -> str:
        """Return the range in words."""
        words = 'a finite number' if self.finite else 'a number'
        if math.isfinite(self.least):
            words += f' {"above" if self.above else "of at least"} {self.least:g}'
        if math.isfinite(self.greatest):
            words += f' and at most {self.greatest:g}'
        return words

    def holds(self, number: float) -> bool:
        """Return whether a number is in the range; nan never is."""
        is_inside = self.least <= number <= self.greatest
        is_edge = self.above and number == self.least
        return is_inside and not is_edge and not (self.finite and math.isinf(number))


NOT_NEGATIVE = Range()
MAYBE_INFINITE = Range(finite=False)
POSITIVE_MAYBE_INFINITE = Range(finite=False, above=True)
SHARE = Range(greatest=1.0)
FINITE = Range(least=-math.inf)


def within(allowed: Range, default: Any) -> Any:
    """Return a dataclass field for a number in a range."""
    return field(default=default, metadata={'range': allowed})


def check_fields(thing: Any, place: str) -> None:
    """Check numbers against their ranges and convert them to floats; a default None stays."""
    for number_field in fields(thing):
        name, allowed = number_field.name, number_field.metadata.get('range')
        value = getattr(thing, name)
        if allowed is None or (value is None and number_field.default is None):
            continue
        array = real_array(name, value, str(allowed), place)
        number = float(array) if array.ndim == 0 else math.nan
        if not allowed.holds(number):
            raise InvalidValueError(name, value, str(allowed), place)
        object.__setattr__(thing, name, number)
