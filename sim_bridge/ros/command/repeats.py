"""Commands that differ from the previous one only in stamp and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.ros.command.command_table import CommandTable
from sim_bridge.ros.command.repeating import POSITION, take_repeat, VELOCITY
from sim_bridge.ros.wire.joint_state_reader import JointStateReader

# size of a message's head and of a word [bytes]
_HEAD, _WORD = 4, 8


class Repeat:
    """
    One parsed command, as the template for similar ones.

    quantities: commanded quantities. One compiled call checks and stores a similar command.
    """

    def __init__(
        self,
        data: bytes,
        same: Sequence[slice],
        lists: Sequence[tuple[int, int]],
        rows: np.ndarray,
        limits: Sequence[np.ndarray],
        pending: np.ndarray,
    ) -> None:
        """
        Learn a serialized command.

        same: byte ranges equal in similar commands. lists: quantity and offset of each non-empty
        number list. rows: row in `pending` for each name. limits: for each list. pending: (3, n)
        output array.
        """
        self.quantities = {quantity for quantity, _ in lists}
        if POSITION in self.quantities:
            self.quantities.add(VELOCITY)
        self._size = len(data)
        # numbers are aligned to 8 bytes after the 4-byte head
        words = np.zeros(len(data) // _WORD + 2, np.int64)
        self._bytes = words.data.cast('B')[_HEAD : _HEAD + len(data)]
        self._bytes[:] = data
        mask = np.zeros(words.nbytes, np.uint8)
        for part in same:
            mask[_HEAD:][part] = 0xFF
        given = np.array(
            [(quantity, (_HEAD + place) // _WORD) for quantity, place in lists], np.int64
        )
        self._run: Call = take_repeat.prepare(
            words,
            words.view(float),
            words.copy(),
            mask.view(np.int64),
            given,
            np.array(rows, np.int64),
            np.array(limits, float),
            pending,
            is_short=True,
        )

    def take(self, data: bytes) -> int:
        """Store a similar command's numbers; return its stamp [ns], -1 for a different command."""
        if len(data) != self._size:
            return -1
        self._bytes[:] = data
        return int(self._run())


class Repeats:
    """Template for the commands on a topic, once two of them were similar."""

    def __init__(self, table: CommandTable, pending: np.ndarray) -> None:
        """Start without a template. table: valid commands. pending: (3, n) output array."""
        self._table, self._pending = table, pending
        self._repeat: Repeat | None = None
        # change counts of reader and table when the template was learnt
        self._learnt = self._changes = -1

    def take(self, data: bytes) -> tuple[int, set[int]]:
        """Store a similar command; return its stamp [ns], -1 for another, and its quantities."""
        if self._repeat is None or self._table.changes != self._changes:
            return -1, set()
        return self._repeat.take(data), self._repeat.quantities

    def learn(self, data: bytes, reader: JointStateReader, names: Sequence[str]) -> None:
        """Learn an accepted command if the previous one was similar to it."""
        before = self._learnt, self._changes
        self._learnt, self._changes = reader.learnt, self._table.changes
        if before != (self._learnt, self._changes):
            self._repeat = None
        elif self._repeat is None and reader.has_learnt(data) and _are_whole(reader.blocks, names):
            lists = [
                (quantity, place) for quantity, (place, count) in enumerate(reader.blocks) if count
            ]
            known = self._table.known_limits(names, [quantity for quantity, _ in lists])
            if known is not None:
                self._repeat = Repeat(data, reader.same, lists, *known, self._pending)


def _are_whole(blocks: Sequence[tuple[int, int]], names: Sequence[str]) -> bool:
    """Return whether each list has one number per name, or none, and is aligned."""
    return all(
        count in (0, len(names)) and (not count or (_HEAD + place) % _WORD == 0)
        for place, count in blocks
    )
