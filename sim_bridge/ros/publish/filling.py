"""Kernel updating a robot's messages."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at, ints_at

# columns in `message`: period [ns]; instead of it, the sample step address, else 0; stamp
# address
PERIOD, STEP_AT, STAMP_AT = range(3)
MESSAGE_SIZE = 3

# columns in `copy`: message, target address, source address, added numbers' address or 0, count
MESSAGE, TARGET, SOURCE, ADDED, COUNT = range(5)
COPY_SIZE = 5
# columns in `law`, a row for each copy: subtracted offset, multiplier after it
OFFSET, SIGN = range(2)
LAW_SIZE = 2

MOST_MESSAGES = 62
"""Bits in a result."""

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
    Fill and stamp the messages that are due; return their bit mask.

    message: (n, 3), copy: (m, 5), law: (m, 2); see the columns above. latest_inout: (n,) period
    number or sample step in the last message; a message is due when it differs. time_ns, step:
    present time [ns] and step. time_step_ns: physics step [ns].
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
    """Return a builtin_interfaces/Time as a 64-bit word; the machine must be little-endian."""
    return time_ns // _SECOND | time_ns % _SECOND << 32


@kernel
def carry(target, source, added, count, offset, sign):
    """Copy `count` numbers as sign * (number - offset), plus the numbers at `added` if not 0."""
    numbers, given = floats_at(target, count), floats_at(source, count)
    for k in range(count):
        numbers[k] = sign * (given[k] - offset)
    if added != 0:
        others = floats_at(added, count)
        for k in range(count):
            numbers[k] = numbers[k] + others[k]
