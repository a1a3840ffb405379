"""Argument checks for control laws."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import is_floats, real_array


def gain(what: str, value: object, size: int, place: str) -> float | FloatArray:
    """Return a gain, one for all or (size,), finite and not negative; raises as `for_each`."""
    if type(value) is float and 0.0 <= value < np.inf:
        return value
    return for_each(what, value, size, place, 0.0)


def for_each(
    what: str, value: Any, size: int, place: str = '', least: float = -np.inf
) -> FloatArray:
    """Return one number or `size` numbers as (size,), finite and >= least, or raise."""
    if type(value) is float and least <= value and abs(value) < np.inf:
        # the usual case, ten times as fast
        return np.full(size, value)
    if size and is_floats(value, size) and value.min() >= least:
        return value.copy()
    bound = '' if least == -np.inf else f' of at least {least:g}'
    expected = f'a finite number{bound}, or {size} numbers'
    array = real_array(what, value, expected, place)
    if array.shape not in ((), (size,)) or not (np.isfinite(array) & (array >= least)).all():
        raise InvalidValueError(what, value, expected, place)
    return array if array.ndim else np.full(size, array)
