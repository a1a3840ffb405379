"""Columns of the device table in kernels."""

from __future__ import annotations

# PERIOD: steps from sample to sample. IS_SILENT: 1 where only the last of several samples matters.
# CODE: kernel within its family (see `CODES` of the families). SITE, TURNED_SITE: sites of the
# sensor frame and of the axes of its wrench (see `readings`). SIGN: of the wrench. SIZE: count of
# the numbers.
PERIOD, IS_SILENT, CODE, SITE, TURNED_SITE, SIGN, SIZE = 0, 1, 2, 3, 4, 5, 6
# addresses of the sample (measured, then true values) and of its step
SAMPLE_AT, STEP_AT = 7, 8
# addresses of up to two noise records, 0 for none; behind each the first number that it is for
NOISE = 9, 11
# address and size of the settings of the device, 0 for none: the family says what they are
SETTINGS_AT, SETTINGS_SIZE = 13, 14
# family of kernels
FAMILY = 15
DEVICE_SIZE = 16

# families, see `description.sensor_kinds.MeasuredBy`
MOTION, PLACE, RAYS, CONTACTS = range(4)
