"""The devices of a world, as kernels see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.compiler.unit import Unit
from sim_bridge.sensors.columns import DEVICE_SIZE, NOISE
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.scan import scan_all, scans


class Mounted(NamedTuple):
    """
    A device in a world.

    site, turned_site: rows of `engine.pipeline.observe`, its own and that of the frame whose axes
    its force and torque are in; -1 for its own.
    """

    device: Device
    site: int
    turned_site: int


class Sampling:
    """
    The devices that are sampled after those steps whose number is a multiple of their periods.

    devices: in their order. table: (n, DEVICE_SIZE) a row for each, see `columns`. has_scans:
    whether `scan` measures for any. units: what these take, to be compiled.
    """

    def __init__(self, mounted: Sequence[Mounted]) -> None:
        """Note where everything is, which stays there as long as the devices are."""
        self.devices = [each.device for each in mounted]
        self.table = np.array([_row(each) for each in mounted], np.int64).reshape(-1, DEVICE_SIZE)

        self.has_scans = any(scans(device.kind) for device in self.devices)
        self.units: list[Unit] = [scan_all.unit] if self.has_scans else []

    def prepare(self, step: int) -> None:
        """Have random numbers ready for what is due after a step."""
        for device in self.devices:
            if step % device.period == 0:
                device.prepare(step)


def _row(mounted: Mounted) -> list[int]:
    device, site, turned_site = mounted
    sample, step = device.memory
    noises = [number for noise, at in device.noises for number in (address_of(noise.record), at)]
    nothing = [0] * (2 * len(NOISE) - len(noises))
    scan = [0, 0] if device.scan is None else [address_of(device.scan), device.scan.size]
    return [
        device.period,
        device.is_silent,
        device.kind,
        site,
        turned_site,
        int(device.sign),
        sample.shape[1],
        address_of(sample),
        address_of(step),
        *noises,
        *nothing,
        *scan,
    ]
