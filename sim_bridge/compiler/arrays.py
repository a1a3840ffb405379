"""
Array kinds accepted by kernels, as annotations.

Part fields (see `table`) and entry parameters are annotated with these names.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np


class Layout(NamedTuple):
    """Item type and number of dimensions; the array must be C-contiguous."""

    dtype: np.dtype
    dimensions: int


_FLOAT = np.dtype(np.float64)
_INT = np.dtype(np.int64)

FloatVector = Annotated[np.ndarray, Layout(_FLOAT, 1)]
FloatMatrix = Annotated[np.ndarray, Layout(_FLOAT, 2)]
FloatCube = Annotated[np.ndarray, Layout(_FLOAT, 3)]
IntVector = Annotated[np.ndarray, Layout(_INT, 1)]
IntMatrix = Annotated[np.ndarray, Layout(_INT, 2)]

MAX_DIMENSIONS = 3
