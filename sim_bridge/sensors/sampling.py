"""Device table for a world: a row for each device, read by kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.compiler.unit import Unit
from sim_bridge.description.sensor_kinds import MeasuredBy
from sim_bridge.sensors import columns, place_readings, readings
from sim_bridge.sensors.columns import DEVICE_SIZE, FAMILY, MOTION, NOISE
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.measure import CAMERA_CODES, CONTACT_CODES, measure_surroundings, RAY_CODES

FAMILIES: Mapping[MeasuredBy, tuple[int, dict[str, int]]] = {
    MeasuredBy.MOTION: (MOTION, readings.CODES),
    MeasuredBy.PLACE: (columns.PLACE, place_readings.CODES),
    MeasuredBy.RAYS: (columns.RAYS, RAY_CODES),
    MeasuredBy.CONTACTS: (columns.CONTACTS, CONTACT_CODES),
    MeasuredBy.IMAGE: (columns.IMAGES, CAMERA_CODES),
}
"""Kernel families: number in the table, and sensor kind codes by word."""


class Mounted(NamedTuple):
    """
    A device in a world.

    site, turned_site: rows in `engine.pipeline.observe`, for the device and for the frame with the
    axes for force and torque; -1 for the device's own.
    """

    device: Device
    site: int
    turned_site: int


class Sampling:
    """
    The sampled devices in a world; each is due after every multiple of its period.

    devices: in order. table: (n, DEVICE_SIZE) a row for each, see `columns`. needs_measure:
    whether `measure` reads any device. units: compiled units for this.
    """

    def __init__(self, mounted: Sequence[Mounted]) -> None:
        """Note the addresses in the devices' arrays, which live as long as the devices."""
        self.devices = [each.device for each in mounted]
        self.table = np.array([_row(each) for each in mounted], np.int64).reshape(-1, DEVICE_SIZE)
        self.needs_measure = bool((self.table[:, FAMILY] != MOTION).any())
        self.units: list[Unit] = [measure_surroundings.unit] if self.needs_measure else []

    def prepare(self, step: int) -> None:
        """Draw random numbers for the devices due after a step."""
        for device in self.devices:
            if step % device.period == 0:
                device.prepare(step)


def _row(mounted: Mounted) -> list[int]:
    device, site, turned_site = mounted
    family, codes = FAMILIES[device.kind.measured_by]
    sample, step = device.memory
    noises = [number for noise, at in device.noises for number in (address_of(noise.record), at)]
    nothing = [0] * (2 * len(NOISE) - len(noises))
    numbers = device.kernel_settings
    settings = [0, 0] if numbers is None else [address_of(numbers), numbers.size]
    return [
        device.period,
        device.is_silent,
        codes[device.kind.word],
        site,
        turned_site,
        int(device.sign),
        sample.shape[1],
        address_of(sample),
        address_of(step),
        *noises,
        *nothing,
        *settings,
        family,
    ]
