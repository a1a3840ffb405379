"""Scratch for pencils: lines are gathered, sorted into cells, and walked."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.pencil import (
    HIGH_X,
    HIGH_Y,
    LOW_X,
    LOW_Y,
    Pencil,
    PER_X,
    PER_Y,
    SPAN_SIZE,
)
from sim_bridge.engine.image.make_view import make_corners
from sim_bridge.engine.image.pencil import sort_lines

_MOST_CELLS = 2048
"""Cells a side."""
_CELLS_PER_LINE = 2
PLAIN, WITH_PAST = 3, 6
"""Columns of lines without and with a surface passed."""


class Lines:
    """Lines of one pencil at a time; one object for each thread."""

    def __init__(self, geometry: Geometry) -> None:
        """Start without room for lines; geometry: walked by this thread."""
        self.span = np.zeros(SPAN_SIZE)
        self.source = np.zeros(0, np.int32)
        self.corners = make_corners(geometry)
        self._given = {columns: np.zeros((0, columns)) for columns in (PLAIN, WITH_PAST)}
        self._line = {columns: np.zeros((0, columns)) for columns in (PLAIN, WITH_PAST)}
        self._key, self._ordered = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._item, self._face = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._start = np.zeros(0, np.int64)

    def given(self, most: int, columns: int = PLAIN) -> np.ndarray:
        """Return rows for gathered lines; `source` and `span` have room beside them."""
        if len(self.source) < most:
            self.source, self._key, self._ordered, self._item, self._face = (
                np.zeros(most, np.int32) for _ in range(5)
            )
        if len(self._given[columns]) < most:
            self._given[columns], self._line[columns] = np.zeros((2, most, columns))
        return self._given[columns]

    def pencil(
        self, count: int, columns: int = PLAIN, *, is_parallel: bool = False, across: float
    ) -> Pencil:
        """Return the first `count` gathered lines in cells; across: as in `Pencil`."""
        wide, high = (
            max(self.span[high_x] - self.span[low_x], 0.0)
            for low_x, high_x in ((LOW_X, HIGH_X), (LOW_Y, HIGH_Y))
        )
        cells = max(count * _CELLS_PER_LINE, 1)
        across_cells = round((cells * wide / high) ** 0.5) if high > 0.0 else cells
        width = min(max(across_cells, 1), _MOST_CELLS)
        height = min(max(cells // width, 1), _MOST_CELLS)
        self.span[PER_X] = width / wide if wide > 0.0 else 0.0
        self.span[PER_Y] = height / high if high > 0.0 else 0.0
        if len(self._start) < width * height + 2:
            self._start = np.zeros(width * height + 2, np.int64)
        pencil = Pencil(
            self._line[columns],
            self._ordered,
            self._item,
            self._face,
            self._start,
            self.span,
            width,
            height,
            int(is_parallel),
            across,
        )
        sort_lines(count, self._given[columns], self.source, self._key, pencil)
        return pencil
