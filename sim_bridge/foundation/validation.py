"""Validation of user values, before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import inspect
import math
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

_Kind = TypeVar('_Kind')
_FLOAT = np.dtype(np.float64)

# limit for quaternion components: far from overflow in squares
_MOST_LENGTH = 1e50
# for more numbers, a sum in Python takes longer than NumPy
_FEW = 32

# numpy type codes: integers, unsigned integers and floats, but neither text nor booleans
_REAL = 'iuf'


def numbers(quantity: str, value: object, expected: str, place: str) -> np.ndarray:
    """
    Return a value as an integer or float array with its own type and shape.

    quantity, expected, place: for the message of InvalidValueError, raised for anything else.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in _REAL:
        raise InvalidValueError(quantity, value, expected, place)
    return array


def real_array(quantity: str, value: object, expected: str, place: str) -> FloatArray:
    """Return a value as a float array, not necessarily finite; raises like `numbers`."""
    return numbers(quantity, value, expected, place).astype(float)


def finite_vector(
    quantity: str, value: object, size: int, place: str, expected: str = ''
) -> FloatArray:
    """
    Return a value as (size,) finite floats; size 1 also accepts a plain number.

    quantity, place, expected: for the message of InvalidValueError, raised for anything else.
    """
    if is_floats(value, size) or _is_tuple_of_floats(value, size):
        return np.array(value)
    expected = expected or f'{size} finite numbers'
    array = real_array(quantity, value, expected, place)
    if size == 1 and array.ndim == 0:
        array = array.reshape(1)
    if array.shape != (size,) or not (
        # a finite sum has finite terms; a finite array can have an infinite sum
        (size <= _FEW and math.isfinite(sum(array.tolist()))) or np.isfinite(array).all()
    ):
        raise InvalidValueError(quantity, value, expected, place)
    return array


def is_floats(value: object, size: int) -> TypeGuard[FloatArray]:
    """Return whether a value is a (size,) float array with finite items and a finite sum."""
    # fast path: a fifth of the time of the full check
    return (
        type(value) is np.ndarray
        and value.dtype is _FLOAT
        and value.shape == (size,)
        and math.isfinite(sum(value.tolist()))
    )


def _is_tuple_of_floats(value: object, size: int) -> bool:
    """Return whether a value is a tuple of `size` plain floats with a finite sum."""
    return (
        type(value) is tuple
        and len(value) == size
        and set(map(type, value)) == {float}
        and math.isfinite(sum(value))
    )


def finite_rows(quantity: str, value: object, size: int, place: str) -> FloatArray:
    """Return a value as (size,) or (N, size) finite floats; else raise InvalidValueError."""
    expected = f'{size} finite numbers, or rows of as many'
    if numbers(quantity, value, expected, place).ndim != 2:
        return finite_vector(quantity, value, size, place, expected)
    array = real_array(quantity, value, expected, place)
    if array.shape[1] != size or not np.isfinite(array).all():
        raise InvalidValueError(quantity, value, expected, place)
    return array


def finite_number(
    quantity: str, value: object, place: str, expected: str = 'a finite number'
) -> float:
    """Return a value as a finite float; else raise InvalidValueError."""
    if type(value) is float and math.isfinite(value):
        # usual case, without an array
        return value
    return float(finite_vector(quantity, value, 1, place, expected)[0])


def positive_vector(
    quantity: str, value: object, size: int, place: str = '', expected: str = ''
) -> FloatArray:
    """Return a value as (size,) finite floats above zero; else raise InvalidValueError."""
    expected = expected or f'{size} positive numbers'
    array = finite_vector(quantity, value, size, place, expected)
    if not (array > 0.0).all():
        raise InvalidValueError(quantity, value, expected, place)
    return array


def positive_number(quantity: str, value: object, expected: str, place: str = '') -> float:
    """Return a value as a finite float above zero; else raise InvalidValueError."""
    return float(positive_vector(quantity, value, 1, place, expected)[0])


def truth(quantity: str, value: object, place: str = '', expected: str = 'True or False') -> bool:
    """Return True or False; raise InvalidValueError for other types."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidValueError(quantity, value, expected, place)
    return bool(value)


def truth_or_none(quantity: str, value: object, place: str = '') -> bool | None:
    """Return True, False or None; raise InvalidValueError for anything else."""
    return None if value is None else truth(quantity, value, place, 'True, False or None')


def unit_quaternion(value: object, place: str = '', quantity: str = 'orientation') -> FloatArray:
    """Return a normalised quaternion x y z w; raise InvalidValueError if it is invalid."""
    expected = 'a quaternion x y z w of non-zero length, up to 1e50'
    quaternion = finite_vector(quantity, value, 4, place, expected)
    # avoids overflow
    norm = (
        math.inf
        if max(map(abs, quaternion.tolist())) > _MOST_LENGTH
        else float(np.linalg.norm(quaternion))
    )
    if not 1e-6 <= norm <= _MOST_LENGTH:
        raise InvalidValueError(quantity, tuple(quaternion.tolist()), expected, place)
    return quaternion / norm


GivenPose = tuple[Vector, Vector]
"""Pose given by users: position [m] and quaternion x y z w."""


def checked_pose(
    position: object, orientation: object, place: str = ''
) -> tuple[FloatArray, FloatArray]:
    """Return a position (3,) [m] and a normalised quaternion; else raise InvalidValueError."""
    p = finite_vector('position', position, 3, place, '3 finite numbers [m]')
    return p, unit_quaternion(orientation, place)


def one_of(quantity: str, value: object, known: Iterable[str], place: str = '') -> str:
    """Return a value if it is one of some words; raise InvalidValueError for anything else."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        expected = f'{", ".join(others)} or {last}' if others else last
        raise InvalidValueError(quantity, value, expected, place)
    return value


def number_from(
    quantity: str, value: object, minimum: float, maximum: float, place: str, expected: str
) -> float:
    """Return a finite number from a minimum to a maximum; else raise InvalidValueError."""
    number = finite_number(quantity, value, place, expected)
    if not minimum <= number <= maximum:
        raise InvalidValueError(quantity, value, expected, place)
    return number


def is_series(value: object) -> bool:
    """Return whether a value has items; a 0-d array has none."""
    return (
        isinstance(value, Iterable)
        and not isinstance(value, (str, bytes))
        and (not isinstance(value, np.ndarray) or value.ndim > 0)
    )


def name_set(quantity: str, value: Any, place: str) -> frozenset[str]:
    """Return names as a set; raise InvalidValueError for anything except nonempty texts."""
    if is_series(value):
        names = tuple(value)
        if all(isinstance(name, str) and name for name in names):
            return frozenset(names)
    raise InvalidValueError(quantity, value, 'a set of names', place)


def instance_of(
    quantity: str, value: object, kind: type[_Kind], expected: str, place: str = ''
) -> _Kind:
    """Return a value if it is an instance; raise InvalidValueError for anything else."""
    if not isinstance(value, kind):
        raise InvalidValueError(quantity, value, expected, place)
    return value


def items_of(
    quantity: str,
    value: Any,
    kind: type[Any] | tuple[type[Any], ...],
    expected: str,
    place: str = '',
) -> tuple[Any, ...]:
    """Return items if all are instances; raise InvalidValueError for anything else."""
    if is_series(value):
        items = tuple(value)
        if all(isinstance(item, kind) for item in items):
            return items
    raise InvalidValueError(quantity, value, expected, place)


def function(quantity: str, value: Any, expected: str, place: str = '') -> Callable[..., Any]:
    """Return a function; raise InvalidValueError for anything else."""
    if isinstance(value, type) or not callable(value):
        raise InvalidValueError(quantity, value, expected, place)
    called: Callable[..., Any] = value
    return called


def file_path(quantity: str, value: object, place: str = '') -> Path:
    """Return a path given as text or Path; raise InvalidValueError for anything else."""
    if not isinstance(value, (str, Path)):
        raise InvalidValueError(quantity, value, 'a path: a text or a Path', place)
    return Path(value)


def check_keywords(function: Callable[..., Any], given: Mapping[Any, object], place: str) -> None:
    """
    Check that a method can be called with the given keyword arguments.

    Raises UnknownNameError for an unknown argument, InvalidValueError for a missing one.
    """
    known = dict(list(inspect.signature(function).parameters.items())[1:])
    for name in given:
        if name not in known:
            raise UnknownNameError('argument', name, known, place)
    missing = [name for name, each in known.items() if each.default is each.empty]
    if not given.keys() >= set(missing):
        raise InvalidValueError('arguments', list(given), f'at least {", ".join(missing)}', place)


def whole_number(quantity: str, value: object, most: int | None = None) -> int:
    """
    Return an integer from 0 to `most`; raises InvalidValueError for anything else.

    most: None for no limit.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < 0
        or (most is not None and value > most)
    ):
        expected = 'an integer of at least 0' if most is None else f'an integer from 0 to {most}'
        raise InvalidValueError(quantity, value, expected)
    return int(value)
