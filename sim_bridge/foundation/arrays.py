"""
Types of arrays: those that users give, as lists or arrays of any real numbers, and get.

Narrower than numpy's ArrayLike, which takes texts and complex numbers too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class _Real(Protocol):
    """An array or a scalar of numpy, or what turns into one."""

    def __array__(self) -> npt.NDArray[np.floating[Any] | np.integer[Any]]:
        """Return it as an array."""


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Coordinates = Any
"""A float of what has one coordinate, else a FloatArray; which, type checkers cannot know."""

Number = float | _Real
Vector = Sequence[Number] | _Real
Matrix = Sequence[Vector] | _Real
