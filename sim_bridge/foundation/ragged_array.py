"""Arrays with rows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RaggedArray:
    """
    Rows with different lengths, stored anywhere in one array.

    values: (m,) floats. starts, counts: (k,) index of each row's first number, and row length.
    """

    values: np.ndarray
    starts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> RaggedArray:
        """Return the rows stored in float buffers, such as `array.array('d')`."""
        values = np.frombuffer(bytearray(b'').join(rows), float)
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls(values, np.cumsum(counts) - counts, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, number: int) -> np.ndarray:
        start = self.starts[number]
        row: np.ndarray = self.values[start : start + self.counts[number]]
        return row

    def table(self, which: np.ndarray, width: int) -> np.ndarray:
        """Return rows with equal width as a matrix; which: (k,) mask selecting these rows."""
        rows: np.ndarray = self.values[self.starts[which].reshape(-1, 1) + np.arange(width)]
        return rows
