"""Frame value history, so that a new curve covers its whole window at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_bridge.page.channel import Frame

Value = tuple[str, tuple[int, ...]]
"""Name of a frame array, and an index in it."""

_MOST_ROWS = 3600  # frames in a minute
_MOST_NUMBERS = 8_000_000  # in all rows; 32 MB


class History:
    """
    Values of the last frames, for all curves.

    The buffer has twice the kept rows: new rows are appended, and the second half moves to the
    front when the buffer is full.
    """

    def __init__(self, values: Mapping[str, Value], frame: Frame):
        """Start without a row. frame: any frame with these values."""
        self._columns = {name: column for column, name in enumerate(values)}
        places: dict[str, tuple[list[int], list[int]]] = {}
        for column, (array, place) in enumerate(values.values()):
            columns, rows = places.setdefault(array, ([], []))
            columns.append(column)
            rows.append(int(np.ravel_multi_index(place, getattr(frame, array).shape)))
        self._places = [
            (array, np.array(columns), np.array(rows)) for array, (columns, rows) in places.items()
        ]
        self._rows = min(_MOST_ROWS, _MOST_NUMBERS // max(1, len(values)))
        self._times = np.zeros(2 * self._rows)
        self._values = np.zeros((2 * self._rows, len(values)), np.float32)
        self._end = 0

    def add(self, time: float, frame: Frame) -> None:
        """Add a frame; an earlier time restarts the history, an equal time is ignored."""
        if self._end and time <= self._times[self._end - 1]:
            if time == self._times[self._end - 1]:
                return
            self._end = 0
        if self._end == len(self._times):
            for kept in (self._times, self._values):
                kept[: self._rows] = kept[self._rows :]
            self._end = self._rows
        self._times[self._end] = time
        row = self._values[self._end]
        for array, columns, places in self._places:
            row[columns] = getattr(frame, array).ravel()[places]
        self._end += 1

    def window(self, seconds: float, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (n,) in the last seconds [s], and the values (names, n)."""
        begin = max(0, self._end - self._rows)
        if self._end:
            begin += int(
                np.searchsorted(
                    self._times[begin : self._end], self._times[self._end - 1] - seconds
                )
            )
        rows = slice(begin, self._end)
        values = self._values[rows][:, [self._columns[name] for name in names]]
        return self._times[rows].copy(), values.T.astype(float)
