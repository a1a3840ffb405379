"""Commands that say the same as the one before, but for their stamp and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.ros.command.repeating import POSITION, take_repeat, VELOCITY

if TYPE_CHECKING:
    from sim_bridge.compiler.calls import Call
    from sim_bridge.ros.command.table import CommandTable
    from sim_bridge.ros.wire.joint_state_reader import JointStateReader

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
        is not empty, the quantity and where it begins. rows: of `pending`, for each name. limits:
        for each list. pending: (3, n) what is written.
        """
        self.quantities = {quantity for quantity, _ in lists}
        if POSITION in self.quantities:
            self.quantities.add(VELOCITY)
        self._size = len(data)
        # numbers lie at multiples of 8 behind the head, which is half as long
        words = np.zeros(len(data) // _WORD + 2, np.int64)
        self._bytes = words.data.cast('B')[_HEAD : _HEAD + len(data)]
        self._bytes[:] = data
        mask = np.zeros(words.nbytes, np.uint8)
        for part in same:
            mask[_HEAD:][part] = 0xFF
        given = np.array(
            [(quantity, (_HEAD + place) // _WORD) for quantity, place in lists], np.int64)
        self._run: Call = take_repeat.prepare(
            words, words.view(float), words.copy(), mask.view(np.int64), given,
            np.array(rows, np.int64), np.array(limits, float), pending, is_short=True)

    def take(self, data: bytes) -> int:
        """Put the numbers where they are pending; return the stamp [ns], -1 for another one."""
        if len(data) != self._size:
            return -1
        self._bytes[:] = data
        return int(self._run())


class Repeats:
    """What the commands of a topic are like, once two of them were alike."""

    def __init__(self, table: CommandTable, pending: np.ndarray) -> None:
        """Know nothing. table: says what is taken. pending: (3, n) where commands go."""
        self._table, self._pending = table, pending
        self._repeat: Repeat | None = None
        # how often the reader, and the table, had changed when it was learnt
        self._learnt = self._changes = -1

    def take(self, data: bytes) -> tuple[int, set[int]]:
        """Put a command where it is pending; return its stamp [ns], -1 for another, and what."""
        if self._repeat is None or self._table.changes != self._changes:
            return -1, set()
        return self._repeat.take(data), self._repeat.quantities

    def learn(self, data: bytes, reader: JointStateReader, names: Sequence[str]) -> None:
        """Learn a command that was read and taken, if the one before was like it."""
        before = self._learnt, self._changes
        self._learnt, self._changes = reader.learnt, self._table.changes
        if before != (self._learnt, self._changes):
            self._repeat = None
        elif self._repeat is None and reader.has_learnt(data) and _are_whole(reader.blocks, names):
            lists = [(quantity, place)
                     for quantity, (place, count) in enumerate(reader.blocks) if count]
            known = self._table.known_limits(names, [quantity for quantity, _ in lists])
            if known is not None:
                self._repeat = Repeat(data, reader.same, lists, *known, self._pending)


def _are_whole(blocks: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
    """Return whether all lists have a number for each name, or none, at places for numbers."""
    return all(count in (0, len(names)) and (not count or (_HEAD + place) % _WORD == 0)
               for place, count in blocks)
