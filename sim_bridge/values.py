"""Numbers that users hand over, checked before anything is changed."""

from __future__ import annotations

import numpy as np

from sim_bridge.errors import InvalidValueError

# numpy's kinds of booleans, integers, unsigned integers and floats; text is no number
_REAL = 'biuf'


def real_array(what: str, value: object, expected: str, place: str) -> np.ndarray:
    """
    Give a value as an array of floats of its own shape, which need not be finite.

    what, expected, place: for the message of the InvalidValueError that anything else raises.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in _REAL:
        raise InvalidValueError(what, value, expected, place)
    return array.astype(float)


def finite_vector(
    what: str, value: object, size: int, place: str, expected: str = ''
) -> np.ndarray:
    """
    Give a value as (size,) finite floats; a single one may come without an array around it.

    what, place, expected: for the message of the InvalidValueError that anything else raises.
    """
    expected = expected or f'{size} finite numbers'
    array = real_array(what, value, expected, place)
    if size == 1 and array.ndim == 0:
        array = array.reshape(1)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InvalidValueError(what, value, expected, place)
    return array
