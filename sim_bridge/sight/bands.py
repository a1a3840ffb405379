"""Threads for one picture: each takes one row band after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from sim_bridge.foundation import forks

Band = tuple[int, int]
"""First row, and the row after the last."""


class Bands:
    """
    Bands in an image, and the threads beside the calling one.

    A band's results depend neither on its thread nor on other bands.
    """

    def __init__(self, height: int, threads: int, rows: int):
        """Divide an image; rows: band height; a single thread has one band."""
        rows = height if threads == 1 else rows
        self._height, self._bands = height, _divided((0, height), rows)
        self.threads = min(threads, len(self._bands))
        self._pool: ThreadPoolExecutor | None = None
        forks.in_child(self, Bands._forget)

    def run(self, work: Callable[[int, Band], None], rows: Band | None = None) -> None:
        """
        Call work(thread, band) for all bands; `thread` counts from 0.

        rows: divided among the threads; None: all, in the bands.
        """
        divided = self._bands
        if rows is not None and rows != (0, self._height):
            divided = _divided(rows, -(-(rows[1] - rows[0]) // self.threads))
        # the interpreter lock makes `next` atomic
        bands = iter(divided)
        if self.threads == 1:
            _take(work, 0, bands)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, 'sight')
        others = [
            self._pool.submit(_take, work, thread, bands) for thread in range(1, self.threads)
        ]
        try:
            _take(work, 0, bands)
        finally:
            # an interrupted picture leaves no thread behind
            for _ in bands:
                pass
            for other in others:
                other.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _forget(self) -> None:
        """Start other threads at the next picture, in a forked child process."""
        self._pool = None


def _divided(rows: Band, step: int) -> list[Band]:
    """Return bands of `step` rows, the last one perhaps lower."""
    first, end = rows
    return [(row, min(row + step, end)) for row in range(first, end, step)]


def _take(work: Callable[[int, Band], None], thread: int, bands: Iterator[Band]) -> None:
    for band in bands:
        work(thread, band)
