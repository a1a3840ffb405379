"""
Array types: input from users (lists or arrays with any real numbers), and output.

They are narrower than numpy's ArrayLike: they exclude texts and complex numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class _Real(Protocol):
    """Numpy array or scalar, or an object convertible to one."""

    def __array__(self) -> npt.NDArray[np.floating[Any] | np.integer[Any]]:
        """Return it as an array."""


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Coordinates = Any
"""Float for a single coordinate, else FloatArray; type checkers cannot distinguish the cases."""

Number = float | _Real
Vector = Sequence[Number] | _Real
Matrix = Sequence[Vector] | _Real
