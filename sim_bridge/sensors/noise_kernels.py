"""
Noise kernels: the noise of one quantity is a record in memory, found by its address.

Python draws the random numbers for many samples at once; kernels use them up and report when they
need more.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at

# words in a record: block address, numbers address, block rows, used rows (-1 before the first
# block), numbers in a row (one for each channel, or two with a drifting bias), channels
BLOCK, NUMBERS, ROWS, USED, WIDTH, CHANNELS = range(6)
RECORD_SIZE = 6

# numbers: rows with one for each channel, then the time [s] covered by decay and shock
BIAS, MEAN, PRECISION, DECAY, SHOCK = range(5)
NUMBER_ROWS = 5


@kernel
def has_random_numbers(record, elapsed):
    """Return whether there are numbers for a sample `elapsed` seconds after the previous one."""
    if record[USED] < 0 or record[USED] >= record[ROWS]:
        return False
    end = NUMBER_ROWS * record[CHANNELS]
    return record[WIDTH] == record[CHANNELS] or floats_at(record[NUMBERS], end + 1)[end] == elapsed


@kernel
def add_noise(record_inout, truth, truth_at, measured_out, measured_at):
    """Write measured values for all channels from true ones, using up a row in the block."""
    width, row, channels = record_inout[WIDTH], record_inout[USED], record_inout[CHANNELS]
    block = floats_at(record_inout[BLOCK], width * record_inout[ROWS])
    end = NUMBER_ROWS * channels
    numbers = floats_at(record_inout[NUMBERS], end + 1)
    record_inout[USED] = row + 1
    for k in range(channels):
        bias = numbers[BIAS * channels + k]
        if width > channels and numbers[end] > 0.0:
            bias = numbers[DECAY * channels + k] * bias + (
                numbers[SHOCK * channels + k] * block[width * row + channels + k]
            )
            numbers[BIAS * channels + k] = bias
        added = block[width * row + k] + (numbers[MEAN * channels + k] + bias)
        value = truth[truth_at + k] + added
        step = numbers[PRECISION * channels + k]
        if step > 0.0 and math.isfinite(value):
            value = rounded(value, step)
        measured_out[measured_at + k] = value


@kernel
def rounded(value, step):
    """Return the nearest multiple of a step, ties away from zero, as std::round."""
    return math.copysign(float(math.floor(abs(value / step) + 0.5)), value) * step
