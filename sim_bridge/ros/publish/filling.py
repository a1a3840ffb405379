"""The kernel that updates the messages of a robot."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at, ints_at

# columns of messages: time between two of them [ns]; instead of it, the address of the step that
# a sample was taken in, else 0; the address of the stamp
PERIOD, STEP_AT, STAMP_AT = range(3)
MESSAGE_SIZE = 3

# columns of copies: which message, addresses of where to and where from, and of what is added to
# that, else 0; how many numbers
MESSAGE, TARGET, SOURCE, ADDED, COUNT = range(5)
COPY_SIZE = 5
# columns of laws, one for each copy: what is taken from a number, then by what it is multiplied
OFFSET, SIGN = range(2)
LAW_SIZE = 2

MOST_MESSAGES = 62
"""Bits of a result."""

_SECOND = 1_000_000_000


@entry
def fill(
    message: IntMatrix,
    copy: IntMatrix,
    law: FloatMatrix,
    latest_inout: IntVector,
    time_ns: int,
    step: int,
    time_step_ns: int,
):
    """
    Fill and stamp the messages that are due; return a bit mask of them.

    message: (n, 3), copy: (m, 5), law: (m, 2); see the columns above. latest_inout: (n,)
    number of the period, or step of the sample, that was published last; a message is due when
    it differs. time_ns, step: the present ones. time_step_ns: duration of a physics step [ns].
    """
    due = 0
    for k in range(message.shape[0]):
        taken_ns, mark = time_ns, 0
        if message[k, STEP_AT] != 0:
            mark = ints_at(message[k, STEP_AT], 1)[0]
            # with several steps between two calls a sample may be older than now
            taken_ns = time_ns - (step - mark) * time_step_ns
        else:
            mark = time_ns // message[k, PERIOD]
        if mark != latest_inout[k]:
            latest_inout[k] = mark
            due = due | 1 << k
            ints_at(message[k, STAMP_AT], 1)[0] = packed(taken_ns)
    for k in range(copy.shape[0]):
        if due >> copy[k, MESSAGE] & 1 != 0:
            carry(
                copy[k, TARGET],
                copy[k, SOURCE],
                copy[k, ADDED],
                copy[k, COUNT],
                law[k, OFFSET],
                law[k, SIGN],
            )
    return due


@kernel
def packed(time_ns):
    """Return the 64-bit word of a builtin_interfaces/Time; the machine must be little-endian."""
    return time_ns // _SECOND | time_ns % _SECOND << 32


@kernel
def carry(target, source, added, count, offset, sign):
    """Write sign * (number - offset) of `count` numbers elsewhere, adding those at an address."""
    numbers, given = floats_at(target, count), floats_at(source, count)
    for k in range(count):
        numbers[k] = sign * (given[k] - offset)
    if added != 0:
        others = floats_at(added, count)
        for k in range(count):
            numbers[k] = numbers[k] + others[k]
