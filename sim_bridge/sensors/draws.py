"""
The noise of one quantity as kernels see it: a record of words, by its address.

Random numbers are drawn by Python, many samples' at once; kernels use them up and say when they
need others.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at

# words of a record: addresses of the block and of the numbers, rows of the block, how many of them
# are used up (-1 before the first block), numbers in a row: 6 where a bias drifts, else 3
BLOCK, NUMBERS, ROWS, USED, WIDTH = range(5)
RECORD_SIZE = 5

# numbers: (3,) each, then the time [s] that decay and shock are for
BIAS, MEAN, PRECISION, DECAY, SHOCK, ELAPSED = 0, 3, 6, 9, 12, 15
NUMBERS_SIZE = 16


@kernel
def has_draws(record, elapsed):
    """Return whether there are numbers for a sample that comes `elapsed` seconds after another."""
    if record[USED] < 0 or record[USED] >= record[ROWS]:
        return False
    return record[WIDTH] == 3 or floats_at(record[NUMBERS], NUMBERS_SIZE)[ELAPSED] == elapsed


@kernel
def add_noise(record_inout, truth, truth_at, measured_out, measured_at):
    """Write three measured values, of true ones, using up a row of the block."""
    width, row = record_inout[WIDTH], record_inout[USED]
    block = floats_at(record_inout[BLOCK], width * record_inout[ROWS])
    numbers = floats_at(record_inout[NUMBERS], NUMBERS_SIZE)
    record_inout[USED] = row + 1
    for axis in range(3):
        bias = numbers[BIAS + axis]
        if width == 6 and numbers[ELAPSED] > 0.0:
            bias = numbers[DECAY + axis] * bias + (
                numbers[SHOCK + axis] * block[width * row + 3 + axis])
            numbers[BIAS + axis] = bias
        added = block[width * row + axis] + (numbers[MEAN + axis] + bias)
        value = truth[truth_at + axis] + added
        step = numbers[PRECISION + axis]
        if step > 0.0 and math.isfinite(value):
            # halves away from zero, as std::round
            value = math.copysign(float(math.floor(abs(value / step) + 0.5)), value) * step
        measured_out[measured_at + axis] = value
