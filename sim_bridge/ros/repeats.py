"""Commands that say the same as the one before, but for their stamp and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.ros.repeating import POSITION, take_repeat, VELOCITY

if TYPE_CHECKING:
    from sim_bridge.compiler.calls import Call

# bytes of the head of a message, and of a word
_HEAD, _WORD = 4, 8


class Repeat:
    """
    One command, taken apart, that others may be like.

    quantities: that it commands. Whatever it takes, one compiled call checks and hands over.
    """

    def __init__(
        self, data: bytes, same: Sequence[slice], lists: Sequence[tuple[int, int]],
        rows: np.ndarray, limits: Sequence[np.ndarray], pending: np.ndarray,
    ) -> None:
        """
        Learn a serialized command.

        same: bytes that others have in common with it. lists: of each list of numbers in it that
        is not empty, the quantity and where it begins. rows: of `pending`, for each name. limits: for each list. pending: (3, n) what is written.
        """
        self.quantities = {quantity for quantity, _ in lists}
        if POSITION in self.quantities:
            self.quantities.add(VELOCITY)
        self._size = len(data)
        # numbers lie at multiples of 8 behind the head, which is half as long
        words = np.zeros(len(data) // _WORD + 2, np.int64)
        self._bytes = memoryview(words).cast('B')[_HEAD : _HEAD + len(data)]
        self._bytes[:] = data
        mask = np.zeros(words.nbytes, np.uint8)
        for part in same:
            mask[_HEAD:][part] = 0xFF
        given = np.array(
            [(quantity, (_HEAD + place) // _WORD) for quantity, place in lists], np.int64)
        self._run: Call = take_repeat.prepare(
            words, words.view(float), words.copy(), mask.view(np.int64), given, np.array(rows, np.int64),
            np.array(limits, float), pending, is_short=True)

    def take(self, data: bytes) -> int:
        """Put the numbers where they are pending; return the stamp [ns], -1 for another one."""
        if len(data) != self._size:
            return -1
        self._bytes[:] = data
        return self._run()


def lists_of(blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give quantity and place of lists that are not empty; blocks: place and length of each."""
    return [(quantity, place) for quantity, (place, count) in enumerate(blocks) if count]


def are_whole(blocks: Sequence[tuple[int, int]], names: Sequence[Any]) -> bool:
    """Tell whether all lists have a number for each name, or none, at places for numbers."""
    return all(count in (0, len(names)) and (not count or (_HEAD + place) % _WORD == 0)
               for place, count in blocks)
