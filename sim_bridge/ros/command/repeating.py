"""The kernel that takes a command which differs from an earlier one in stamp and numbers only."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry

POSITION, VELOCITY, EFFORT = range(3)
"""Rows of what is pending."""

STAMP = 1
"""The word of a message that is its stamp; the head ends before it."""

# columns of lists: which quantity, its first word
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
    Store the numbers of a message as pending commands; return its stamp [ns].

    Returns -1 and changes nothing for a different message, or if a number is beyond its limit.
    word, number: (n,) the message, two views of the same memory. known: (n,) the template message;
    mask: (n,) bits that must equal those of the template. given: (k, 2) see the columns. row: (m,)
    row of the pending commands for each name. limit: (k, m). pending_out: (3, …).
    """
    for k in range(word.shape[0]):
        if (word[k] ^ known[k]) & mask[k] != 0:
            return -1
    for k in range(given.shape[0]):
        first = given[k, FIRST]
        for at in range(row.shape[0]):
            # nan is not within either
            if not abs(number[first + at]) <= limit[k, at]:
                return -1
    for k in range(given.shape[0]):
        first = given[k, FIRST]
        for at in range(row.shape[0]):
            pending_out[given[k, QUANTITY], row[at]] = number[first + at]
            if given[k, QUANTITY] == POSITION:
                # velocities, if there are any, come next
                pending_out[VELOCITY, row[at]] = 0.0
    return (word[STAMP] & 0xFFFFFFFF) * _SECOND + (word[STAMP] >> 32 & 0xFFFFFFFF)
