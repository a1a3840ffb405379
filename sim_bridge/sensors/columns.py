"""Columns of the device table in kernels."""

from __future__ import annotations

# PERIOD: steps from sample to sample. IS_SILENT: 1 if only the last in a run of samples matters.
# CODE: kernel within its family (see `CODES` in the families). SITE, TURNED_SITE: sites with the
# sensor frame and with the wrench axes (see `readings`). SIGN: sign of the wrench. SIZE: count
# of the numbers in a sample.
PERIOD, IS_SILENT, CODE, SITE, TURNED_SITE, SIGN, SIZE = 0, 1, 2, 3, 4, 5, 6
# addresses: sample (measured, then true values), and its step
SAMPLE_AT, STEP_AT = 7, 8
# addresses: up to two noise records, 0 for none; behind each, the first number that it covers
NOISE = 9, 11
# address and size of the settings, 0 for none; the meaning depends on the family
SETTINGS_AT, SETTINGS_SIZE = 13, 14
# kernel family
FAMILY = 15
DEVICE_SIZE = 16

# families, see `description.sensor_kinds.MeasuredBy`
MOTION, PLACE, RAYS, CONTACTS, IMAGES = range(5)
