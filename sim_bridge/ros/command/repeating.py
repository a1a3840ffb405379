"""Kernel taking a command that differs from an earlier one in stamp and numbers only."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry

POSITION, VELOCITY, EFFORT = range(3)
"""Rows of pending commands."""

STAMP = 1
"""Index of the message word with the stamp; the head ends before it."""

# columns of lists: quantity, index of its first word
QUANTITY, FIRST = range(2)

_SECOND = 1_000_000_000


@entry
def take_repeat(
    word: IntVector,
    number: FloatVector,
    known: IntVector,
    mask: IntVector,
    given: IntMatrix,
    row: IntVector,
    limit: FloatMatrix,
    pending_out: FloatMatrix,
):
    """
    Store a message's numbers as pending commands; return its stamp [ns].

    Returns -1 and changes nothing for a different message, or if a number exceeds its limit.
    word, number: (n,) the message, two views of the same memory. known: (n,) template message.
    mask: (n,) bits that must equal the template's. given: (k, 2) lists, see the columns. row: (m,)
    row in the pending commands for each name. limit: (k, m). pending_out: (3, …).
    """
    for k in range(word.shape[0]):
        if (word[k] ^ known[k]) & mask[k] != 0:
            return -1
    for k in range(given.shape[0]):
        first = given[k, FIRST]
        for at in range(row.shape[0]):
            # false for nan, too
            if not abs(number[first + at]) <= limit[k, at]:
                return -1
    for k in range(given.shape[0]):
        first = given[k, FIRST]
        for at in range(row.shape[0]):
            pending_out[given[k, QUANTITY], row[at]] = number[first + at]
            if given[k, QUANTITY] == POSITION:
                # velocities in the message follow and replace this
                pending_out[VELOCITY, row[at]] = 0.0
    return (word[STAMP] & 0xFFFFFFFF) * _SECOND + (word[STAMP] >> 32 & 0xFFFFFFFF)
