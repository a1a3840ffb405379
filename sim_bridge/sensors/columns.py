"""Columns of the table of devices that kernels see."""

from __future__ import annotations

# period in steps, 1 where only the last sample matters, what they measure, where (see `readings`),
# how many numbers
PERIOD, IS_SILENT, KIND, SITE, TURNED_SITE, SIGN, SIZE = 0, 1, 2, 3, 4, 5, 6
# the address of what was measured, with the truth behind it, and of the step it was measured in
SAMPLE_AT, STEP_AT = 7, 8
# addresses of up to two records of noise, 0 for none; behind each which number it begins at
NOISE = 9, 11
# the address of what a device of some kinds looks at (see `scan`), 0 for none, and its size
SCAN_AT, SCAN_SIZE = 13, 14
DEVICE_SIZE = 15
