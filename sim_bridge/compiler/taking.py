"""
Array arguments in calls from Python, read from CPython and numpy objects in memory.

The layout of `PyArrayObject` belongs to numpy's binary interface; `direct` verifies it. Addresses
are integers.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import ints_at

# word indices in an array object; dimension count and flags occupy 32 bits of their words
OBJECT_SIZE = 9
TYPE, DATA, DIMENSIONS, SHAPE, ITEM, FLAGS = 1, 2, 3, 4, 7, 8
# item type: word with type number, byte order and letters; the masked byte is not constant
ITEM_WORD, ITEM_MASK = 3, ~(0xFF << 24)
HALF = 0xFFFFFFFF
# numpy's flags: C-contiguous, aligned, writable
READABLE, WRITABLE = 0x101, 0x501

# plan words, see `direct.Direct`
PLAN_SIZE = 20
(
    GUARD,
    GUARD_NAME,
    IDLE,
    NONE,
    ARRAY,
    FLOATS,
    FLOAT_WORD,
    FALLBACK,
    FUNCTION,
    BLOCK,
    DONE,
    RESULT_WORD,
    RESULT_DIMENSIONS,
    RESULT_SHAPE,
    RESULT_SIZE,
    NUMBER,
    OPERANDS,
    COUNT,
) = range(18)
# words per operand: address of the block word to be written, array size, address of the default
# array (0 if None is rejected)
OPERAND_SIZE = 3
WORD, SIZE, DEFAULT = 0, 1, 2
_FLOAT_SIZE = 8


@kernel
def take(plan: int, arguments: int, count: int):
    """
    Put the array addresses of a call into its block; return whether all arrays fit.

    plan: address of the plan words. arguments: address of the object pointers, result first.
    count: number of arguments. The result's own address is not put into the block.
    """
    head = ints_at(plan, PLAN_SIZE)
    if count != head[COUNT] + 1:
        return False
    given = ints_at(arguments, count)
    begin, end = 0, 0
    if given[0] != head[NONE]:
        begin = data_of(head, given[0], head[RESULT_DIMENSIONS], head[RESULT_SHAPE], WRITABLE)
        end = begin + head[RESULT_SIZE]
        if begin == 0:
            return False
    for k in range(head[COUNT]):
        place = head[OPERANDS] + _FLOAT_SIZE * OPERAND_SIZE * k
        operand = ints_at(place, OPERAND_SIZE)
        data = operand[DEFAULT]
        if given[1 + k] != head[NONE]:
            data = data_of(head, given[1 + k], 1, place + _FLOAT_SIZE * SIZE, READABLE)
        # overlap: the result would be written before an input is read completely
        if data == 0 or (data < end and begin < data + _FLOAT_SIZE * operand[SIZE]):
            return False
        ints_at(operand[WORD], 1)[0] = data
    return True


@kernel
def data_of(head, thing, dimensions, shape, flags):
    """Return the item address if an object is a float array with this shape, else 0."""
    words = ints_at(thing, OBJECT_SIZE)
    # other objects may have fewer words
    if words[TYPE] != head[ARRAY]:
        return 0
    item = ints_at(words[ITEM], ITEM_WORD + 1)
    if (
        words[DIMENSIONS] & HALF != dimensions
        or words[FLAGS] & flags != flags
        or item[ITEM_WORD] & ITEM_MASK != head[FLOAT_WORD]
    ):
        return 0
    found, expected = ints_at(words[SHAPE], dimensions), ints_at(shape, dimensions)
    for k in range(dimensions):
        if found[k] != expected[k]:
            return 0
    return words[DATA]
