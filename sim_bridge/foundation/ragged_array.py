"""Arrays whose rows have different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RaggedArray:
    """
    Rows of numbers of different lengths, anywhere in one array.

    values: (m,) floats. starts, counts: (k,) where in it each row begins, and how many numbers it
    has.
    """

    values: np.ndarray
    starts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> RaggedArray:
        """Return the rows held by buffers of floats, such as `array.array('d')`."""
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
        """Return rows of one width as a matrix; which: (k,) whether a row is among them."""
        rows: np.ndarray = self.values[self.starts[which].reshape(-1, 1) + np.arange(width)]
        return rows
