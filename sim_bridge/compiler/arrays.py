"""
Array kinds accepted by kernels, as annotations.

Part fields (see `table`) and entry parameters are annotated with these names.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np


class Layout(NamedTuple):
    """Item type and number of dimensions; the array must be C-contiguous and aligned."""

    dtype: np.dtype
    dimensions: int


_FLOAT = np.dtype(np.float64)
_INT = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)
_UINT8, _UINT16, _UINT32 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32)
_INT16, _INT32 = np.dtype(np.int16), np.dtype(np.int32)

FloatVector = Annotated[np.ndarray, Layout(_FLOAT, 1)]
FloatMatrix = Annotated[np.ndarray, Layout(_FLOAT, 2)]
FloatCube = Annotated[np.ndarray, Layout(_FLOAT, 3)]
IntVector = Annotated[np.ndarray, Layout(_INT, 1)]
IntMatrix = Annotated[np.ndarray, Layout(_INT, 2)]

# narrow items: loads widen, stores round or saturate (docs/kernels.md)
Float32Vector = Annotated[np.ndarray, Layout(_FLOAT32, 1)]
Float32Matrix = Annotated[np.ndarray, Layout(_FLOAT32, 2)]
Float32Cube = Annotated[np.ndarray, Layout(_FLOAT32, 3)]
UInt8Vector = Annotated[np.ndarray, Layout(_UINT8, 1)]
UInt8Matrix = Annotated[np.ndarray, Layout(_UINT8, 2)]
UInt8Cube = Annotated[np.ndarray, Layout(_UINT8, 3)]
UInt16Vector = Annotated[np.ndarray, Layout(_UINT16, 1)]
UInt16Matrix = Annotated[np.ndarray, Layout(_UINT16, 2)]
UInt32Vector = Annotated[np.ndarray, Layout(_UINT32, 1)]
UInt32Matrix = Annotated[np.ndarray, Layout(_UINT32, 2)]
Int16Vector = Annotated[np.ndarray, Layout(_INT16, 1)]
Int16Matrix = Annotated[np.ndarray, Layout(_INT16, 2)]
Int32Vector = Annotated[np.ndarray, Layout(_INT32, 1)]
Int32Matrix = Annotated[np.ndarray, Layout(_INT32, 2)]

MAX_DIMENSIONS = 3
